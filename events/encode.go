package events

import (
	"encoding/json"
	"fmt"
)

// Own is the closed set of details that Bulkhead publishes.
type Own interface {
	Detail
	// DetailType is the detail-type that it is published under.
	DetailType() string
	stamped() Own
}

// Encode writes a detail for the bus under its detail-type. It sets the schema
// version, so that no publisher can forget it.
func Encode(d Own) (detailType string, detail json.RawMessage, err error) {
	b, err := json.Marshal(d.stamped())
	if err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", d.DetailType(), err)
	}
	if len(b) > MaxBytes {
		return "", nil, fmt.Errorf("encode %s: %w: %d bytes", d.DetailType(), ErrTooLarge, len(b))
	}
	return d.DetailType(), b, nil
}

// DetailType is TypeShare.
func (ShareChange) DetailType() string { return TypeShare }

func (c ShareChange) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypeHost.
func (HostChange) DetailType() string { return TypeHost }

func (c HostChange) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypeFinding.
func (FindingChange) DetailType() string { return TypeFinding }

func (c FindingChange) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypePlacement.
func (PlacementChange) DetailType() string { return TypePlacement }

func (c PlacementChange) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypeCase.
func (CaseChange) DetailType() string { return TypeCase }

func (c CaseChange) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypeAdmission.
func (AdmissionFinding) DetailType() string { return TypeAdmission }

func (c AdmissionFinding) stamped() Own { c.Schema = SchemaVersion; return c }

// DetailType is TypeBreaker.
func (BreakerChange) DetailType() string { return TypeBreaker }

func (c BreakerChange) stamped() Own { c.Schema = SchemaVersion; return c }
