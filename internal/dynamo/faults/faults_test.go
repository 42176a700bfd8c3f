package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/embedded"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/faults"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// quick keeps the number of attempts and shortens the waits between them.
func quick(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.MaxAttempts, r.MaxBackoff, r.RateLimiter = 5, 2*time.Millisecond, ratelimit.None
	})
}

// fixed lets one kind of fault happen to the nth call of an operation.
func fixed(operation string, f faults.Fault, times int) *faults.Injector {
	return &faults.Injector{Next: func(op string) faults.Fault {
		if op == operation && times > 0 {
			times--
			return f
		}
		return faults.None
	}}
}

func TestAThrottleAndABrokenCallAreTriedAgain(t *testing.T) {
	for _, f := range []faults.Fault{faults.Throttle, faults.LostCall} {
		i := fixed("PutItem", f, 2)
		s, done, err := embedded.Open(context.Background(), i.Client, quick)
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Commit(context.Background(), ledgertest.Full(1, 1, 1))
		if err != nil || h.Revision != 1 || i.Injected(f) != 2 {
			t.Errorf("fault %d: %v at revision %d after %d faults", f, err, h.Revision, i.Injected(f))
		}
		done()
	}
}

func TestATableThatThrottlesForLongIsToldSo(t *testing.T) {
	i := fixed("PutItem", faults.Throttle, 1000)
	s, done, err := embedded.Open(context.Background(), i.Client, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := s.Commit(context.Background(), ledgertest.Full(1, 1, 1)); !errors.Is(err, ledger.ErrThrottled) {
		t.Errorf("%v", err)
	}
}

// A reply lost after the write makes the SDK write again, which the fence refuses:
// the caller loads and sees its own work.
func TestALostReplyIsAConflictAgainstOneself(t *testing.T) {
	i := fixed("PutItem", faults.LostReply, 0)
	s, done, err := embedded.Open(context.Background(), i.Client, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	h, err := s.Commit(context.Background(), ledgertest.Full(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	i.Next = fixed("PutItem", faults.LostReply, 1).Next
	if _, err := s.Commit(context.Background(), h); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("%v", err)
	}
	got, err := s.Host(context.Background(), h.ID)
	if err != nil || got.Revision != 2 {
		t.Errorf("%v at revision %d: the write had happened", err, got.Revision)
	}
}

func message(task, host, version int, last, desired string) fleet.Message {
	const head = "arn:aws:ecs:us-east-1:111122223333:"
	return fleet.Message{ID: fmt.Sprint(task, "-", version), Body: fmt.Appendf(nil, `{"version":"0","id":"e","detail-type":"ECS Task State Change","source":"aws.ecs","account":"111122223333","time":"2026-12-01T03:00:00Z","region":"us-east-1",
"detail":{"clusterArn":"%scluster/gpu-prod","taskArn":"%stask/gpu-prod/%032x","containerInstanceArn":%q,"taskDefinitionArn":"%stask-definition/chat:1","launchType":"EC2","lastStatus":%q,"desiredStatus":%q,"version":%d,"stoppedAt":"2026-12-01T03:00:00Z","containers":[{"name":"app","gpuIds":[%q]}]}}`,
		head, head, task, ledgertest.HostID(host).Instance, head, last, desired, version, ledgertest.Card(host))}
}

// Whatever the table does, an event that failed comes again, and in the end the
// ledger is what it would have been.
func TestTheLedgerOutlivesEverySortOfFault(t *testing.T) {
	var msgs []fleet.Message
	for task := 1; task <= 24; task++ {
		for v, s := range [][2]string{{"PENDING", "RUNNING"}, {"RUNNING", "RUNNING"}, {"RUNNING", "STOPPED"}, {"STOPPED", "STOPPED"}} {
			if task%3 == 0 && v > 1 {
				continue
			}
			msgs = append(msgs, message(task, task%4, v+1, s[0], s[1]))
		}
	}
	want := memstore.New()
	over(want).Batch(context.Background(), msgs)
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		i := &faults.Injector{Next: func(op string) faults.Fault {
			if op == "CreateTable" || op == "DescribeTable" || op == "DeleteTable" || rng.IntN(100) >= 12 {
				return faults.None
			}
			return faults.Fault(1 + rng.IntN(3))
		}}
		s, done, err := embedded.Open(context.Background(), i.Client, quick)
		if err != nil {
			t.Fatal(err)
		}
		todo := append([]fleet.Message(nil), msgs...)
		rng.Shuffle(len(todo), func(a, b int) { todo[a], todo[b] = todo[b], todo[a] })
		for rounds := 0; len(todo) > 0; rounds++ {
			if rounds > 500 {
				t.Fatalf("seed %d: %d messages never succeed", seed, len(todo))
			}
			n := min(len(todo), 1+rng.IntN(9))
			var again []fleet.Message
			for k, r := range over(s).Batch(context.Background(), todo[:n]) {
				if r.Outcome == fleet.Failed {
					again = append(again, todo[k])
				}
			}
			todo = append(todo[n:], again...)
		}
		if i.Injected(faults.LostReply) == 0 || i.Injected(faults.Throttle) == 0 {
			t.Errorf("seed %d met no fault", seed)
		}
		i.Next = func(string) faults.Fault { return faults.None }
		for host := range 4 {
			a, err := want.Host(context.Background(), ledgertest.HostID(host))
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.Host(context.Background(), ledgertest.HostID(host))
			if diff := cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ledger.Host{}, "Revision")); err != nil || diff != "" {
				t.Fatalf("seed %d, host %d: %v (-without faults +with)\n%s", seed, host, err, diff)
			}
		}
		done()
	}
}

func over(s ledger.Store) *fleet.Ingest {
	return &fleet.Ingest{Store: s, Policy: ledger.DefaultPolicy(), Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
}
