package remediate

import (
	"context"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Subject is the host that eyes are turned to.
type Subject struct {
	Cluster  string // ARN
	Host     string // container instance ARN
	Instance string // EC2 id
	Group    string // Auto Scaling group, when it is known; else the instance tells
	OptOut   string // the tag that means hands off, as "key=value"
	Evidence string // key prefix of the case's bundle; empty: not looked for
}

// Seen is what AWS says of a host right now. Host has what ECS, EC2, Auto Scaling
// and the bucket know: Gone, Registered, Status, CordonMark, OptOut, TermProtect,
// Lifecycle, HookOurs, Tasks and Evidence. The rest is the caller's to fill.
type Seen struct {
	Host  remedy.HostView
	Group remedy.GroupView
}

// Eyes read the world, anew at each call. What could not be read is an error, never
// an absence: a throttled answer must not look like an instance that is gone.
type Eyes interface {
	Look(ctx context.Context, s Subject) (Seen, error)
	// Launched are the living instances of a group with their launch times.
	Launched(ctx context.Context, group string) ([]remedy.Candidate, error)
}

// Outcome is what came of a step. Pending means that a Run Command still runs.
type Outcome struct {
	Result remedy.Result
	Detail string
}

// Hands take one step. They never decide: what they are told has been confirmed.
type Hands interface {
	// Take takes the step. A Run Command that was sent already under the step's
	// comment is not sent again.
	Take(ctx context.Context, cluster string, s remedy.Step) Outcome
	// Result asks what came of a step's Run Command; Pending when it still runs, or
	// was never sent.
	Result(ctx context.Context, s remedy.Step) Outcome
	// Keep stores a part of the evidence under a key.
	Keep(ctx context.Context, key string, body []byte) error
}

// Assessor judges a host from what its agent reported and from what AWS told, as of
// now. checks are what EC2's status checks said of it, if they were asked.
type Assessor interface {
	Assess(ctx context.Context, h ledger.Host, checks []health.Signal) (vitals.Record, error)
}

// Checks ask EC2 for the status checks of many instances at once, as signals by
// instance.
type Checks interface {
	StatusChecks(ctx context.Context, instances []string) (map[string][]health.Signal, error)
}

// Notice is what a person is told.
type Notice struct {
	Cluster string
	Case    string // or empty
	Subject string // host, or breaker
	Page    bool   // someone must look now; else it is good to know
	Text    string
	At      time.Time
}

// Pager tells people. It must be durable enough for its purpose: after nil the
// notice is not told again.
type Pager interface {
	Tell(ctx context.Context, n Notice) error
}
