package remediate_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// The ports of the fake fleet. Each call can be made to fail before or after its
// effect.

type fakeEyes struct{ f *fakeFleet }

func (e fakeEyes) Look(_ context.Context, s remediate.Subject) (remediate.Seen, error) {
	if err := e.f.call("Look", false); err != nil {
		return remediate.Seen{}, err
	}
	h := e.f.host(s.Instance)
	if h == nil || h.gone {
		return remediate.Seen{Host: remedy.HostView{Gone: true}, Group: remedy.GroupView{Name: "asg", Exists: true}}, nil
	}
	v := remedy.HostView{Registered: h.registered, Status: h.status, CordonMark: h.mark, OptOut: h.optOut, TermProtect: h.protect, Lifecycle: h.lifecycle, Evidence: h.evidence}
	for _, t := range h.tasks {
		if t.stoppedAt.IsZero() || t.stoppedAt.After(e.f.now) {
			v.Tasks = append(v.Tasks, remedy.Task{ARN: t.arn, Family: "chat:1", Service: t.service, Protected: t.protected, Stopping: !t.stoppedAt.IsZero()})
		}
	}
	return remediate.Seen{Host: v, Group: remedy.GroupView{Name: "asg", Exists: true}}, e.f.call("Look", true)
}

func (e fakeEyes) Launched(context.Context, string) ([]remedy.Candidate, error) {
	if err := e.f.call("Launched", false); err != nil {
		return nil, err
	}
	var out []remedy.Candidate
	for _, h := range e.f.hosts {
		if !h.gone && h.lifecycle != "" {
			out = append(out, remedy.Candidate{Instance: h.id, Launched: h.born})
		}
	}
	return out, nil
}

type fakeHands struct{ f *fakeFleet }

func outcomeOf(err error) remediate.Outcome {
	return remediate.Outcome{Result: remedy.Transient, Detail: err.Error()}
}

func (a fakeHands) Take(_ context.Context, _ string, s remedy.Step) remediate.Outcome {
	if err := a.f.call("Take "+string(s.Kind), false); err != nil {
		return outcomeOf(err)
	}
	h := a.f.host(s.Instance)
	if h == nil || h.gone {
		return remediate.Outcome{Result: remedy.NotFound}
	}
	if a.f.onTake != nil {
		a.f.onTake(s, h)
	}
	a.f.taken = append(a.f.taken, s)
	out := a.effect(h, s)
	if err := a.f.call("Take "+string(s.Kind), true); err != nil {
		return outcomeOf(err)
	}
	return out
}

func (a fakeHands) effect(h *fakeHost, s remedy.Step) remediate.Outcome {
	switch s.Kind {
	case remedy.StepDrain:
		h.status, h.draining = "DRAINING", a.f.now
		h.personsWord = s.Case == ""
	case remedy.StepUndrain:
		h.status, h.personsWord = "ACTIVE", false
	case remedy.StepMark:
		h.mark = s.Case
	case remedy.StepUnmark:
		h.mark = ""
	case remedy.StepStopTask:
		for _, t := range h.tasks {
			if t.arn == s.Target {
				t.stoppedAt = a.f.now.Add(20 * time.Second)
			}
		}
	case remedy.StepRestartMPS, remedy.StepTerminateClients, remedy.StepEvidence:
		if _, ok := a.f.sent[s.Comment()]; !ok {
			a.f.sent[s.Comment()] = a.f.now
			h.evidence = h.evidence || s.Kind == remedy.StepEvidence
			if a.f.cure != nil {
				a.f.cure(s, h)
			}
		}
		return remediate.Outcome{}
	case remedy.StepDetach:
		h.lifecycle = ""
	case remedy.StepTerminate, remedy.StepTerminateInGroup:
		h.gone, h.lifecycle = true, ""
	}
	return remediate.Outcome{Result: remedy.Done}
}

func (a fakeHands) Result(_ context.Context, s remedy.Step) remediate.Outcome {
	if err := a.f.call("Result", false); err != nil {
		return remediate.Outcome{}
	}
	at, ok := a.f.sent[s.Comment()]
	if !ok || a.f.now.Sub(at) < 3*time.Second {
		return remediate.Outcome{}
	}
	return remediate.Outcome{Result: remedy.Done}
}

func (a fakeHands) Keep(context.Context, string, []byte) error { return a.f.call("Keep", false) }

type fakePager struct{ f *fakeFleet }

func (p fakePager) Tell(_ context.Context, n remediate.Notice) error {
	if err := p.f.call("Tell", false); err != nil {
		return err
	}
	p.f.told = append(p.f.told, n)
	return p.f.call("Tell", true)
}

func (f *fakeFleet) paged() bool {
	return slices.ContainsFunc(f.told, func(n remediate.Notice) bool { return n.Page })
}

// faultyStore can fail before a write, or after it with the answer lost.
type faultyStore struct {
	remediate.Store
	f *fakeFleet
}

func (s faultyStore) SaveCase(ctx context.Context, r remediate.Record) (remediate.Record, error) {
	if err := s.f.call("SaveCase", false); err != nil {
		return r, err
	}
	out, err := s.Store.SaveCase(ctx, r)
	return out, errors.Join(err, s.f.call("SaveCase", true))
}

func (s faultyStore) Case(ctx context.Context, cluster, id string) (remediate.Record, error) {
	if err := s.f.call("Case", false); err != nil {
		return remediate.Record{}, err
	}
	return s.Store.Case(ctx, cluster, id)
}

func (s faultyStore) SaveControl(ctx context.Context, c remediate.Control) (remediate.Control, error) {
	if err := s.f.call("SaveControl", false); err != nil {
		return c, err
	}
	out, err := s.Store.SaveControl(ctx, c)
	return out, errors.Join(err, s.f.call("SaveControl", true))
}

func (s faultyStore) NoteDecision(ctx context.Context, d remediate.Decision) error {
	if err := s.f.call("NoteDecision", false); err != nil {
		return err
	}
	return errors.Join(s.Store.NoteDecision(ctx, d), s.f.call("NoteDecision", true))
}
