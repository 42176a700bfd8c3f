package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// define FAMILY CONTAINER=MIB[/PERCENT]|whole|all|none … [tier=T] [stop=30s]: a task
// definition is registered.
func define(w *world, a args) error {
	d := ledger.Definition{ARN: defARN(a.name), Family: a.name, TierTag: a.value("tier")}
	if s := a.value("stop"); s != "" {
		var err error
		if d.StopTimeout, err = time.ParseDuration(s); err != nil {
			return err
		}
	}
	for _, k := range a.keys {
		if k == "tier" || k == "stop" {
			continue
		}
		need := ledger.ContainerNeed{Name: k, Need: ledger.NeedShare}
		switch v := a.value(k); v {
		case "whole":
			need.Need, need.Count = ledger.NeedWhole, 1
		case "all":
			need.Need = ledger.NeedAll
		case "none":
			w.plain[d.ARN] = append(w.plain[d.ARN], k)
			continue
		default:
			mib, percent, _ := strings.Cut(v, "/")
			need.Memory, need.Compute = gpu.MiB(atoi(mib)), gpu.Percent(atoi(percent))
		}
		d.Containers = append(d.Containers, need)
	}
	slices.SortFunc(d.Containers, func(x, y ledger.ContainerNeed) int { return strings.Compare(x.Name, y.Name) })
	w.defs[d.ARN] = d
	return nil
}

// place TASK def=FAMILY on=HOST [gpu=CARD] [by=RESERVATION]: ECS places a task, and
// names its card if told so. The task is PENDING.
func place(w *world, a args) error {
	def, ok := w.defs[defARN(a.value("def"))]
	if !ok {
		return fmt.Errorf("no definition %q", a.value("def"))
	}
	t := &truthTask{name: a.name, host: a.value("on"), def: a.value("def"), last: "PENDING", desired: "RUNNING", cards: map[string]string{}, created: w.now, startedBy: a.value("by")}
	if card := a.value("gpu"); card != "" {
		for _, c := range def.Containers {
			t.cards[c.Name] = card
		}
	}
	w.tasks[a.name] = t
	return w.tellTask(t)
}

// runs TASK [gpu=CARD]: the task is RUNNING, on a card.
func runs(w *world, a args) error {
	return w.change(a, func(t *truthTask) {
		t.last = "RUNNING"
		if card := a.value("gpu"); card != "" {
			for _, c := range w.defs[defARN(t.def)].Containers {
				t.cards[c.Name] = card
			}
		}
	})
}

// stop TASK: ECS wants the task gone. It still holds.
func stop(w *world, a args) error {
	return w.change(a, func(t *truthTask) { t.desired, t.stopping = "STOPPED", w.now })
}

// stopped TASK: the task is STOPPED.
func stopped(w *world, a args) error {
	return w.change(a, func(t *truthTask) { t.last, t.desired, t.stopped = "STOPPED", "STOPPED", w.now })
}

// contradict TASK: ECS says once more that a task runs which it said had stopped.
func contradict(w *world, a args) error {
	t, ok := w.tasks[a.name]
	if !ok || t.last != "STOPPED" {
		return fmt.Errorf("no task %q has stopped", a.name)
	}
	liar := *t
	liar.last, liar.desired, liar.stopped, liar.stopping = "RUNNING", "RUNNING", time.Time{}, time.Time{}
	t.version++ // ECS counts it
	return w.tellTask(&liar)
}

// hide NAME: a task or host is in no list of ECS, which still describes it by name.
func hide(w *world, a args) error {
	w.hidden[a.name] = true
	return nil
}

// forget TASK: ECS does not describe the task any more.
func forget(w *world, a args) error {
	delete(w.tasks, a.name)
	return nil
}

func (w *world) change(a args, f func(*truthTask)) error {
	t, ok := w.tasks[a.name]
	if !ok {
		return fmt.Errorf("no task %q was placed", a.name)
	}
	f(t)
	return w.tellTask(t)
}

func (w *world) tellTask(t *truthTask) error {
	t.version++
	var containers []any
	for _, name := range w.plain[defARN(t.def)] {
		containers = append(containers, map[string]any{"name": name})
	}
	for _, c := range w.defs[defARN(t.def)].Containers {
		x := map[string]any{"name": c.Name}
		if card, ok := t.cards[c.Name]; ok {
			x["gpuIds"] = []string{cardID(card)}
		}
		containers = append(containers, x)
	}
	detail := map[string]any{"clusterArn": cluster, "taskArn": taskARN(t.name), "containerInstanceArn": instanceARN(t.host), "taskDefinitionArn": defARN(t.def), "launchType": "EC2",
		"lastStatus": t.last, "desiredStatus": t.desired, "version": t.version, "createdAt": t.created.Format(time.RFC3339), "containers": containers, "startedBy": t.startedBy}
	if !t.stopping.IsZero() {
		detail["stoppingAt"] = t.stopping.Format(time.RFC3339)
	}
	if !t.stopped.IsZero() {
		detail["stoppedAt"] = t.stopped.Format(time.RFC3339)
	}
	return w.tell("aws.ecs", "ECS Task State Change", saying{task: t.name, version: t.version, stopped: t.last == "STOPPED"}, detail)
}
