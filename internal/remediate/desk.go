package remediate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Desk takes the words of people. Each needs a reason, names who said it, and is a
// Decision of the audit trail.
type Desk struct {
	Store  Store
	Vitals vitals.Store
	Health health.Policy
	Clock  func() time.Time
}

// Bounds of what a person writes.
const (
	MaxReason = 500
	MaxActor  = 512
)

// ErrWord is what every refusal of a person's word wraps.
var ErrWord = errors.New("not done")

// Word checks who says what.
func (d *Desk) word(by, reason string) (remedy.Word, error) {
	by, reason = strings.TrimSpace(by), strings.Join(strings.Fields(strings.ToValidUTF8(reason, "?")), " ")
	switch {
	case by == "" || len(by) > MaxActor:
		return remedy.Word{}, fmt.Errorf("%w: nobody signed this", ErrWord)
	case reason == "":
		return remedy.Word{}, fmt.Errorf("%w: %w", ErrWord, remedy.ErrReason)
	case len(reason) > MaxReason:
		return remedy.Word{}, fmt.Errorf("%w: the reason has %d bytes, at most %d are kept", ErrWord, len(reason), MaxReason)
	}
	return remedy.Word{By: by, Reason: reason, At: d.Clock()}, nil
}

// note writes the decision first: a word whose effect is not there was begun.
func (d *Desk) note(ctx context.Context, cluster, action, subject string, w remedy.Word) (Decision, error) {
	x := Decision{ID: decisionID(w.At, action+"/"+subject+"/"+w.By), At: w.At, Cluster: cluster, Actor: w.By, Action: action, Subject: subject, Reason: w.Reason}
	return x, d.Store.NoteDecision(ctx, x)
}

// done writes what came of it.
func (d *Desk) done(ctx context.Context, x Decision, err error) (Decision, error) {
	x.Result, x.Until = string(remedy.Done), d.Clock()
	if err != nil {
		x.Result, x.Detail = string(remedy.Refused), err.Error()
	}
	return x, errors.Join(err, d.Store.NoteDecision(ctx, x))
}

// Pause stops all remedies of a cluster; Resume lets them go on. What waited is
// judged again, not replayed.
func (d *Desk) Pause(ctx context.Context, cluster, by, reason string) (Decision, error) {
	return d.control(ctx, cluster, "pause", cluster, by, reason, func(c *Control, w remedy.Word, _ string) error {
		if c.Paused.By == "" {
			c.Paused = w
		}
		return nil
	})
}

// Resume ends a pause.
func (d *Desk) Resume(ctx context.Context, cluster, by, reason string) (Decision, error) {
	return d.control(ctx, cluster, "resume", cluster, by, reason, func(c *Control, _ remedy.Word, _ string) error {
		c.Paused = remedy.Word{}
		return nil
	})
}

// ResetBreaker closes a breaker whose cause a person understands. key is written as
// the breaker's list writes it.
func (d *Desk) ResetBreaker(ctx context.Context, cluster, key, by, reason string) (Decision, error) {
	return d.control(ctx, cluster, "breaker-reset", key, by, reason, func(c *Control, w remedy.Word, _ string) error {
		i := slices.IndexFunc(c.Breakers, func(b remedy.Breaker) bool { return b.Key.String() == key })
		if i < 0 {
			return fmt.Errorf("%w: no breaker %q: %w", ErrWord, key, ledger.ErrNotFound)
		}
		b, err := remedy.Reset(c.Breakers[i], w)
		c.Breakers = slices.Clone(c.Breakers)
		c.Breakers[i] = b
		return err
	})
}

// Cordon asks that a host take no new tasks; Uncordon that it take them again. The
// next pass carries it out. A person's cordon stands until a person takes it back.
func (d *Desk) Cordon(ctx context.Context, h ledger.Host, by, reason string) (Decision, error) {
	return d.cordon(ctx, h, "cordon", remedy.StatusDraining, by, reason)
}

// Uncordon takes a cordon back, whoever set it. A case that cordoned the host ends.
func (d *Desk) Uncordon(ctx context.Context, h ledger.Host, by, reason string) (Decision, error) {
	return d.cordon(ctx, h, "uncordon", remedy.StatusActive, by, reason)
}

func (d *Desk) cordon(ctx context.Context, h ledger.Host, action, want, by, reason string) (Decision, error) {
	if h.Gone() {
		return Decision{}, fmt.Errorf("%w: the host is gone", ErrWord)
	}
	return d.control(ctx, h.ID.Cluster, action, h.ID.Instance, by, reason, func(c *Control, w remedy.Word, id string) error {
		c.Cordons = slices.DeleteFunc(slices.Clone(c.Cordons), func(x Cordon) bool { return x.Host == h.ID.Instance })
		if len(c.Cordons) >= maxCordons {
			return fmt.Errorf("%w: %d cordons stand in this cluster; take some back first", ErrWord, len(c.Cordons))
		}
		c.Cordons = append(c.Cordons, Cordon{Host: h.ID.Instance, Instance: h.Fixed.EC2InstanceID, Want: want, Word: w, Decision: id})
		return nil
	})
}

// control changes the cluster's control and writes the audit trail around it.
func (d *Desk) control(ctx context.Context, cluster, action, subject, by, reason string, f func(*Control, remedy.Word, string) error) (Decision, error) {
	w, err := d.word(by, reason)
	if err != nil {
		return Decision{}, err
	}
	x, err := d.note(ctx, cluster, action, subject, w)
	if err != nil {
		return x, err
	}
	var refused error
	_, err = changeControl(ctx, d.Store, cluster, func(c *Control) bool {
		refused = f(c, w, x.ID)
		return refused == nil
	})
	if action == "cordon" || action == "uncordon" {
		if refused == nil && err == nil {
			return x, nil // the pass writes what came of it
		}
	}
	return d.done(ctx, x, errors.Join(refused, err))
}

// Cancel ends a case; nothing is touched for it afterwards. Hold stops it where it
// is, Release lets it go on.
func (d *Desk) Cancel(ctx context.Context, cluster, id, by, reason string) (Decision, error) {
	return d.onCase(ctx, cluster, id, "cancel", by, reason, remedy.Cancel)
}

// Hold stops a case where it is.
func (d *Desk) Hold(ctx context.Context, cluster, id, by, reason string) (Decision, error) {
	return d.onCase(ctx, cluster, id, "hold", by, reason, remedy.Hold)
}

// Release lets a held case go on.
func (d *Desk) Release(ctx context.Context, cluster, id, by, reason string) (Decision, error) {
	return d.onCase(ctx, cluster, id, "release", by, reason, remedy.Release)
}

func (d *Desk) onCase(ctx context.Context, cluster, id, action, by, reason string, f func(remedy.Case, remedy.Word) (remedy.Case, error)) (Decision, error) {
	w, err := d.word(by, reason)
	if err != nil {
		return Decision{}, err
	}
	r, err := d.Store.Case(ctx, cluster, id)
	if err != nil {
		return Decision{}, err
	}
	x, err := d.note(ctx, cluster, action, id, w)
	if err != nil {
		return x, err
	}
	x.Case = id
	for race := 0; ; race++ {
		next, err := f(r.Case, w)
		if err != nil {
			return d.done(ctx, x, fmt.Errorf("%w: %w", ErrWord, err))
		}
		r.Case = next
		x.Number = next.Decision
		_, err = d.Store.SaveCase(ctx, r)
		if err == nil || !errors.Is(err, ledger.ErrConflict) || race+1 >= maxRaces {
			return d.done(ctx, x, err)
		}
		if r, err = d.Store.Case(ctx, cluster, id); err != nil {
			return d.done(ctx, x, err)
		}
	}
}

// SetHealthy is a person's word that a host, or one card of it, is well: every
// condition seen up to now is cleared.
func (d *Desk) SetHealthy(ctx context.Context, h ledger.Host, card gpu.UUID, by, reason string) (Decision, error) {
	w, err := d.word(by, reason)
	if err != nil {
		return Decision{}, err
	}
	subject := h.ID.Instance
	if card != "" {
		subject += " " + string(card)
	}
	x, err := d.note(ctx, h.ID.Cluster, "set-healthy", subject, w)
	if err != nil {
		return x, err
	}
	s := health.Signal{Kind: health.KindSetHealthy, Device: card, Witness: health.WitnessPerson, Text: w.By + ": " + w.Reason, LastSeen: w.At}
	for race := 0; ; race++ {
		rec, err := d.Vitals.Health(ctx, h.Fixed.EC2InstanceID)
		if errors.Is(err, ledger.ErrNotFound) {
			return d.done(ctx, x, fmt.Errorf("%w: nothing was ever found on this host: %w", ErrWord, err))
		}
		if err != nil {
			return d.done(ctx, x, err)
		}
		var odd []error
		rec.State, rec.Verdict, odd = health.Assess(rec.State, []health.Signal{s}, d.Health, d.Clock())
		if len(odd) > 0 {
			return d.done(ctx, x, fmt.Errorf("%w: %w", ErrWord, odd[0]))
		}
		_, err = d.Vitals.SaveHealth(ctx, rec)
		if err == nil || !errors.Is(err, ledger.ErrConflict) || race+1 >= maxRaces {
			return d.done(ctx, x, err)
		}
	}
}

// decisionID is short, sorts by time, and is the same for the same word at the same
// time: said twice by a client that tries again, it is one line.
func decisionID(at time.Time, what string) string {
	sum := sha256.Sum256([]byte(what))
	return at.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(sum[:5])
}
