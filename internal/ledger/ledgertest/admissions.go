package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// RunAdmissions holds a store of admission records against its contract.
func RunAdmissions(t *testing.T, s admission.Records) {
	ctx := context.Background()
	arn := func(n int) string {
		return fmt.Sprintf("arn:aws:ecs:us-east-1:111122223333:task-definition/chat:%d", n)
	}
	if _, err := s.Admission(ctx, arn(1)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("nobody wrote it: %v", err)
	}
	r := admission.Record{ARN: arn(1), RuleSet: "r", JudgedAt: time.Date(2026, 12, 1, 3, 0, 0, 1e6, time.UTC),
		Findings: []admission.Finding{{Rule: "BH101", Severity: admission.Error, Message: "é", Line: 3, Column: 5, Path: "$", Container: "a"}}}
	for _, announced := range []bool{false, true} {
		r.Announced = announced
		if err := s.SaveAdmission(ctx, r); err != nil {
			t.Fatal(err)
		}
		got, err := s.Admission(ctx, arn(1))
		if err != nil || !cmp.Equal(got, r, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(admission.Finding{})) {
			t.Fatalf("%v\n%s", err, cmp.Diff(r, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(admission.Finding{})))
		}
	}
	if _, err := s.Admission(ctx, arn(11)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("another revision is found: %v", err)
	}
	large := admission.Record{ARN: arn(2)}
	for range 400 {
		large.Findings = append(large.Findings, admission.Finding{Rule: "BH120", Message: strings.Repeat("x", 2000)})
	}
	if err := s.SaveAdmission(ctx, large); err != nil && !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("800 kB: %v", err)
	}
}
