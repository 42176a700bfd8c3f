package admission

import (
	"context"
	"time"
)

// Record is what was found in one registered revision of a task definition. A revision never changes, so it is
// judged once for each set of rules.
type Record struct {
	ARN      string // of the revision, with its number
	RuleSet  string // of the rules and the policy that judged it
	JudgedAt time.Time
	Findings []Finding
	// Announced says that the findings were published. Until then they are published again.
	Announced bool
}

// Records keep one record a revision. admissiontest.Run is the contract.
type Records interface {
	// Admission reads the record of a revision with the newest state. ledger.ErrNotFound.
	Admission(ctx context.Context, arn string) (Record, error)
	// SaveAdmission writes the record whole; the last writer's counts, since all write the same.
	SaveAdmission(ctx context.Context, r Record) error
}
