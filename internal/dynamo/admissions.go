package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Admission implements admission.Records.
func (s *Store) Admission(ctx context.Context, arn string) (admission.Record, error) {
	var r admission.Record
	item, err := s.get(ctx, admissionKey(arn))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &r); err != nil {
		return r, fmt.Errorf("admission of %s: %w", arn, err)
	}
	return r, nil
}

// SaveAdmission implements admission.Records.
func (s *Store) SaveAdmission(ctx context.Context, r admission.Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(b) > maxItem {
		return fmt.Errorf("admission of %s takes %d bytes: %w", r.ARN, len(b), ledger.ErrTooLarge)
	}
	item := admissionKey(r.ARN).item()
	item[attrJ] = text(string(b))
	return s.put(ctx, item, "admission of %s", r.ARN)
}

var _ admission.Records = (*Store)(nil)
