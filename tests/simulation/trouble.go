package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

// errCrash is what a handler that has died meets at every further call: it can do
// nothing any more, and says nothing to anyone.
var errCrash = errors.New("the function died")

// fate is when the running invocation dies: after so many calls, before or behind
// the effect of the last. Zero never dies.
type fate struct {
	calls  int
	before bool
	dead   bool
}

// step is one call of the invocation; it returns errCrash when it may not happen,
// and after reports that its effect happens and its answer does not come.
func (f *fate) step() (after bool, err error) {
	if f.dead {
		return false, errCrash
	}
	if f.calls == 0 {
		return false, nil
	}
	if f.calls--; f.calls > 0 {
		return false, nil
	}
	f.dead = true
	if f.before {
		return false, errCrash
	}
	return true, nil
}

// troubled is the table as handlers see it.
type troubled struct {
	*memstore.Store
	rng    *rand.Rand
	fate   *fate
	on     bool // conflicts, throttles, lost replies
	old    bool // the running release is the one before this
	images *[]fleet.Image
	clock  fleet.Clock
	// between is called between calls of a sweep, for another one to run there.
	between func()
}

func (s *troubled) trouble() error {
	if !s.on {
		return nil
	}
	switch s.rng.IntN(60) {
	case 0:
		return ledger.ErrThrottled
	case 1:
		return ledger.ErrConflict
	}
	return nil
}

// Host implements ledger.Store.
func (s *troubled) Host(ctx context.Context, id ledger.HostID) (ledger.Host, error) {
	after, err := s.fate.step()
	if err != nil {
		return ledger.Host{}, err
	}
	if s.between != nil {
		s.between()
	}
	if s.on && s.rng.IntN(80) == 0 {
		return ledger.Host{}, ledger.ErrThrottled
	}
	h, err := s.Store.Host(ctx, id)
	if after {
		err = errCrash
	}
	return s.asRead(h), err
}

// asRead is a host as the running release understands it: the one before this
// knows nothing of cards kept from an earlier saying.
func (s *troubled) asRead(h ledger.Host) ledger.Host {
	if !s.old {
		return h
	}
	tasks := make([]ledger.Task, len(h.Tasks))
	for i, t := range h.Tasks {
		t.Kept = nil
		tasks[i] = t
	}
	h.Tasks = tasks
	return h
}

// Commit implements ledger.Store.
func (s *troubled) Commit(ctx context.Context, h ledger.Host) (ledger.Host, error) {
	after, err := s.fate.step()
	if err != nil {
		return h, err
	}
	if err := s.trouble(); err != nil {
		return h, err
	}
	before, _ := s.Store.Host(ctx, h.ID)
	done, err := s.Store.Commit(ctx, h)
	if err != nil {
		return done, err
	}
	*s.images = append(*s.images, fleet.Image{Before: before, After: done, At: s.clock()})
	if after {
		return done, errCrash
	}
	if s.on && s.rng.IntN(60) == 0 {
		return h, fmt.Errorf("the reply is lost: %w", ledger.ErrThrottled)
	}
	return done, nil
}

// Remove implements ledger.Store.
func (s *troubled) Remove(ctx context.Context, h ledger.Host) error {
	after, err := s.fate.step()
	if err != nil {
		return err
	}
	if err := s.Store.Remove(ctx, h); err != nil {
		return err
	}
	*s.images = append(*s.images, fleet.Image{Before: h, At: s.clock()})
	if after {
		return errCrash
	}
	return nil
}

// Index implements ledger.Store.
func (s *troubled) Index(ctx context.Context, h ledger.Host) error {
	after, err := s.fate.step()
	if err != nil {
		return err
	}
	if err := s.trouble(); err != nil {
		return err
	}
	if err := s.Store.Index(ctx, h); err != nil || !after {
		return err
	}
	return errCrash
}

// HostsOfInstance implements ledger.Store.
func (s *troubled) HostsOfInstance(ctx context.Context, ec2 string) ([]ledger.HostID, error) {
	if _, err := s.fate.step(); err != nil {
		return nil, err
	}
	return s.Store.HostsOfInstance(ctx, ec2)
}

// Record implements ledger.Store.
func (s *troubled) Record(ctx context.Context, es []ledger.Entry) error {
	after, err := s.fate.step()
	if err != nil {
		return err
	}
	if s.on && s.rng.IntN(60) == 0 {
		return ledger.ErrThrottled
	}
	if err := s.Store.Record(ctx, es); err != nil || !after {
		return err
	}
	return errCrash
}

// stale asks ECS, dies with its invocation, and sometimes answers what was true a
// few minutes ago.
type stale struct {
	fleet.ECS
	rng   *rand.Rand
	fate  *fate
	on    bool
	clock fleet.Clock
	tasks map[string]past[fleet.SeenTask]
	hosts map[string]past[fleet.SeenHost]
}

type past[T any] struct {
	at   time.Time
	what T
}

// oldest is how old an answer may be.
const oldest = 4 * time.Minute

func remember[T any](s *stale, m map[string]past[T], key string, now T) T {
	old, known := m[key]
	age := s.clock().Sub(old.at)
	if s.on && known && age <= oldest && s.rng.IntN(25) == 0 {
		return old.what
	}
	if !known || age > oldest/2 {
		m[key] = past[T]{s.clock(), now}
	}
	return now
}

// Tasks implements fleet.ECS.
func (s *stale) Tasks(ctx context.Context, cluster string, arns []string) ([]fleet.SeenTask, []string, error) {
	if _, err := s.fate.step(); err != nil {
		return nil, nil, err
	}
	found, missing, err := s.ECS.Tasks(ctx, cluster, arns)
	for i, t := range found {
		found[i] = remember(s, s.tasks, t.Task.ARN, t)
	}
	return found, missing, err
}

// DescribeHosts implements fleet.ECS.
func (s *stale) DescribeHosts(ctx context.Context, cluster string, arns []string) ([]fleet.SeenHost, []string, error) {
	if _, err := s.fate.step(); err != nil {
		return nil, nil, err
	}
	found, missing, err := s.ECS.DescribeHosts(ctx, cluster, arns)
	for i, h := range found {
		found[i] = remember(s, s.hosts, h.ID.Instance, h)
	}
	return found, missing, err
}

// inProcess carries requests to a handler without a network.
type inProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper. A handler that breaks the connection off
// is a timeout to its caller.
func (t inProcess) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() != nil {
			resp, err = nil, errors.New("connection reset by peer")
		}
	}()
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result(), nil
}
