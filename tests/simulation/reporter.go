package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// reporter is one host's agent: it may fall silent, and its clock may lie.
type reporter struct {
	sequence uint64
	boot     int
	cards    string
	last     time.Time
	off      time.Duration
}

// report lets agents speak, and holds what is kept of them to its law: the highest
// number of a boot stands, and a lie about the time changes nothing.
func (l *life) report(ctx context.Context) error {
	if !l.plan.has("agents") {
		return nil
	}
	var hosts []sim.Host
	l.face.Do(func(f *sim.Fleet) {
		for _, h := range f.Hosts() {
			if h.EC2State == "running" {
				hosts = append(hosts, *h)
			}
		}
	})
	for _, h := range hosts {
		a := l.agents[h.EC2]
		if a == nil {
			a = &reporter{}
			l.agents[h.EC2] = a
		}
		if l.now.Sub(a.last) < 5*time.Minute || l.rng.IntN(8) == 0 { // silent this time
			continue
		}
		if err := l.speak(ctx, h, a); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) speak(ctx context.Context, h sim.Host, a *reporter) error {
	if cards := fmt.Sprint(h.UUIDs()); cards != a.cards {
		a.cards, a.boot, a.sequence = cards, a.boot+1, 0
	}
	a.off = 0
	if l.rng.IntN(10) == 0 {
		a.off = time.Duration(l.rng.IntN(7200)-3600) * time.Second
	}
	a.sequence++
	rep := events.HostReport{Schema: 1, InstanceID: h.EC2, BootID: fmt.Sprint("boot-", a.boot), Sequence: a.sequence, ObservedAt: l.now.Add(a.off), SentAt: l.now.Add(a.off),
		UptimeSeconds: 60, LeaseSeconds: 300, Cause: "lease", NVML: "ok", MPS: events.ReportMPS{State: "serving"}}
	body, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	a.last = l.now
	times := 1
	if l.rng.IntN(6) == 0 {
		times = 2 // the answer was lost
	}
	before, _ := l.table.Health(ctx, h.EC2)
	for range times {
		answer, err := l.reports.Accept(ctx, fleet.Signer{Account: "111122223333", Role: "r", Session: h.EC2}, h.EC2, body)
		switch {
		case errors.Is(err, fleet.ErrReportUnknown):
			a.sequence--
			return nil
		case errors.Is(err, fleet.ErrReportSkewed):
			if after, _ := l.table.Health(ctx, h.EC2); after.Revision != before.Revision {
				return fmt.Errorf("a report with a clock off by %s changed the record of %s", a.off, h.EC2)
			}
			return nil
		case err != nil && !errors.Is(err, ledger.ErrConflict):
			return err
		case err == nil && answer.Accepted < a.sequence:
			return fmt.Errorf("report %d of %s is acknowledged as %d", a.sequence, h.EC2, answer.Accepted)
		}
	}
	if after, _ := l.table.Health(ctx, h.EC2); after.Sequence != a.sequence || after.Revision > before.Revision+1 {
		return fmt.Errorf("%s: report %d said %d times stands as %d at revision %d, was %d", h.EC2, a.sequence, times, after.Sequence, after.Revision, before.Revision)
	}
	return nil
}
