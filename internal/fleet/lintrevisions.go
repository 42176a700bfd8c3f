package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// RevisionSource gives a registered revision as JSON in the form of describe-task-definition, with its tags.
// ledger.ErrNotFound.
type RevisionSource interface {
	Revision(ctx context.Context, arn string) (json.RawMessage, error)
}

// Announcer publishes Bulkhead's own events. A failed call may have published some of them: consumers drop
// doubles by id.
type Announcer interface {
	Announce(ctx context.Context, at time.Time, details []events.Own) error
}

// Revisions lints task definitions as they are registered, and those that a sweep meets first. Each revision is
// judged once for each set of rules; its findings are kept, then published, then marked as published, so that a
// crash in between publishes them again under the same ids.
type Revisions struct {
	Records  admission.Records
	Source   RevisionSource // optional: without, the request as CloudTrail tells it is linted
	Bus      Announcer      // optional
	Policy   admission.Policy
	Scope    ingest.Scope
	Failures FailureQueue // optional: without, a reject is only told in the reply
	Clock    Clock
	Log      *slog.Logger

	seen map[string]bool // judged by Unseen, which is for one goroutine
}

// Batch judges the revisions that RegisterTaskDefinition calls tell of. Each message has its own reply.
func (s *Revisions) Batch(ctx context.Context, msgs []Message) []Reply {
	out := make([]Reply, len(msgs))
	for i, m := range msgs {
		out[i] = s.one(ctx, m)
		if out[i].Outcome != Rejected || s.Failures == nil {
			continue
		}
		if err := s.Failures.Put(ctx, m, out[i].Token+": "+out[i].Text); err != nil {
			out[i].Outcome, out[i].Text, out[i].Err = Failed, err.Error(), err
		}
	}
	return out
}

func (s *Revisions) one(ctx context.Context, m Message) Reply {
	reply := func(o Outcome, token, text string) Reply {
		return Reply{ID: m.ID, Outcome: o, Token: token, Text: text}
	}
	ev, err := events.Parse(m.Body, events.Limits{})
	if err != nil {
		u := ingest.Unreadable(err)
		return reply(Rejected, u.Token, u.Text)
	}
	call, ok := ev.Detail.(events.APICall)
	if !ok {
		return reply(Unknown, "", "no call of an API: "+ingest.Bounded(ev.DetailType, 80))
	}
	request, ok := call.RegisteredDefinition()
	if !ok {
		return reply(Ignored, "NotRegistered", "no task definition was registered")
	}
	var answer struct {
		ARN string `json:"taskDefinitionArn"`
	}
	if err := json.Unmarshal(call.ResponseElements.TaskDefinition, &answer); err != nil || answer.ARN == "" {
		return reply(Rejected, "NoRevision", "the call's answer names no taskDefinitionArn")
	}
	if err := s.foreign(ev, answer.ARN); err != nil {
		return reply(Rejected, ingest.RejectedForeign, err.Error())
	}
	judged, err := s.Judge(ctx, answer.ARN, request)
	switch {
	case err != nil:
		return Reply{ID: m.ID, Outcome: Failed, Text: err.Error(), Err: err}
	case !judged:
		return reply(Duplicate, "", "")
	}
	return reply(Applied, "", "")
}

// foreign refuses an event that speaks of another account or Region than it comes from.
func (s *Revisions) foreign(ev events.Event, arn string) error {
	if err := s.Scope.ForeignARN(arn); err != nil {
		return err
	}
	own := ingest.Scope{Accounts: []string{ev.Account}, Regions: []string{ev.Region}}
	return own.ForeignARN(arn)
}

// Judge lints a revision unless that is done, and reports whether it had to. request is what is linted where the
// revision itself cannot be had; it may be nil.
func (s *Revisions) Judge(ctx context.Context, arn string, request json.RawMessage) (judged bool, err error) {
	r, err := s.Records.Admission(ctx, arn)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return false, fmt.Errorf("read the admission of %s: %w", arn, err)
	}
	known := err == nil && r.RuleSet == s.Policy.RuleSet()
	if known && r.Announced {
		return false, nil
	}
	if !known {
		if r, err = s.lint(ctx, arn, request); err != nil {
			return false, err
		}
		if err := s.Records.SaveAdmission(ctx, r); err != nil {
			return false, fmt.Errorf("keep the admission of %s: %w", arn, err)
		}
	}
	if err := s.announce(ctx, r); err != nil {
		return false, err
	}
	r.Announced = true
	if err := s.Records.SaveAdmission(ctx, r); err != nil {
		return false, fmt.Errorf("keep the admission of %s: %w", arn, err)
	}
	count := map[admission.Severity]int{}
	for _, f := range r.Findings {
		if !f.Suppressed {
			count[f.Severity]++
		}
	}
	s.Log.InfoContext(ctx, "revision judged", "definition", arn, "errors", count[admission.Error],
		"warnings", count[admission.Warning], "infos", count[admission.Info], "rule_set", r.RuleSet)
	return true, nil
}

// lint judges the revision as ECS has it: CloudTrail leaves out what callers hide, such as environments. A
// revision that cannot be read is a finding of its own: it cannot become readable.
func (s *Revisions) lint(ctx context.Context, arn string, request json.RawMessage) (admission.Record, error) {
	r := admission.Record{ARN: arn, RuleSet: s.Policy.RuleSet(), JudgedAt: s.Clock()}
	content := request
	if s.Source != nil {
		described, err := s.Source.Revision(ctx, arn)
		switch {
		case err == nil:
			content = described
		case !errors.Is(err, ledger.ErrNotFound) || request == nil:
			return r, fmt.Errorf("read the revision %s: %w", arn, err)
		}
	}
	doc, err := admission.Read(arn, content, revisionLimits)
	if errors.Is(err, admission.ErrNoTasks) {
		return r, nil
	}
	if err != nil {
		r.Findings = []admission.Finding{{Rule: admission.RuleUnreadable, Severity: admission.Error, Message: ingest.Bounded(err.Error(), maxMessage), Path: "$"}}
		return r, nil
	}
	for _, f := range admission.Lint(doc, s.Policy) {
		if len(r.Findings) == maxFindings {
			r.Findings = append(r.Findings, admission.Finding{Rule: admission.RuleUnreadable, Severity: admission.Warning, Path: "$",
				Message: fmt.Sprintf("more than %d findings; lint the file for the others", maxFindings)})
			break
		}
		// The rule has the rest, and the place in JSON of our own making says nothing to people.
		r.Findings = append(r.Findings, admission.Finding{Rule: f.Rule, Severity: f.Severity, Message: ingest.Bounded(f.Message, maxMessage),
			Path: ingest.Bounded(f.Path, maxMessage), Container: ingest.Bounded(f.Container, 255), Suppressed: f.Suppressed, Reason: ingest.Bounded(f.Reason, maxMessage)})
	}
	return r, nil
}

// What is kept of a revision fits in an item: ECS takes definitions of 64 KiB, which may make many findings.
const (
	maxFindings = 200
	maxMessage  = 500
)

var revisionLimits = admission.Limits{Bytes: 1 << 20, Nodes: 100_000}

func (s *Revisions) announce(ctx context.Context, r admission.Record) error {
	var out []events.Own
	for _, f := range r.Findings {
		if f.Suppressed {
			continue
		}
		out = append(out, events.AdmissionFinding{OwnHead: events.OwnHead{ID: findingID(r, f), At: r.JudgedAt}, TaskDefinitionArn: r.ARN,
			Container: f.Container, Rule: f.Rule, Severity: string(f.Severity), Reason: f.Message})
	}
	if s.Bus == nil || len(out) == 0 {
		return nil
	}
	if err := s.Bus.Announce(ctx, r.JudgedAt, out); err != nil {
		return fmt.Errorf("publish %d findings of %s: %w", len(out), r.ARN, err)
	}
	return nil
}

// findingID is the same whenever the same finding is published again.
func findingID(r admission.Record, f admission.Finding) string {
	sum := sha256.Sum256([]byte(r.ARN + "\n" + r.RuleSet + "\n" + f.Rule + "\n" + f.Path + "\n" + f.Message))
	return hex.EncodeToString(sum[:16])
}

// Unseen judges the revisions that no event told of, at most so many that were not judged before. One that fails
// does not keep the others from it. What a warm process judged is not asked for again.
func (s *Revisions) Unseen(ctx context.Context, arns []string, most int) (judged int, err error) {
	var errs []error
	for _, arn := range arns {
		if arn == "" || s.seen[arn] {
			continue
		}
		if judged == most || ctx.Err() != nil {
			break
		}
		done, err := s.Judge(ctx, arn, nil)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		if done {
			judged++
		}
		if s.seen == nil || len(s.seen) >= DefaultDefinitions {
			s.seen = map[string]bool{}
		}
		s.seen[arn] = true
	}
	return judged, errors.Join(errs...)
}

// lintBudget is how many revisions a sweep of a cluster judges for the first time: each is a call to ECS.
const lintBudget = 100

// lintUnseen judges the revisions of the cluster's tasks that were not judged yet. The next sweep goes on.
func (s *Sweep) lintUnseen(ctx context.Context, truth *truth, rep *SweepReport) (err error) {
	if s.Revisions == nil {
		return nil
	}
	if deadline, bounded := ctx.Deadline(); bounded && s.Clock().Add(s.Margin).After(deadline) {
		return nil
	}
	rep.Judged, err = s.Revisions.Unseen(ctx, slices.Sorted(maps.Keys(truth.definitions())), lintBudget)
	if err != nil {
		return fmt.Errorf("lint revisions of %s: %w", rep.Cluster, err)
	}
	return nil
}
