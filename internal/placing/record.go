package placing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// KeepFor is how long a request is kept, and its client token means the same.
const KeepFor = 24 * time.Hour

// MaxCount bounds the copies of one request.
const MaxCount = 100

// Mode says which hosts are admissible.
type Mode string

// ModePolicy leaves it to the policy. Robust takes a host only when every card that
// ECS could pick keeps the policy, Optimistic when one does.
const (
	ModePolicy Mode = ""
	Robust     Mode = "robust"
	Optimistic Mode = "optimistic"
)

// Request is what is asked for.
type Request struct {
	Cluster     string // ARN
	ClientToken string // 1 to 64 characters; the same token is the same request for KeepFor
	Definition  string // task definition ARN with its revision
	Count       int    // 1 to MaxCount
	Tier        gpu.Tier
	Group       string // travels to ECS as the task's group; empty is ECS's own
	Mode        Mode
	Overrides   Overrides
}

// Overrides change what a container runs. Sizes cannot be changed: placement and the
// ledger go by the task definition.
type Overrides struct {
	Containers []ContainerOverride `json:"containerOverrides,omitempty"`
}

// ContainerOverride is one container's.
type ContainerOverride struct {
	Name        string     `json:"name"`
	Command     []string   `json:"command,omitempty"`
	Environment []Variable `json:"environment,omitempty"`
}

// Variable is one of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// State is how far a copy is.
type State string

// A copy waits, is asked of ECS, was started, or is given up. Bound is never stored:
// it follows from the ledger, once the task's event named the card.
const (
	Waiting State = "waiting"
	Asked   State = "asked"
	Started State = "started"
	Bound   State = "bound"
	Refused State = "refused" // no host admits it, or ECS would not start it
)

// Final reports whether the placer has nothing more to do for the copy.
func (s State) Final() bool { return s == Started || s == Bound || s == Refused }

// Copy is one task of a request.
type Copy struct {
	// Reservation is the id on the host and ECS's startedBy, the same for every try.
	Reservation string
	State       State
	Host        ledger.HostID
	AskedAt     time.Time // of the newest try
	Tries       int
	Task        string // ARN, once started
	// Tried are the hosts where ECS refused to start it.
	Tried []string
	// Reason is a stable token of a refusal, Text its sentence.
	Reason, Text string
	// Explanation counts why hosts were refused: "5/8 hosts: MemoryShort".
	Explanation string
	GPUs        []gpu.UUID `json:"-"` // read from the ledger, never stored
}

// Record is a kept request with what became of it.
type Record struct {
	ID       string
	Revision int64 // the store's fence; zero: not stored
	Request  Request
	By       string // who signed it
	MadeAt   time.Time
	Copies   []Copy
}

// Done reports whether every copy is final.
func (r Record) Done() bool {
	for _, c := range r.Copies {
		if !c.State.Final() {
			return false
		}
	}
	return true
}

// Until is when the record, and its client token, may be forgotten.
func (r Record) Until() time.Time { return r.MadeAt.Add(KeepFor) }

// Store keeps requests. Errors are the ledger's.
type Store interface {
	// Placement reads a request as it is now. ledger.ErrNotFound.
	Placement(ctx context.Context, id string) (Record, error)
	// SavePlacement writes it when the stored revision is r.Revision (zero: none is
	// stored) and returns it with the next one. ledger.ErrConflict.
	SavePlacement(ctx context.Context, r Record) (Record, error)
}

// idOf makes a request's id of its cluster and token, so that one token is one
// record in any store. With the copy's number it is at most 36 characters, ECS's
// bound of startedBy.
func idOf(cluster, token string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + token))
	return "bhp-" + hex.EncodeToString(sum[:12])
}

func newRecord(q Request, by string, now time.Time) Record {
	r := Record{ID: idOf(q.Cluster, q.ClientToken), Request: q, By: by, MadeAt: now.UTC().Truncate(time.Millisecond)}
	for i := range q.Count {
		r.Copies = append(r.Copies, Copy{Reservation: r.ID + "-" + strconv.Itoa(i), State: Waiting})
	}
	return r
}
