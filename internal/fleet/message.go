package fleet

import "github.com/bulkhead-ecs/bulkhead/internal/ledger"

// Message is one carried event: the body is the EventBridge envelope.
type Message struct {
	ID   string
	Body []byte
}

// Outcome of one message.
type Outcome string

// What became of a message. Only Failed asks the carrier to bring it again.
const (
	Applied   Outcome = "applied"
	Duplicate Outcome = "duplicate"
	Stale     Outcome = "stale"
	Ignored   Outcome = "ignored"
	Unknown   Outcome = "unknown"
	Rejected  Outcome = "rejected"
	Failed    Outcome = "failed"
)

// Reply says what became of one message.
type Reply struct {
	ID      string
	Outcome Outcome
	// Token and Text say why, for Ignored, Rejected and Failed.
	Token, Text string
	Err         error // of Failed
}

// Counts of a batch, by outcome.
type Counts map[Outcome]int

// Count adds up replies.
func Count(rs []Reply) Counts {
	c := Counts{}
	for _, r := range rs {
		c[r.Outcome]++
	}
	return c
}

func outcomeOf(r ledger.Result) Outcome {
	switch r {
	case ledger.Duplicate:
		return Duplicate
	case ledger.Stale:
		return Stale
	}
	return Applied
}
