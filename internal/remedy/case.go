package remedy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Bounds of one case's item.
const (
	maxAttempts = 64
	maxTrail    = 64
	maxDetail   = 300
	maxFaults   = 32
)

// Scope says what a host belongs to; budgets and breakers count by these.
type Scope struct {
	Cluster          string `json:"cluster,omitzero"`
	CapacityProvider string `json:"capacityProvider,omitzero"`
	Zone             string `json:"zone,omitzero"`
	InstanceType     string `json:"instanceType,omitzero"`
	AMI              string `json:"ami,omitzero"`
	Driver           string `json:"driver,omitzero"`
}

// Cause is the reason for which a case moves.
type Cause struct {
	Token   string        `json:"token,omitzero"`
	Class   health.Class  `json:"class,omitzero"`
	Action  health.Action `json:"action,omitzero"` // the strongest asked for
	Device  gpu.UUID      `json:"device,omitzero"`
	Planned bool          `json:"planned,omitzero"`
	Why     string        `json:"why,omitzero"`
}

// Case is one fault of one host. It is a plain value: what the table holds.
type Case struct {
	ID       string   `json:"id,omitzero"`
	Host     string   `json:"host,omitzero"`     // container instance ARN
	Instance string   `json:"instance,omitzero"` // EC2 instance id
	BootID   string   `json:"bootId,omitzero"`
	Scope    Scope    `json:"scope,omitzero"`
	Cause    Cause    `json:"cause,omitzero"`
	Faults   []string `json:"faults,omitzero"` // faults that this case answers for: never twice for one

	State    State     `json:"state,omitzero"`
	Resume   State     `json:"resume,omitzero"` // the state that a Blocked case came from
	Since    time.Time `json:"since,omitzero"`
	Opened   time.Time `json:"opened,omitzero"`
	Entered  time.Time `json:"entered,omitzero"` // into repair; zero before
	Closed   time.Time `json:"closed,omitzero"`
	Outcome  Outcome   `json:"outcome,omitzero"`
	Block    Block     `json:"block,omitzero"`
	Waiting  string    `json:"waiting,omitzero"` // what is waited for, in words
	Rule     string    `json:"rule,omitzero"`
	Rung     int       `json:"rung,omitzero"`
	RungAt   time.Time `json:"rungAt,omitzero"`
	RungTry  int       `json:"rungTry,omitzero"`
	DrainAt  time.Time `json:"drainAt,omitzero"`
	WellAt   time.Time `json:"wellAt,omitzero"`   // since when the fault is no longer seen; zero while it stands
	Repair   bool      `json:"repair,omitzero"`   // takes a place in the budgets
	Restored bool      `json:"restored,omitzero"` // on the way back into service
	Detached bool      `json:"detached,omitzero"` // out of its group: no way back
	Ended    bool      `json:"ended,omitzero"`    // its end was ordered: no way back

	CordonOurs  bool      `json:"cordonOurs,omitzero"`  // we set DRAINING and saw it done
	CordonMaybe bool      `json:"cordonMaybe,omitzero"` // asked, never learned what came of it: treated as a person's
	CordonSeen  bool      `json:"cordonSeen,omitzero"`  // DRAINING was seen while ours
	MarksOurs   bool      `json:"marksOurs,omitzero"`
	HeartbeatAt time.Time `json:"heartbeatAt,omitzero"`
	Newcomer    string    `json:"newcomer,omitzero"`
	NewcomerAt  time.Time `json:"newcomerAt,omitzero"` // since when it passes
	ComeAt      time.Time `json:"comeAt,omitzero"`     // when it was first seen: its deadline counts from here
	Held        Word      `json:"held,omitzero"`       // a person holds the case

	Attempts []Attempt `json:"attempts,omitzero"`
	Trail    []Entry   `json:"trail,omitzero"`
	Decision int64     `json:"decision,omitzero"` // counts what was decided; Confirm refuses steps of an older one
	Version  int64     `json:"version,omitzero"`  // of the stored item; the caller's
}

// Block is why a case does not move.
type Block struct {
	Reason Blocker   `json:"reason,omitzero"`
	Detail string    `json:"detail,omitzero"`
	Since  time.Time `json:"since,omitzero"`
}

// Word is what a person said.
type Word struct {
	By     string    `json:"by,omitzero"`
	Reason string    `json:"reason,omitzero"`
	At     time.Time `json:"at,omitzero"`
}

// Entry is one line of the audit trail.
type Entry struct {
	At   time.Time `json:"at,omitzero"`
	Text string    `json:"text,omitzero"`
}

// Result is what came of an attempt.
type Result string

// Results of a step. NotFound is done: what should go is gone.
const (
	Pending   Result = ""
	Done      Result = "done"      // for Run Command: the invocation ended in success
	Standing  Result = "standing"  // the effect was there before we acted
	NotFound  Result = "not-found" // nothing to act on: done
	Transient Result = "transient" // throttled, timed out: asked again later
	Refused   Result = "refused"   // the service says no, and will again
	Withdrawn Result = "withdrawn" // Confirm said no; nothing was done
)

// over reports whether the attempt needs no repetition.
func (r Result) over() bool { return r == Done || r == Standing || r == NotFound }

// Attempt is one step that was asked for.
type Attempt struct {
	Key    string    `json:"key,omitzero"`
	Kind   StepKind  `json:"kind,omitzero"`
	Target string    `json:"target,omitzero"`
	Asked  time.Time `json:"asked,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Tries  int       `json:"tries,omitzero"`
	Result Result    `json:"result,omitzero"`
	Detail string    `json:"detail,omitzero"`
}

// Step is one thing to do now. Key is the same for every repetition of the same
// step; adapters pass it on where the API takes a token, and search by it before
// they act again where it does not.
type Step struct {
	Kind        StepKind `json:"kind,omitzero"`
	Key         string   `json:"key,omitzero"`
	Case        string   `json:"case,omitzero"`
	Decision    int64    `json:"decision,omitzero"` // of the case when it was decided
	Host        string   `json:"host,omitzero"`
	Instance    string   `json:"instance,omitzero"`
	Group       string   `json:"group,omitzero"`
	Target      string   `json:"target,omitzero"`      // task ARN for StopTask and TerminateClients
	PIDs        []int    `json:"pids,omitzero"`        // clients whose owner is proven
	WithClients bool     `json:"withClients,omitzero"` // RestartMps though clients run
	Reason      string   `json:"reason,omitzero"`
	Numbers     []Number `json:"numbers,omitzero"` // what allowed it
	Guard       Guard    `json:"guard,omitzero"`
}

// Number is one figure of a decision, for its log line.
type Number struct {
	Name  string `json:"name,omitzero"`
	Value int    `json:"value,omitzero"`
}

// Guard is what Confirm needs of the case.
type Guard struct {
	Rule      string   `json:"rule,omitzero"`
	Cause     Cause    `json:"cause,omitzero"`
	Faults    []string `json:"faults,omitzero"`
	Boot      string   `json:"boot,omitzero"`
	Scope     Scope    `json:"scope,omitzero"`
	Committed bool     `json:"committed,omitzero"` // no way back: what was begun is finished
	CleanUp   bool     `json:"cleanUp,omitzero"`   // takes back what is ours
	Override  bool     `json:"override,omitzero"`  // task protection's deadline has passed
}

// Errors of the words of people.
var (
	ErrReason = errors.New("a reason is required")
	ErrOver   = errors.New("the case is over")
)

// Cancel ends the case. Nothing is touched afterwards: what stands, stands.
func Cancel(c Case, word Word) (Case, error) {
	if err := word.check(c); err != nil {
		return c, err
	}
	c = c.clone()
	c.Decision++
	c.finish(Cancelled, ByPerson, word.At, fmt.Sprintf("cancelled by %s: %s", word.By, word.Reason))
	return c, nil
}

// Hold stops the case where it is until Release.
func Hold(c Case, word Word) (Case, error) {
	if err := word.check(c); err != nil {
		return c, err
	}
	c = c.clone()
	c.Decision++
	c.Held = word
	c.note(word.At, fmt.Sprintf("held by %s: %s", word.By, word.Reason))
	return c, nil
}

// Release lets a held case go on, and lets steps that failed be tried anew. The
// case is judged again, not replayed.
func Release(c Case, word Word) (Case, error) {
	if err := word.check(c); err != nil {
		return c, err
	}
	c = c.clone()
	c.Decision++
	c.Held = Word{}
	c.Attempts = slices.DeleteFunc(c.Attempts, func(a Attempt) bool { return !a.Result.over() }) // what failed may be tried anew
	c.note(word.At, fmt.Sprintf("released by %s: %s", word.By, word.Reason))
	return c, nil
}

func (w Word) check(c Case) error {
	switch {
	case c.State.Final():
		return fmt.Errorf("case %s: %w (%s)", c.ID, ErrOver, c.State)
	case strings.TrimSpace(w.Reason) == "" || strings.TrimSpace(w.By) == "":
		return fmt.Errorf("case %s: %w, and who says so", c.ID, ErrReason)
	}
	return nil
}

// MTTR is the time from opening to the end; zero while it is open.
func (c Case) MTTR() time.Duration {
	if c.Closed.IsZero() {
		return 0
	}
	return c.Closed.Sub(c.Opened)
}

// InRepair reports whether the case takes a place in the budgets. A blocked case
// keeps the place it had; planned departures take none.
func (c Case) InRepair() bool {
	return c.Repair && !c.State.Final() && !c.Cause.Planned
}

// committed reports whether there is no way back into service.
func (c Case) committed() bool { return c.Detached || c.Ended }

// Record tells the case what came of a step. It is safe to call twice.
func Record(c Case, s Step, r Result, detail string, now time.Time) Case {
	if c.State.Final() {
		return c
	}
	c = c.clone()
	i := slices.IndexFunc(c.Attempts, func(a Attempt) bool { return a.Key == s.Key })
	if i < 0 {
		return c
	}
	if r == Withdrawn {
		c.withdraw(i, now)
		c.note(now, fmt.Sprintf("%s %s withdrawn: %s", s.Kind, s.Target, detail))
		return c
	}
	a := &c.Attempts[i]
	if a.Result.over() {
		return c
	}
	a.Result, a.Detail, a.Last = r, cut(detail), now
	c.note(now, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.Kind, s.Target, r, detail)))
	switch {
	case s.Kind == StepDrain && r == Done:
		c.CordonOurs, c.CordonMaybe = true, false
	case s.Kind == StepDrain && r == Standing:
		c.CordonMaybe = false // a person's, or ECS's own
	case s.Kind == StepMark && r == Done:
		c.MarksOurs = true
	case s.Kind == StepDetach && r.over():
		c.Detached = true
	case (s.Kind == StepTerminate || s.Kind == StepTerminateInGroup) && r.over():
		c.Ended = true
	}
	return c
}

// withdraw takes back the last try of an attempt. One that was tried before stays
// known: an effect may still come of what timed out.
func (c *Case) withdraw(i int, now time.Time) {
	if a := &c.Attempts[i]; a.Tries > 1 {
		a.Tries, a.Result, a.Last = a.Tries-1, Withdrawn, now
		return
	}
	c.Attempts = slices.Delete(c.Attempts, i, i+1)
}

// attempt finds what was asked under the key.
func (c *Case) attempt(key string) (*Attempt, bool) {
	i := slices.IndexFunc(c.Attempts, func(a Attempt) bool { return a.Key == key })
	if i < 0 {
		return nil, false
	}
	return &c.Attempts[i], true
}

// asked reports whether a step of the kind was ever asked for and not withdrawn.
func (c *Case) asked(k StepKind) bool {
	return slices.ContainsFunc(c.Attempts, func(a Attempt) bool { return a.Kind == k && a.Result != Refused })
}

func (c Case) clone() Case {
	c.Attempts = slices.Clone(c.Attempts)
	c.Trail = slices.Clone(c.Trail)
	c.Faults = slices.Clone(c.Faults)
	return c
}

// note adds a line to the trail; the first lines and the last stay.
func (c *Case) note(at time.Time, text string) {
	text = cut(text)
	if n := len(c.Trail); n > 0 && c.Trail[n-1].Text == text {
		return
	}
	if len(c.Trail) >= maxTrail {
		c.Trail = slices.Delete(c.Trail, 8, 9)
	}
	c.Trail = append(c.Trail, Entry{at, text})
}

// finish ends the case.
func (c *Case) finish(s State, o Outcome, at time.Time, text string) {
	c.State, c.Outcome, c.Closed, c.Since = s, o, at, at
	c.Block, c.Waiting, c.Resume, c.Repair = Block{}, "", "", false
	c.note(at, fmt.Sprintf("%s: %s", cmp.Or(string(o), string(s)), text))
}

func cut(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "")
	}
	return text
}
