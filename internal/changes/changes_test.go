package changes

import (
	"context"
	"errors"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

func TestADecoratedStoreKeepsTheContract(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Store { return Notify(memstore.New(), func(_, _ ledger.Host) {}) })
}

func TestEveryCommitIsToldOnceWithBothImages(t *testing.T) {
	type pair struct{ before, after int64 }
	var told []pair
	s := Notify(memstore.New(), func(a, b ledger.Host) { told = append(told, pair{a.Revision, b.Revision}) })
	ctx := context.Background()
	h, err := s.Commit(ctx, ledgertest.Full(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	stale := h
	if h, err = s.Commit(ctx, h); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, stale); !errors.Is(err, ledger.ErrConflict) {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, h); err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || told[0] != (pair{0, 1}) || told[1] != (pair{1, 2}) || told[2] != (pair{2, 0}) {
		t.Errorf("told %v", told)
	}
}
