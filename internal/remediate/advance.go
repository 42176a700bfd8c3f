package remediate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// maxRounds bounds how far one case goes in one pass: what was done shows at once,
// so a dead daemon is quarantined in the pass that sees it, and no loop can run away.
const maxRounds = 6

// advance moves one case on until nothing more can be done now.
func (p *Pass) advance(ctx context.Context, g *ground, r Record) (Record, int, error) {
	taken := 0
	for range maxRounds {
		next, steps, err := p.decide(ctx, g, r)
		if errors.Is(err, ledger.ErrConflict) {
			// Somebody else moved the case on, or a person spoke: their word stands, and
			// what was decided here is dropped.
			fresh, rerr := p.Store.Case(ctx, g.cluster, r.Case.ID)
			if rerr != nil {
				return r, taken, rerr
			}
			return fresh, taken, nil
		}
		if err != nil {
			return r, taken, err
		}
		moved := next.Case.State != r.Case.State || next.Case.Resume != r.Case.Resume || next.Case.Rung != r.Case.Rung
		r = next
		g.put(r)
		did, over := 0, false
		for _, s := range steps {
			var done bool
			if r, done, err = p.step(ctx, g, r, s); err != nil {
				return r, taken, err
			}
			if done {
				did++
			}
			over = over || r.Case.State.Final() || r.Case.Decision != s.Decision
			if over {
				break
			}
		}
		taken += did
		if over || r.Case.State.Final() || did == 0 && !moved {
			break
		}
	}
	return r, taken, nil
}

// decide reads the world, asks for the next steps, and stores the case moved on.
// The steps hold only when it was stored.
func (p *Pass) decide(ctx context.Context, g *ground, r Record) (Record, []remedy.Step, error) {
	before := r
	w, r, err := p.world(ctx, g, r, false)
	if err != nil {
		return before, nil, err
	}
	r.Case = p.collect(ctx, r.Case)
	r.Case = respect(r.Case, g.control)
	var steps []remedy.Step
	r.Case, steps = remedy.Next(r.Case, w, p.Policy, p.Clock())
	if !changed(before, r) && len(steps) == 0 {
		return r, nil, nil
	}
	r.Kept = p.Clock()
	saved, err := p.Store.SaveCase(ctx, r)
	if err != nil {
		return before, nil, fmt.Errorf("store the case: %w", err)
	}
	p.Log.InfoContext(ctx, "case", append(saved.Case.Fields(), "was", string(before.Case.State), "steps", len(steps))...)
	return saved, steps, nil
}

// changed reports whether the case must be written.
func changed(a, b Record) bool {
	return a.Group != b.Group || !sameCase(a.Case, b.Case)
}

// respect keeps a cordon that a person asked for from being taken for ours.
func respect(c remedy.Case, ctl Control) remedy.Case {
	if c.CordonOurs && standing(ctl, c.Host) {
		c.CordonOurs = false
	}
	return c
}

// step confirms, takes and records one step. It reports whether it was taken.
func (p *Pass) step(ctx context.Context, g *ground, r Record, s remedy.Step) (Record, bool, error) {
	w, fresh, err := p.world(ctx, g, r, true)
	if err != nil {
		return r, false, fmt.Errorf("second look before %s: %w", s.Kind, err)
	}
	k := remedy.Confirm(s, w, p.Policy, p.Clock())
	if k.Go && s.Kind == remedy.StepUndrain && standing(g.control, s.Host) {
		k = remedy.Confirmation{Result: remedy.Withdrawn, Reason: remedy.RefuseNotOurs, Detail: "a person cordoned the host"}
	}
	if !k.Go {
		p.Log.InfoContext(ctx, "step not taken", append(s.Fields(), "result", string(k.Result), "blocker", string(k.Reason), "detail", k.Detail)...)
		r, err := p.record(ctx, fresh, s, Outcome{k.Result, string(k.Reason) + " " + k.Detail})
		return r, false, err
	}
	// The case is claimed for this step: a word that was spoken since it was read makes
	// this write fail, and one that is spoken from now on comes after the step.
	fresh, err = p.Store.SaveCase(ctx, fresh)
	if errors.Is(err, ledger.ErrConflict) {
		fresh, err = p.Store.Case(ctx, g.cluster, r.Case.ID)
		return fresh, false, err
	}
	if err != nil {
		return r, false, fmt.Errorf("claim the case for %s: %w", s.Kind, err)
	}
	d := p.decision(s, fresh)
	if s.Kind != remedy.StepHeartbeat {
		if err := p.Store.NoteDecision(ctx, d); err != nil {
			return r, false, fmt.Errorf("note the decision before %s: %w", s.Kind, err)
		}
	}
	p.Log.InfoContext(ctx, "step begins", append(s.Fields(), "id", d.ID)...)
	out := p.act(ctx, g, fresh, s)
	p.Log.InfoContext(ctx, "step ended", append(s.Fields(), "id", d.ID, "result", string(out.Result), "detail", out.Detail)...)
	r, err = p.record(ctx, fresh, s, out)
	if err != nil {
		return r, true, err
	}
	d.Result, d.Detail, d.Until = string(out.Result), out.Detail, p.Clock()
	if s.Kind != remedy.StepHeartbeat && out.Result != remedy.Pending {
		err = p.Store.NoteDecision(ctx, d)
	}
	return r, true, err
}

// decision is the audit line of a step.
func (p *Pass) decision(s remedy.Step, r Record) Decision {
	now := p.Clock()
	subject := s.Host
	if s.Target != "" {
		subject = s.Target
	}
	return Decision{ID: decisionID(now, s.Case+"/"+strconv.FormatInt(s.Decision, 10)+"/"+string(s.Kind)+"/"+tail(s.Target)), At: now, Cluster: r.Cluster,
		Actor: "bulkhead", Action: string(s.Kind), Subject: subject, Case: s.Case, Number: s.Decision, Reason: s.Reason, Numbers: s.Numbers}
}

// act takes the step, or tells a person where the step is to tell.
func (p *Pass) act(ctx context.Context, g *ground, r Record, s remedy.Step) Outcome {
	switch s.Kind {
	case remedy.StepPage, remedy.StepRecommend:
		n := Notice{Cluster: g.cluster, Case: s.Case, Subject: s.Host, Page: s.Kind == remedy.StepPage, Text: s.Reason, At: p.Clock()}
		if err := p.Pager.Tell(ctx, n); err != nil {
			return Outcome{remedy.Transient, err.Error()}
		}
		return Outcome{remedy.Done, ""}
	case remedy.StepEvidence:
		if err := p.slice(ctx, g, r); err != nil { // the host's own bundle matters more
			p.Log.WarnContext(ctx, "ledger slice not kept", "case", r.Case.ID, "error", err.Error())
		}
	}
	return p.Hands.Take(ctx, g.cluster, s)
}

// record tells the case what came of a step and stores it. When somebody else wrote
// the case meanwhile, the newer one is told: the effect is a fact either way.
func (p *Pass) record(ctx context.Context, r Record, s remedy.Step, out Outcome) (Record, error) {
	if out.Result == remedy.Pending {
		return r, nil // a Run Command that runs: collect asks later
	}
	for race := 0; ; race++ {
		next := r
		next.Case = remedy.Record(r.Case, s, out.Result, out.Detail, p.Clock())
		if !changed(r, next) {
			return r, nil
		}
		saved, err := p.Store.SaveCase(ctx, next)
		if err == nil {
			return saved, nil
		}
		if !errors.Is(err, ledger.ErrConflict) || race+1 >= maxRaces {
			return r, fmt.Errorf("record %s: %w", s.Kind, err)
		}
		if r, err = p.Store.Case(ctx, r.Cluster, r.Case.ID); err != nil {
			return r, fmt.Errorf("record %s: %w", s.Kind, err)
		}
	}
}

// collect asks what came of each Run Command that was sent and not heard of. Their
// events are best effort, so this does not wait for them.
func (p *Pass) collect(ctx context.Context, c remedy.Case) remedy.Case {
	for _, a := range c.Attempts {
		if a.Result != remedy.Pending || !byCommand(a.Kind) {
			continue
		}
		s := remedy.Step{Kind: a.Kind, Key: a.Key, Case: c.ID, Host: c.Host, Instance: c.Instance, Target: a.Target, Decision: c.Decision}
		out := p.Hands.Result(ctx, s)
		if out.Result == remedy.Pending {
			continue
		}
		p.Log.InfoContext(ctx, "command ended", "case", c.ID, "step", string(a.Kind), "key", a.Key, "result", string(out.Result), "detail", out.Detail)
		c = remedy.Record(c, s, out.Result, out.Detail, p.Clock())
	}
	return c
}

func byCommand(k remedy.StepKind) bool {
	return k == remedy.StepRestartMPS || k == remedy.StepTerminateClients || k == remedy.StepEvidence
}
