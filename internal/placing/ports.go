package placing

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Clock tells the time.
type Clock func() time.Time

// Definitions brings task definitions. One that does not exist is
// ledger.ErrNotFound.
type Definitions interface {
	Definition(ctx context.Context, arn string) (ledger.Definition, error)
}

// Ask is one StartTask on one host.
type Ask struct {
	Cluster, Instance, Definition, StartedBy, Group string
	Overrides                                       Overrides
}

// Tasks are the calls that start tasks. An implementation keeps to ECS's budget, and
// never repeats StartTask by itself after an answer was lost.
type Tasks interface {
	// StartTask returns the task's ARN. A *NotStarted is ECS's own no: nothing was
	// started. Any other error leaves it open.
	StartTask(ctx context.Context, a Ask) (string, error)
	// StartedBy lists the tasks that were started by an id and are not stopping: ECS
	// lists no others by it. The ledger knows those, by their events.
	StartedBy(ctx context.Context, cluster, id string) ([]string, error)
}

// NotStarted is ECS's refusal to start a task.
type NotStarted struct {
	Code string // ECS's own word: RESOURCE:GPU, AGENT, ClientException …
	Text string
	// Host is true when the refusal is about this host, so that another may do.
	Host bool
	// Later is true when ECS refuses for now: it throttles.
	Later bool
}

// Error is ECS's word and sentence.
func (n *NotStarted) Error() string { return n.Code + ": " + n.Text }

// Queue brings a request to its cluster's placer, at least once.
type Queue interface {
	Send(ctx context.Context, cluster, id string) error
}

// ErrLater asks the carrier to bring the message again: copies are still open.
var ErrLater = errors.New("copies are still open: bring the request again")
