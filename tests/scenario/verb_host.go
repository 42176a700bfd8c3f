package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// register HOST cards=A,B [mib=22563]: a container instance registers, or registers
// again with other cards.
func register(w *world, a args) error {
	h, ok := w.hosts[a.name]
	if !ok {
		h = &truthHost{name: a.name, registered: w.now, mib: 22563}
		w.hosts[a.name] = h
	}
	h.status, h.connected, h.cards = "ACTIVE", true, a.list("cards")
	if n := a.number("mib"); n > 0 {
		h.mib = gpu.MiB(n)
	}
	return w.tellHost(h)
}

// status HOST DRAINING|ACTIVE|INACTIVE: its status changes.
func status(w *world, a args) error {
	h, err := w.host(a.name)
	if err != nil {
		return err
	}
	h.status = a.rest[0]
	return w.tellHost(h)
}

// deregister HOST: ECS forgets it without a word.
func deregister(w *world, a args) error {
	if _, err := w.host(a.name); err != nil {
		return err
	}
	delete(w.hosts, a.name)
	return nil
}

// terminate HOST: EC2 says that the instance is terminated.
func terminate(w *world, a args) error {
	return w.tell("aws.ec2", "EC2 Instance State-change Notification", saying{}, map[string]any{"instance-id": "i-" + a.name, "state": "terminated"})
}

// spot HOST: EC2 will take the instance back.
func spot(w *world, a args) error {
	return w.tell("aws.ec2", "EC2 Spot Instance Interruption Warning", saying{spot: a.name}, map[string]any{"instance-id": "i-" + a.name, "instance-action": "terminate"})
}

func (w *world) host(name string) (*truthHost, error) {
	h, ok := w.hosts[name]
	if !ok {
		return nil, fmt.Errorf("no host %q is registered", name)
	}
	return h, nil
}

func (w *world) tellHost(h *truthHost) error {
	h.version++
	if w.history[h.name] == nil {
		w.history[h.name] = map[int64]registered{}
	}
	w.history[h.name][h.version] = registered{h.status, h.cards}
	var ids []string
	for _, c := range h.cards {
		ids = append(ids, cardID(c))
	}
	return w.tell("aws.ecs", "ECS Container Instance State Change", saying{host: h.name, version: h.version}, map[string]any{"clusterArn": cluster, "containerInstanceArn": instanceARN(h.name), "ec2InstanceId": "i-" + h.name,
		"status": h.status, "agentConnected": h.connected, "version": h.version, "registeredAt": h.registered.Format(time.RFC3339),
		"attributes":          []any{map[string]string{"name": "ecs.capability.gpu-sharing-mps"}},
		"registeredResources": []any{map[string]any{"name": "GPU", "stringSetValue": ids}}})
}

// tell brings an event to the handlers, unless events are lost.
func (w *world) tell(source, kind string, s saying, detail map[string]any) error {
	b, err := json.Marshal(map[string]any{"version": "0", "id": fmt.Sprint(len(w.kept)), "detail-type": kind, "source": source, "account": "111122223333",
		"time": w.now.Format(time.RFC3339), "region": "us-east-1", "resources": []string{}, "detail": detail})
	if err != nil {
		return err
	}
	m := fleet.Message{ID: fmt.Sprint("event ", len(w.kept)), Body: b}
	w.kept = append(w.kept, m)
	w.said[m.ID] = s
	switch {
	case w.mute:
		return nil
	case w.holding:
		w.held = append(w.held, m)
		return nil
	}
	return w.bring(m)
}

func (w *world) bring(msgs ...fleet.Message) error {
	for i, r := range w.ingest().Batch(context.Background(), msgs) {
		switch r.Outcome {
		case fleet.Failed:
			w.failed = append(w.failed, msgs[i])
		case fleet.Applied, fleet.Duplicate:
			w.acked.take(w.said[r.ID])
		}
		if r.Outcome != fleet.Applied {
			fmt.Fprintf(&w.out, "%s: %s %s\n", r.ID, r.Outcome, r.Token)
		}
	}
	return nil
}

func (a *acknowledged) take(s saying) {
	switch {
	case s.task != "":
		a.tasks[s.task] = max(a.tasks[s.task], s.version)
		a.stopped[s.task] = a.stopped[s.task] || s.stopped
	case s.host != "":
		a.hosts[s.host] = max(a.hosts[s.host], s.version)
	case s.spot != "":
		a.spot[s.spot] = true
	}
}
