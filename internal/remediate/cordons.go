package remediate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// standing reports whether a person's cordon holds the host.
func standing(c Control, host string) bool {
	return slices.ContainsFunc(c.Cordons, func(x Cordon) bool { return x.Host == host && x.Want == remedy.StatusDraining })
}

// cordons carries out what people asked of hosts. It is a person's act, so neither
// mode nor pause holds it; it is tried again with the retry times of the policy.
func (p *Pass) cordons(ctx context.Context, g *ground) error {
	var errs []error
	for _, x := range g.control.Cordons {
		if !x.Done.IsZero() || p.Clock().Sub(x.Last) < time.Duration(p.Policy.Retry.After)<<min(x.Tries, 4) && x.Tries > 0 {
			continue
		}
		out := p.obey(ctx, g, x)
		now := p.Clock()
		p.Log.InfoContext(ctx, "person's word carried out", "cluster", g.cluster, "host", x.Host, "want", x.Want, "by", x.Word.By, "reason", x.Word.Reason,
			"id", x.Decision, "result", string(out.Result), "detail", out.Detail)
		control, err := p.changeControl(ctx, g.cluster, func(c *Control) bool {
			i := slices.IndexFunc(c.Cordons, func(o Cordon) bool { return o.Host == x.Host && o.Decision == x.Decision })
			if i < 0 {
				return false // a later word about the host
			}
			c.Cordons = slices.Clone(c.Cordons)
			o := &c.Cordons[i]
			o.Tries, o.Last, o.Detail = o.Tries+1, now, out.Detail
			if out.Result == remedy.Transient {
				return true
			}
			o.Done = now
			if o.Want == remedy.StatusActive || out.Result == remedy.NotFound {
				c.Cordons = slices.Delete(c.Cordons, i, i+1)
			}
			return true
		})
		if err == nil {
			g.control = control
			err = p.answer(ctx, g.cluster, x, out)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// obey does the one or two calls of a person's word.
func (p *Pass) obey(ctx context.Context, g *ground, x Cordon) Outcome {
	seen, err := p.Eyes.Look(ctx, Subject{Cluster: g.cluster, Host: x.Host, Instance: x.Instance})
	switch {
	case err != nil:
		return Outcome{remedy.Transient, err.Error()}
	case seen.Host.Gone, !seen.Host.Registered:
		return Outcome{remedy.NotFound, "the host is gone"}
	}
	s := remedy.Step{Kind: remedy.StepDrain, Host: x.Host, Instance: x.Instance, Reason: x.Word.Reason}
	if x.Want == remedy.StatusActive {
		s.Kind = remedy.StepUndrain
	}
	out := Outcome{remedy.Standing, "already " + seen.Host.Status}
	if seen.Host.Status != x.Want {
		out = p.Hands.Take(ctx, g.cluster, s)
	}
	if x.Want == remedy.StatusActive && out.Result != remedy.Transient && seen.Host.CordonMark != "" {
		s.Kind = remedy.StepUnmark // the marks of a case that a person overrules
		if marks := p.Hands.Take(ctx, g.cluster, s); marks.Result == remedy.Transient {
			return marks
		}
	}
	return out
}

// answer writes the outcome into the audit trail.
func (p *Pass) answer(ctx context.Context, cluster string, x Cordon, out Outcome) error {
	d, err := p.Store.Decision(ctx, cluster, x.Decision)
	if err != nil {
		return fmt.Errorf("audit of %s: %w", x.Decision, err)
	}
	d.Result, d.Detail, d.Until = string(out.Result), out.Detail, p.Clock()
	return p.Store.NoteDecision(ctx, d)
}
