// Package memstore keeps the ledger in memory: for replay, tests and simulations.
//
// It keeps the same contract as the DynamoDB store and passes the same suite. A
// Host's slices are never written in place by package ledger, so values are
// shared with callers without copying.
package memstore

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Store is a ledger.Store in memory. The zero value is not usable; see New.
type Store struct {
	mu        sync.Mutex
	hosts     map[string]map[string]ledger.Host // cluster → instance → host
	order     map[string][]string               // cluster → instances, sorted
	instances map[string]ranks
	cards     map[gpu.UUID]ranks
	defs      map[string]ledger.Definition
	journal   map[ledger.HostID][]ledger.Entry
	bookmarks map[string]string
	health    map[string]vitals.Record
	usages    map[usageKey]sizing.Usage
	// PageSize is how many hosts or entries one page holds.
	PageSize int
}

// New makes an empty store.
func New() *Store {
	return &Store{hosts: map[string]map[string]ledger.Host{}, order: map[string][]string{}, instances: map[string]ranks{},
		cards: map[gpu.UUID]ranks{}, defs: map[string]ledger.Definition{}, journal: map[ledger.HostID][]ledger.Entry{},
		bookmarks: map[string]string{}, health: map[string]vitals.Record{}, PageSize: 250}
}

// Host implements ledger.Store.
func (s *Store) Host(_ context.Context, id ledger.HostID) (ledger.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.hosts[id.Cluster][id.Instance]
	if !ok {
		return ledger.Host{}, ledger.ErrNotFound
	}
	return h, nil
}

// Commit implements ledger.Store.
func (s *Store) Commit(_ context.Context, h ledger.Host) (ledger.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.hosts[h.ID.Cluster][h.ID.Instance]
	if ok != (h.Revision > 0) || ok && old.Revision != h.Revision {
		return h, ledger.ErrConflict
	}
	h.Revision++
	h.Schema, h.Damaged = 0, false
	if !ok {
		if s.hosts[h.ID.Cluster] == nil {
			s.hosts[h.ID.Cluster] = map[string]ledger.Host{}
		}
		list := s.order[h.ID.Cluster]
		i, _ := slices.BinarySearch(list, h.ID.Instance)
		s.order[h.ID.Cluster] = slices.Insert(list, i, h.ID.Instance)
	}
	s.hosts[h.ID.Cluster][h.ID.Instance] = h
	return h, nil
}

// Remove implements ledger.Store.
func (s *Store) Remove(_ context.Context, h ledger.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.hosts[h.ID.Cluster][h.ID.Instance]
	if !ok || old.Revision != h.Revision {
		return ledger.ErrConflict
	}
	delete(s.hosts[h.ID.Cluster], h.ID.Instance)
	list := s.order[h.ID.Cluster]
	if i, ok := slices.BinarySearch(list, h.ID.Instance); ok {
		s.order[h.ID.Cluster] = slices.Delete(list, i, i+1)
	}
	delete(s.instances[h.Fixed.EC2InstanceID], h.ID)
	for _, u := range h.Cards() {
		delete(s.cards[u], h.ID)
	}
	return nil
}

// Hosts implements ledger.Store.
func (s *Store) Hosts(_ context.Context, cluster string, after ledger.Cursor, limit int) ([]ledger.Host, ledger.Cursor, error) {
	from, err := place(after)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.order[cluster]
	i, found := slices.BinarySearch(list, from)
	if found {
		i++
	}
	n := s.PageSize
	if limit > 0 {
		n = min(n, limit)
	}
	var out []ledger.Host
	for _, name := range list[i:min(i+n, len(list))] {
		out = append(out, s.hosts[cluster][name])
	}
	if i+n >= len(list) {
		return out, "", nil
	}
	return out, cursor(list[i+n-1]), nil
}

// A cursor names the last element given, so that it stays right when others come
// and go.
func cursor(last string) ledger.Cursor {
	return ledger.Cursor(base64.RawURLEncoding.EncodeToString([]byte("m1:" + last)))
}

func place(c ledger.Cursor) (string, error) {
	if c == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	name, ok := strings.CutPrefix(string(b), "m1:")
	if err != nil || !ok {
		return "", ledger.ErrCursor
	}
	return name, nil
}

// Clusters implements ledger.Store.
func (s *Store) Clusters(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for c := range s.order {
		out = append(out, c)
	}
	slices.Sort(out)
	return out, nil
}

// Definition implements ledger.Store.
func (s *Store) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.defs[arn]
	if !ok {
		return d, ledger.ErrNotFound
	}
	d.Containers = slices.Clone(d.Containers)
	return d, nil
}

// SaveDefinition implements ledger.Store.
func (s *Store) SaveDefinition(_ context.Context, d ledger.Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Containers = slices.Clone(d.Containers)
	s.defs[d.ARN] = d
	return nil
}

// Record implements ledger.Store.
func (s *Store) Record(_ context.Context, entries []ledger.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		list := s.journal[e.Host]
		i, found := slices.BinarySearchFunc(list, e, compareEntries)
		if found {
			list[i] = e
			continue
		}
		s.journal[e.Host] = slices.Insert(list, i, e)
	}
	return nil
}

func compareEntries(a, b ledger.Entry) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Revision, b.Revision))
}

// Journal implements ledger.Store.
func (s *Store) Journal(_ context.Context, id ledger.HostID, from, to time.Time, after ledger.Cursor) ([]ledger.Entry, ledger.Cursor, error) {
	last, err := place(after)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ledger.Entry
	for _, e := range s.journal[id] {
		if e.At.Before(from) || !e.At.Before(to) || last != "" && key(e) <= last {
			continue
		}
		if len(out) == s.PageSize {
			return out, cursor(key(out[len(out)-1])), nil
		}
		out = append(out, e)
	}
	return out, "", nil
}

// key orders entries as text: fixed-width time, then revision.
func key(e ledger.Entry) string {
	return e.At.UTC().Format("2006-01-02T15:04:05.000000000") + "/" + leftPad(e.Revision)
}

func leftPad(n int64) string {
	const width = 19
	digits := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return string(digits)
}

// Bookmark keeps where a sweep stopped.
func (s *Store) Bookmark(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bookmarks[name], nil
}

// SaveBookmark implements the other half.
func (s *Store) SaveBookmark(_ context.Context, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bookmarks[name] = value
	return nil
}

var _ ledger.Store = (*Store)(nil)
