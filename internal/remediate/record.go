package remediate

import (
	"context"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// Record is one case as the table keeps it, with what the case's own host will not
// tell any more once it has left its group. Case.Version is the store's fence.
type Record struct {
	Cluster string      // ARN
	Group   string      `json:",omitempty"` // Auto Scaling group, remembered: a detached instance does not name it
	Cards   int         `json:",omitempty"` // cards of the host when the case was opened
	Agent   bool        `json:",omitempty"` // our agent reported from it
	Kept    time.Time   // when it was last found to be needed: a store drops it KeepFor later
	Case    remedy.Case // the case
}

// KeepFor is how long a final case stays: far longer than any budget looks back. A
// case whose fault still stands is kept anew, or the fault would be answered twice.
const KeepFor = 30 * 24 * time.Hour

// Control is what holds for a whole cluster: one item, so that a pause, a breaker
// and what it counted cannot disagree.
type Control struct {
	Cluster  string
	Revision int64              // the store's fence; zero when none is stored
	Paused   remedy.Word        // zero: not
	Breakers []remedy.Breaker   `json:",omitempty"`
	Seen     []remedy.Detection `json:",omitempty"` // of the breaker's window, newest last
	Notices  []remedy.Notice    `json:",omitempty"` // stored, not told yet
	Cordons  []Cordon           `json:",omitempty"` // people's, by host
}

// Cordon is a person's word about one host. A standing one (Want DRAINING) is never
// undone by a case.
type Cordon struct {
	Host     string // container instance ARN
	Instance string // EC2 id
	Want     string // remedy.StatusDraining, or remedy.StatusActive: take it back
	Word     remedy.Word
	Decision string    // of the audit trail
	Done     time.Time // zero: still to be carried out
	Tries    int       `json:",omitempty"`
	Last     time.Time
	Detail   string `json:",omitempty"` // of the last try that failed
}

// Bounds of the control item, so that it stays far below 400 KB.
const (
	maxSeen    = 2000
	maxCordons = 500
	maxNotices = 50
)

// Decision is one line of the audit trail: a person's word, or a step with what
// allowed it and what came of it. It is written before the act and again after.
type Decision struct {
	ID      string // sorts by time
	At      time.Time
	Cluster string
	Actor   string          // who signed the request, or "bulkhead"
	Action  string          // "cancel", "pause", …, or a step's kind
	Subject string          // case, host, breaker or cluster
	Case    string          `json:",omitempty"`
	Number  int64           `json:",omitempty"` // of the case's decisions
	Reason  string          // the person's, or the step's
	Numbers []remedy.Number `json:",omitempty"` // what allowed a step
	Result  string          `json:",omitempty"` // empty: begun, not known
	Detail  string          `json:",omitempty"`
	Until   time.Time       // when the result was known
}

// Store keeps cases, controls and decisions. casetest.Run is its contract. Errors
// are the ledger's: ErrNotFound, ErrConflict, ErrThrottled, ErrCursor.
type Store interface {
	// Cases are all that are kept of a cluster, open and final, by id. It is a strong
	// read: two passes that take the last place of a budget must see each other.
	Cases(ctx context.Context, cluster string) ([]Record, error)
	Case(ctx context.Context, cluster, id string) (Record, error)
	// SaveCase writes a case whose Case.Version is the stored one (zero: none is) and
	// returns it at the next version.
	SaveCase(ctx context.Context, r Record) (Record, error)
	// Control is zero at revision zero when none is stored.
	Control(ctx context.Context, cluster string) (Control, error)
	SaveControl(ctx context.Context, c Control) (Control, error)
	// NoteDecision writes a decision by its id; written again, the later stands.
	NoteDecision(ctx context.Context, d Decision) error
	Decision(ctx context.Context, cluster, id string) (Decision, error)
	// Decisions are those of a cluster, newest first.
	Decisions(ctx context.Context, cluster string, after ledger.Cursor, limit int) ([]Decision, ledger.Cursor, error)
}
