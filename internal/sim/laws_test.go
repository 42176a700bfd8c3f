package sim_test

import (
	"encoding/json"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// law is what must hold after every step, and of every single event.
type law struct {
	versions map[string]int64
	ids      map[string]bool
	events   int
}

type told struct {
	ID     string
	Kind   string `json:"detail-type"`
	Detail struct {
		TaskARN, ContainerInstanceARN, LastStatus, DesiredStatus string
		Version                                                  *int64
	}
}

// heard holds each event to the one before it of the same resource: an event's version
// is above that of any earlier one, and a task that stopped stays so.
func (l *law) heard(t *rapid.T, out []sim.Emitted) {
	for i, e := range out {
		var ev told
		if err := json.Unmarshal(e.Body, &ev); err != nil {
			t.Fatal(err)
		}
		if l.ids[ev.ID] {
			t.Fatalf("two events have the id %s", ev.ID)
		}
		l.ids[ev.ID] = true
		l.events++
		if i > 0 && e.At.Before(out[i-1].At) {
			t.Fatalf("%s is told out of its turn", e.Body)
		}
		resource := ev.Detail.ContainerInstanceARN
		if ev.Kind == "ECS Task State Change" {
			resource = ev.Detail.TaskARN
		}
		if ev.Detail.Version == nil || resource == "" {
			continue
		}
		if *ev.Detail.Version <= l.versions[resource] {
			t.Fatalf("version %d after %d: %s", *ev.Detail.Version, l.versions[resource], e.Body)
		}
		l.versions[resource] = *ev.Detail.Version
		if ev.Detail.LastStatus == "STOPPED" {
			l.versions[resource] = 1 << 62 // nothing may follow
		}
	}
}

// stands holds the fleet to what it is made of: sums to their parts, both ECS's books
// and what the agent holds to the cards.
func (l *law) stands(t *rapid.T, f *sim.Fleet) {
	booked, held, used := map[gpu.UUID]gpu.MiB{}, map[gpu.UUID]gpu.MiB{}, map[gpu.UUID]gpu.MiB{}
	clients := map[gpu.UUID]int{}
	for _, x := range f.Tasks() {
		for _, c := range x.Cards {
			if x.Desired != "STOPPED" {
				booked[c.UUID] += x.Definition.Memory()
			}
		}
		for _, p := range x.Processes {
			used[p.Card.UUID] += p.Now
			if p.Client {
				clients[p.Card.UUID]++
			}
			if p.Limit > 0 && p.Now > p.Limit {
				t.Fatalf("process %d has %v over its limit of %v", p.PID, p.Now, p.Limit)
			}
		}
	}
	for _, x := range f.Truth() {
		if !x.Waiting {
			held[x.Card] += x.Memory
		}
	}
	for _, h := range f.Hosts() {
		for _, c := range h.Cards {
			n, mem, whole := c.Booked()
			switch {
			case mem != booked[c.UUID]:
				t.Fatalf("card %s: %v booked, its tasks make %v", c.UUID, mem, booked[c.UUID])
			case mem > c.Total || held[c.UUID] > c.Total || c.Used() > c.Total:
				t.Fatalf("card %s of %v: %v booked, %v held, %v used", c.UUID, c.Total, mem, held[c.UUID], c.Used())
			case whole && n > 1:
				t.Fatalf("card %s is dedicated and has %d tasks", c.UUID, n)
			case c.Used() != used[c.UUID]:
				t.Fatalf("card %s: %v used, its processes make %v", c.UUID, c.Used(), used[c.UUID])
			case clients[c.UUID] > sim.MaxClients:
				t.Fatalf("card %s has %d clients", c.UUID, clients[c.UUID])
			}
		}
	}
}
