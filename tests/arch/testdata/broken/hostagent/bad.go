// Package hostagent is a sample that breaks the rules.
package hostagent

import "github.com/bulkhead-ecs/bulkhead/internal/fleet"

var _ = fleet.X
