package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// registered is the event of host n, which runs on an EC2 instance.
func registered(n, version int, status, ec2 string, at time.Time) Message {
	return Message{ID: fmt.Sprintf("host %d v%d", n, version), Body: fmt.Appendf(nil, `{"id":"h%d-%d","detail-type":"ECS Container Instance State Change",
		"source":"aws.ecs","account":"111122223333","region":"us-east-1","time":%q,"detail":{"containerInstanceArn":%q,"clusterArn":%q,"ec2InstanceId":%q,
		"status":%q,"agentConnected":true,"version":%d,"registeredAt":"2026-12-01T02:%02d:00Z","registeredResources":[{"name":"GPU","type":"STRINGSET","stringSetValue":[%q]}]}}`,
		n, version, at.Format(time.RFC3339), instance(n), cluster, ec2, status, version, n, string(card))}
}

// notice tells of about an EC2 instance.
func notice(source, kind, ec2, state string, at time.Time) Message {
	return Message{ID: ec2 + " " + kind + state, Body: fmt.Appendf(nil, `{"id":"n","detail-type":%q,"source":%q,"account":"111122223333","region":"us-east-1","time":%q,"detail":{"instance-id":%q,"state":%q}}`,
		kind, source, at.Format(time.RFC3339), ec2, state)}
}

// permutations calls f with every order of n things.
func permutations(n int, f func(order []int)) {
	order := make([]int, 0, n)
	var next func()
	next = func() {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				next()
				order = order[:len(order)-1]
			}
		}
	}
	next()
}

// An instance can register again under a new container instance ARN, and what EC2
// says of the instance is then true of both. Every order of the events, in one
// batch or each by itself, gives the same hosts.
func TestEveryRegistrationOfAnInstanceHearsOfItsEndInAnyOrder(t *testing.T) {
	at := newWorld().now
	for name, msgs := range map[string][]Message{
		"registered twice, then terminated": {registered(1, 1, "ACTIVE", "i-0a", at), registered(2, 1, "ACTIVE", "i-0a", at),
			notice("aws.ec2", "EC2 Instance State-change Notification", "i-0a", "terminated", at)},
		"ended once, then warned": {registered(1, 9, "INACTIVE", "i-0a", at), registered(2, 1, "ACTIVE", "i-0a", at),
			notice("aws.ec2", "EC2 Spot Instance Interruption Warning", "i-0a", "", at)},
		"moved to another instance": {registered(1, 3, "ACTIVE", "i-0a", at), registered(1, 4, "ACTIVE", "i-0b", at),
			notice("aws.ec2", "EC2 Instance State-change Notification", "i-0a", "terminated", at),
			notice("aws.ec2", "EC2 Spot Instance Interruption Warning", "i-0b", "", at)},
	} {
		var want []ledger.View
		permutations(len(msgs), func(order []int) {
			for _, together := range []bool{true, false} {
				w := newWorld()
				in := w.ingest()
				var batch []Message
				for _, i := range order {
					batch = append(batch, msgs[i])
				}
				batch = append(batch, batch[0]) // brought twice
				size := 1
				if together {
					size = len(batch)
				}
				for part := range slices.Chunk(batch, size) {
					for _, r := range in.Batch(context.Background(), part) {
						if r.Err != nil || r.Outcome == Rejected {
							t.Fatalf("%s: %+v", name, r)
						}
					}
				}
				got := w.views(t)
				if want == nil {
					want = got
				}
				if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("%s: order %v, together %v (-first +this)\n%s", name, order, together, d)
				}
			}
		})
		t.Logf("%s: %d hosts", name, len(want))
	}
}

// views are the hosts of the ledger without their revisions.
func (w *world) views(t *testing.T) []ledger.View {
	t.Helper()
	var out []ledger.View
	if err := EachHost(context.Background(), w.Store, cluster, func(h ledger.Host) error {
		h.Revision = 0
		out = append(out, h.View(w.now))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestALateWordOfAnEndedRegistrationHidesNoTenants(t *testing.T) {
	w := newWorld()
	in := w.ingest()
	for _, m := range []Message{registered(2, 1, "ACTIVE", "i-0a", w.now), event(1, 2, 1, "RUNNING", "RUNNING", w.now, chat), registered(1, 9, "INACTIVE", "i-0a", w.now)} {
		in.Batch(context.Background(), []Message{m})
	}
	q := Query{Store: w.Store, Clock: func() time.Time { return w.now }}
	v, d, err := q.Card(context.Background(), card)
	if err != nil || v.Host.ID != host(2) || len(d.Shares) == 0 {
		t.Errorf("the card is found on %s with %d tenants, %v", v.Host.ID.Instance, len(d.Shares), err)
	}
	if v, err := q.HostOfInstance(context.Background(), "i-0a"); err != nil || v.Host.ID != host(2) {
		t.Errorf("the instance is found as %s, %v", v.Host.ID.Instance, err)
	}
}

// What was said last in a directory, or answered last by ECS, is not the newest.
func TestSayingsOfOneTaskAreJoinedByVersionInAnyOrder(t *testing.T) {
	said := func(version int64, phase ledger.Phase, n int) SeenTask {
		x := SeenTask{Host: host(n), Task: ledger.Task{ARN: taskARN(1), Version: version, Phase: phase, LastStatus: []string{"RUNNING", "", "STOPPED"}[phase], Definition: chat}}
		if phase == ledger.PhaseActive {
			x.Containers = []SeenContainer{{Name: "app", GPUs: []string{string(card)}}}
		}
		return x
	}
	hosts := func(version int64, status string) SeenHost {
		return SeenHost{ID: host(1), Seen: ledger.HostSeen{Registration: ledger.Registration{Version: version, Status: status}, Fixed: ledger.Fixed{EC2InstanceID: "i-0a"}}}
	}
	told := Told{Hosts: []SeenHost{hosts(9, "DRAINING"), hosts(5, "ACTIVE")}, Tasks: []SeenTask{said(5, ledger.PhaseStopped, 1), said(3, ledger.PhaseActive, 1), said(6, ledger.PhaseActive, 2)}}
	var want []ledger.View
	for range 2 {
		w := newWorld()
		s := w.sweep()
		w.ingest().Batch(context.Background(), []Message{event(1, 1, 1, "RUNNING", "RUNNING", w.now, chat)})
		if err := s.Merge(context.Background(), told); err != nil {
			t.Fatal(err)
		}
		got := w.views(t)
		if want == nil {
			want = got
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("(-one order +the other)\n%s", d)
		}
		if held(t, w, 1) != 0 || got[0].Host.Registration.Status != "DRAINING" {
			t.Errorf("host 1 is %s and holds %v", got[0].Host.Registration.Status, held(t, w, 1))
		}
		if held(t, w, 2) == 0 {
			t.Error("what was said of host 2 is not kept there")
		}
		slices.Reverse(told.Tasks)
		slices.Reverse(told.Hosts)
	}
}

func TestAHostTooLargeForItsItemGivesUpItsOldestTombstones(t *testing.T) {
	w := newWorld()
	w.faults = []fault{{call: "commit", err: ledger.ErrTooLarge}, {call: "commit", err: ledger.ErrTooLarge}}
	in := w.ingest()
	var msgs []Message
	for n := 1; n <= 8; n++ {
		msgs = append(msgs, event(n, 1, 2, "STOPPED", "STOPPED", w.now.Add(time.Duration(n)*time.Second-time.Minute), chat))
	}
	msgs = append(msgs, event(9, 1, 1, "RUNNING", "RUNNING", w.now, chat))
	for _, r := range in.Batch(context.Background(), msgs) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	h, err := w.Store.Host(context.Background(), host(1))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, task := range h.Tasks {
		left = append(left, task.ARN)
	}
	if want := []string{taskARN(7), taskARN(8), taskARN(9)}; !slices.Equal(left, want) {
		t.Errorf("left %v, want the two newest tombstones and the task that runs", left)
	}
}
