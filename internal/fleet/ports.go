package fleet

import (
	"context"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Clock tells the time: the wall clock in Lambda, virtual time in a simulation,
// the latest event's time in a replay.
type Clock func() time.Time

// Definitions brings task definitions. A definition that does not exist is
// ledger.ErrNotFound; any other error means that it could not be had now.
type Definitions interface {
	Definition(ctx context.Context, arn string) (ledger.Definition, error)
}

// TaskOracle asks ECS what is true of tasks now.
type TaskOracle interface {
	// Tasks describes up to 100 tasks of one cluster. missing are those that ECS
	// does not know any more.
	Tasks(ctx context.Context, cluster string, arns []string) (found []SeenTask, missing []string, err error)
}

// SeenTask is a task as ECS describes it.
type SeenTask struct {
	Host       ledger.HostID // zero Instance: not placed
	Task       ledger.Task   // shares not sized yet
	Containers []SeenContainer
}

// SeenContainer is a container of it, with the cards ECS named.
type SeenContainer struct {
	Name string
	GPUs []string
}

// FailureQueue takes what can never be handled, with the reason, so that nothing
// is lost. It must be durable: the message is acknowledged after it returned nil.
type FailureQueue interface {
	Put(ctx context.Context, m Message, reason string) error
}
