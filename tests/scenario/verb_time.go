package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// wait DURATION: time passes.
func wait(w *world, a args) error {
	d, err := time.ParseDuration(a.name)
	w.now = w.now.Add(d)
	return err
}

// lose on|off: events are lost, or come again from now on.
func lose(w *world, a args) error {
	w.mute = a.name == "on"
	return nil
}

// again N…: events come another time, by their numbers, or "all", or "reversed".
func again(w *world, a args) error {
	msgs := slices.Clone(w.kept)
	switch a.name {
	case "all":
	case "reversed":
		slices.Reverse(msgs)
	default:
		msgs = nil
		for _, n := range append([]string{a.name}, a.rest...) {
			i := atoi(n)
			if i < 0 || int(i) >= len(w.kept) {
				return fmt.Errorf("there is no event %s", n)
			}
			msgs = append(msgs, w.kept[i])
		}
	}
	return w.bring(msgs...)
}

// sweep: the ledger is compared with ECS.
func sweep(w *world, _ args) error {
	r, failed := w.sweep().Cluster(context.Background(), cluster)
	if failed == nil {
		fmt.Fprintf(&w.out, "sweep: %d ghosts, %d leaks, %d expired, %d lost hosts, %d removed, %d written\n", r.Ghosts, r.Leaks, r.Expired, r.Lost, r.Removed, r.Written)
	} else { // told in the trace: a failed sweep is part of a script, not its end
		fmt.Fprintln(&w.out, "sweep failed: the next one goes on")
	}
	return nil
}

// reserve ID on=HOST mib=N [tier=T] [for=1m]: we decide to use room on a host.
func reserve(w *world, a args) error {
	lease := time.Minute
	if s := a.value("for"); s != "" {
		var err error
		if lease, err = time.ParseDuration(s); err != nil {
			return err
		}
	}
	h, err := w.store.Host(context.Background(), ledger.HostID{Cluster: cluster, Instance: instanceARN(a.value("on"))})
	if err != nil {
		return err
	}
	h, err = ledger.Reserve(h, ledger.Reservation{ID: a.name, Tier: gpu.Tier(a.value("tier")), MadeAt: w.now, LeaseUntil: w.now.Add(lease),
		Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: gpu.MiB(a.number("mib"))}}}, w.policy, w.now)
	if r, refused := ledger.IsRefusal(err); refused {
		fmt.Fprintf(&w.out, "refused: %s\n", r.Error())
		return nil
	}
	if err == nil {
		_, err = faulty{w.store, w}.Commit(context.Background(), h)
	}
	return err
}

// rule TIER same|exclusive|any: what a tier accepts beside it.
func rule(w *world, a args) error {
	if w.policy.Tiers == nil {
		w.policy.Tiers = map[gpu.Tier]ledger.TierRule{}
	}
	w.policy.Tiers[gpu.Tier(a.name)] = ledger.TierRule(a.rest[0])
	return nil
}

// ledger: what stands where, and what is wrong.
func showLedger(w *world, _ args) error {
	hosts, _, err := w.store.Hosts(context.Background(), cluster, "", 0)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		v := h.View(w.now)
		fmt.Fprintf(&w.out, "%s %s%s\n", last(h.ID.Instance), h.Registration.Status, notes(h))
		for _, d := range v.Devices {
			fmt.Fprintf(&w.out, "  %s %s held %d of %d, promised %d%%\n", w.cardName(d.UUID), d.Mode, int64(d.Held), int64(d.Total), int32(d.Compute))
			for _, s := range d.Shares {
				fmt.Fprintf(&w.out, "    %s\n", shareLine(s))
			}
		}
		for _, s := range v.Unplaced {
			fmt.Fprintf(&w.out, "  no card yet: %s\n", shareLine(s))
		}
		for _, f := range ledger.Check(v, w.policy, w.now) {
			fmt.Fprintf(&w.out, "  ! %s %s: %s\n", f.Kind, w.subject(f.Subject), strings.ReplaceAll(f.Reason, arnHead, ""))
		}
	}
	return nil
}

func notes(h ledger.Host) string {
	var s string
	if h.EC2.State != "" {
		s += " ec2:" + h.EC2.State
	}
	for _, l := range h.Leaving {
		s += " leaving:" + l.Cause
	}
	return s
}

func shareLine(s ledger.Share) string {
	name := last(s.TaskARN)
	if s.TaskARN == "" {
		name = "reservation " + s.Reservation
	}
	size := "?"
	if s.Sized {
		size = fmt.Sprint(int64(s.Memory))
	}
	return fmt.Sprintf("%s/%s %s MiB %d%% %s %s", name, s.Container, size, int32(s.Compute), s.Tier, s.State)
}

func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// cardName gives a card the name that the script gave it.
func (w *world) cardName(u gpu.UUID) string {
	names := []string{}
	for _, h := range w.hosts {
		names = append(names, h.cards...)
	}
	for _, t := range w.tasks {
		for _, c := range t.cards {
			names = append(names, c)
		}
	}
	for _, n := range append(names, "A", "B", "C", "D", "E", "F") {
		if cardID(n) == string(u) {
			return n
		}
	}
	return string(u)
}

func (w *world) subject(s string) string {
	if strings.HasPrefix(s, "GPU-") {
		return w.cardName(gpu.UUID(s))
	}
	return last(s)
}
