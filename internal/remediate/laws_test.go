package remediate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// trial is a random day: a fleet, faults of hosts, people's words, and a process
// that may die, be throttled, or lose an answer at any call.
type trial struct {
	*fakeFleet
	rt        *rapid.T
	cancelled map[string]bool
	crashes   int
	dead      bool // the process of this pass
	fate      *rand.Rand
}

func (d *trial) law(ok bool, format string, a ...any) {
	if !ok {
		d.rt.Fatalf("%s: %s", d.now.Format(time.TimeOnly), fmt.Sprintf(format, a...))
	}
}

// acts watches every effect.
func (d *trial) acts(s remedy.Step, h *fakeHost) {
	d.law(!d.cancelled[s.Case], "%s for the cancelled case %s", s.Kind, s.Case)
	if s.Kind == remedy.StepUndrain && s.Case != "" {
		d.law(!h.personsWord, "a person's cordon of %s was undone by case %s", h.id, s.Case)
	}
	if s.Kind == remedy.StepTerminate || s.Kind == remedy.StepTerminateInGroup || s.Kind == remedy.StepReboot {
		for _, t := range h.tasks {
			d.law(!t.stoppedAt.IsZero() && !t.stoppedAt.After(d.now), "%s of %s with the task %s on it", s.Kind, h.id, t.arn)
		}
	}
	in := 0
	for _, c := range d.all() {
		if c.InRepair() {
			in++
		}
		for _, r := range c.Faults {
			d.law(!strings.HasPrefix(r, "AgentSilent"), "case %s is for one silent witness", c.ID)
		}
	}
}

// faults decides about one call.
func (d *trial) faults(call string, after bool) error {
	if d.dead {
		return errCrash
	}
	if call == "Look" && !after && d.fate.IntN(10) == 0 {
		d.word() // between what was decided and the act
	}
	switch n := d.fate.IntN(100); {
	case n < d.crashes:
		d.dead = true
		return errCrash
	case n < d.crashes*2 && !after:
		return errThrottle
	case n < d.crashes*3 && after:
		return errTimeout
	}
	return nil
}

// judged holds the laws that are true between two passes.
func (d *trial) judged() {
	alive := 0
	for _, h := range d.hosts {
		if !h.gone {
			alive++
		}
	}
	limit := max(1, alive*20/100)
	in, faults := 0, map[string]string{}
	for _, c := range d.all() {
		if c.InRepair() {
			in++
		}
		for _, fault := range c.Faults {
			other, twice := faults[fault]
			d.law(!twice, "%s is answered by %s and by %s", fault, other, c.ID)
			faults[fault] = c.ID
		}
	}
	d.law(in <= limit, "%d hosts in repair, at most %d may be", in, limit)
}

// word is a person's, at random.
func (d *trial) word() {
	ctx, desk := context.Background(), d.desk()
	cases := d.all()
	h := d.hosts[rapid.IntRange(0, len(d.hosts)-1).Draw(d.rt, "of host")]
	var err error
	switch rapid.SampledFrom([]string{"cancel", "hold", "release", "pause", "resume", "cordon", "console-cordon", "uncordon", "none", "none"}).Draw(d.rt, "word") {
	case "cancel":
		if i := slices.IndexFunc(cases, func(c remedy.Case) bool { return !c.State.Final() }); i >= 0 {
			if _, err = desk.Cancel(ctx, cluster, cases[i].ID, "ana", "seen it"); err == nil {
				d.cancelled[cases[i].ID] = true
			}
		}
	case "hold":
		if i := slices.IndexFunc(cases, func(c remedy.Case) bool { return !c.State.Final() }); i >= 0 {
			_, err = desk.Hold(ctx, cluster, cases[i].ID, "ana", "wait")
		}
	case "release":
		for _, c := range cases {
			if c.Held.By != "" && !c.State.Final() {
				_, err = desk.Release(ctx, cluster, c.ID, "ana", "go on")
			}
		}
	case "pause":
		_, err = desk.Pause(ctx, cluster, "ana", "a change is on")
	case "resume":
		_, err = desk.Resume(ctx, cluster, "ana", "the change is done")
	case "cordon":
		if l, lerr := d.ledger.Host(ctx, ledger.HostID{Cluster: cluster, Instance: h.arn}); lerr == nil && !l.Gone() {
			if _, err = desk.Cordon(ctx, l, "ana", "mine"); err == nil && h.status == "DRAINING" {
				h.personsWord = true
			}
		}
	case "console-cordon":
		if !h.gone && h.status == "ACTIVE" {
			h.status, h.draining, h.personsWord = "DRAINING", d.now, true
		}
	case "uncordon":
		if l, lerr := d.ledger.Host(ctx, ledger.HostID{Cluster: cluster, Instance: h.arn}); lerr == nil && !l.Gone() {
			_, err = desk.Uncordon(ctx, l, "ana", "take it")
		}
	}
	d.law(err == nil, "a person's word: %v", err)
}

// break_ makes a host sick.
func (d *trial) break_() {
	h := d.hosts[rapid.IntRange(0, len(d.hosts)-1).Draw(d.rt, "host")]
	if h.gone || h.seq == 0 {
		return
	}
	switch rapid.SampledFrom([]string{"xid79", "daemon", "up", "silent", "opt-out", "none", "none", "none"}).Draw(d.rt, "fault") {
	case "xid79":
		if len(h.bad) == 0 {
			d.xid(h, 79)
		}
	case "daemon":
		if len(h.bad) == 0 {
			h.bad = mpsDead(d.now)
			d.report(h)
		}
	case "up":
		if len(h.bad) > 0 && h.bad[0].Kind == "MpsControlDead" {
			h.bad = mpsUp(d.now)
			d.report(h)
		}
	case "silent":
		h.quiet = true
	case "opt-out":
		h.optOut = rapid.Bool().Draw(d.rt, "tag")
	}
}

func TestTheLawsHoldWhateverDiesAndWhoeverSpeaks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &trial{rt: rt, cancelled: map[string]bool{}}
		d.fakeFleet = newFleet(t, rapid.IntRange(3, 7).Draw(rt, "hosts"), nil)
		for i, h := range d.hosts {
			for n := range rapid.IntRange(0, 2).Draw(rt, "tasks") {
				h.tasks = append(h.tasks, &fakeTask{arn: fmt.Sprintf("arn:aws:ecs:us-east-1:111122223333:task/gpu/%d-%d", i, n), service: rapid.SampledFrom([]string{"chat", "chat", ""}).Draw(rt, "service"),
					protected: rapid.IntRange(0, 5).Draw(rt, "protected") == 0})
			}
			d.register(h)
		}
		d.onTake, d.fault = d.acts, d.faults
		d.fate = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed of what fails"), 1))
		d.crashes = rapid.IntRange(0, 4).Draw(rt, "crashes")
		for range 25 {
			d.dead = false
			d.tick(time.Duration(rapid.IntRange(5, 120).Draw(rt, "pause")) * time.Second)
			d.break_()
			d.word()
			_, _ = d.pass() // errors are what was injected; the laws say what must hold
			d.judged()
		}
		d.settles()
	})
}

// settles ends the faults of the ports and the words of people, and looks whether
// every case ends or says what it waits for.
func (d *trial) settles() {
	d.fault = nil
	if _, err := d.desk().Resume(context.Background(), cluster, "ana", "go on"); err != nil {
		d.rt.Fatal(err)
	}
	for range 40 {
		d.tick(5 * time.Minute)
		rep, err := d.pass()
		d.law(err == nil, "with nothing in the way: %v (%+v)", err, rep)
		d.judged()
	}
	for _, c := range d.all() {
		d.law(c.State.Final() || c.State == remedy.Blocked && c.Block.Reason != "" && c.Block.Detail != "" || c.Waiting != "", "case %s in %s neither ends nor says why: %+v", c.ID, c.State, c)
	}
	control, err := d.cases.Control(context.Background(), cluster)
	d.law(err == nil && len(control.Notices) == 0, "notices are left: %+v %v", control.Notices, err)
	for _, x := range control.Cordons {
		d.law(!x.Done.IsZero(), "a person's word was not carried out: %+v", x)
	}
}
