package httpapi

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// CaseDoc is one case: a fault of a host and what is done about it.
type CaseDoc struct {
	ID                   string       `json:"id"`
	ContainerInstanceARN string       `json:"containerInstanceArn"`
	EC2InstanceID        string       `json:"ec2InstanceId"`
	State                string       `json:"state"`
	Resume               string       `json:"resume,omitempty"` // the state that a blocked case goes on from
	Outcome              string       `json:"outcome,omitempty"`
	Cause                string       `json:"cause"`
	GPU                  gpu.UUID     `json:"gpu,omitempty"`
	Action               string       `json:"action,omitempty"`
	Why                  string       `json:"why,omitempty"`
	Planned              bool         `json:"planned,omitempty"`
	Rule                 string       `json:"rule,omitempty"`
	Rung                 int          `json:"rung"` // of the rule's ladder, from 1
	Blocker              string       `json:"blocker,omitempty"`
	BlockerDetail        string       `json:"blockerDetail,omitempty"`
	BlockedSince         *time.Time   `json:"blockedSince,omitempty"`
	Waiting              string       `json:"waiting,omitempty"`
	Held                 *WordDoc     `json:"held,omitempty"`
	InRepair             bool         `json:"inRepair"` // takes a place in the budgets
	Detached             bool         `json:"detached,omitempty"`
	CordonOurs           bool         `json:"cordonOurs,omitempty"`
	Newcomer             string       `json:"newcomer,omitempty"`
	Opened               time.Time    `json:"opened"`
	Since                time.Time    `json:"since"` // in this state
	Closed               *time.Time   `json:"closed,omitempty"`
	MTTRSeconds          int          `json:"mttrSeconds,omitempty"`
	Decision             int64        `json:"decision"`
	Attempts             []AttemptDoc `json:"attempts,omitempty"`
	Trail                []TrailDoc   `json:"trail,omitempty"`
}

// AttemptDoc is one step that was asked for.
type AttemptDoc struct {
	Step   string    `json:"step"`
	Target string    `json:"target,omitempty"`
	Asked  time.Time `json:"asked"`
	Last   time.Time `json:"last"`
	Tries  int       `json:"tries"`
	Result string    `json:"result,omitempty"` // empty: not known yet
	Detail string    `json:"detail,omitempty"`
}

// TrailDoc is one line of a case's trail.
type TrailDoc struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// WordDoc is what a person said.
type WordDoc struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// BreakerDoc is one cause that is, or was, held.
type BreakerDoc struct {
	Key             string    `json:"key"`
	State           string    `json:"state"`
	Since           time.Time `json:"since"`
	LastSeen        time.Time `json:"lastSeen"`
	Hosts           int       `json:"hosts"`
	Of              int       `json:"of"`
	CoolDownSeconds int       `json:"coolDownSeconds"`
	Canary          string    `json:"canary,omitempty"`
	Reset           *WordDoc  `json:"reset,omitempty"`
}

// DecisionDoc is one line of the audit trail. Result is empty while what was begun
// has no known end.
type DecisionDoc struct {
	ID      string         `json:"id"`
	At      time.Time      `json:"at"`
	Actor   string         `json:"actor"`
	Action  string         `json:"action"`
	Subject string         `json:"subject"`
	Case    string         `json:"case,omitempty"`
	Number  int64          `json:"number,omitempty"`
	Reason  string         `json:"reason"`
	Numbers map[string]int `json:"numbers,omitempty"`
	Result  string         `json:"result,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	Until   *time.Time     `json:"until,omitempty"`
}

func caseDoc(c remedy.Case, whole bool) CaseDoc {
	d := CaseDoc{ID: c.ID, ContainerInstanceARN: c.Host, EC2InstanceID: c.Instance, State: string(c.State), Resume: string(c.Resume), Outcome: string(c.Outcome),
		Cause: c.Cause.Token, GPU: c.Cause.Device, Action: string(c.Cause.Action), Why: c.Cause.Why, Planned: c.Cause.Planned, Rule: c.Rule, Rung: c.Rung + 1,
		Blocker: string(c.Block.Reason), BlockerDetail: c.Block.Detail, BlockedSince: when(c.Block.Since), Waiting: c.Waiting, Held: wordDoc(c.Held), InRepair: c.InRepair(),
		Detached: c.Detached, CordonOurs: c.CordonOurs, Newcomer: c.Newcomer, Opened: c.Opened, Since: c.Since, Closed: when(c.Closed), MTTRSeconds: int(c.MTTR().Seconds()),
		Decision: c.Decision}
	if !whole {
		return d
	}
	for _, a := range c.Attempts {
		d.Attempts = append(d.Attempts, AttemptDoc{string(a.Kind), a.Target, a.Asked, a.Last, a.Tries, string(a.Result), a.Detail})
	}
	for _, e := range c.Trail {
		d.Trail = append(d.Trail, TrailDoc(e))
	}
	return d
}

// next says what happens to an open case.
func (d CaseDoc) next() []string {
	out := []string{"Case " + d.ID + " is open in state " + d.State + " since " + d.Since.UTC().Format(time.RFC3339) + "."}
	switch {
	case d.Blocker != "":
		out = append(out, "It does not move: "+d.Blocker+": "+d.BlockerDetail+".")
	case d.Waiting != "":
		out = append(out, "It waits for: "+d.Waiting+".")
	}
	return out
}

func wordDoc(w remedy.Word) *WordDoc {
	if w.By == "" {
		return nil
	}
	return &WordDoc{w.By, w.Reason, w.At}
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func breakerDoc(b remedy.Breaker) BreakerDoc {
	return BreakerDoc{b.Key.String(), string(b.State), b.Since, b.LastSeen, b.Hosts, b.Of, int(b.CoolDown.Seconds()), b.Canary, wordDoc(b.ResetBy)}
}

func decisionDoc(d remediate.Decision) DecisionDoc {
	out := DecisionDoc{ID: d.ID, At: d.At, Actor: d.Actor, Action: d.Action, Subject: d.Subject, Case: d.Case, Number: d.Number, Reason: d.Reason, Result: d.Result,
		Detail: d.Detail, Until: when(d.Until)}
	for _, n := range d.Numbers {
		if out.Numbers == nil {
			out.Numbers = map[string]int{}
		}
		out.Numbers[n.Name] = n.Value
	}
	return out
}
