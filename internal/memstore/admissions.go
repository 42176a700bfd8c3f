package memstore

import (
	"context"
	"slices"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Admissions keep admission records in memory. The zero value is ready.
type Admissions struct {
	mu   sync.Mutex
	byID map[string]admission.Record
}

// Admission implements admission.Records.
func (s *Admissions) Admission(_ context.Context, arn string) (admission.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byID[arn]
	if !ok {
		return r, ledger.ErrNotFound
	}
	r.Findings = slices.Clone(r.Findings)
	return r, nil
}

// SaveAdmission implements admission.Records.
func (s *Admissions) SaveAdmission(_ context.Context, r admission.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]admission.Record{}
	}
	r.Findings = slices.Clone(r.Findings)
	s.byID[r.ARN] = r
	return nil
}

var _ admission.Records = (*Admissions)(nil)
