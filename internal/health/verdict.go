package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Verdict is the answer for one host: what stands now, and what follows.
type Verdict struct {
	Host    Judgement   `json:"host,omitzero"`    // the host with all its cards
	Devices []Judgement `json:"devices,omitzero"` // cards that have a reason of their own, by id
	Reasons []Reason    `json:"reasons,omitzero"` // strongest first
	At      time.Time   `json:"at,omitzero"`
	BootID  string      `json:"bootId,omitzero"`
}

// Judgement is the level of one subject.
type Judgement struct {
	Device       gpu.UUID  `json:"device,omitzero"` // empty: the host
	Level        Level     `json:"level,omitzero"`
	Action       Action    `json:"action,omitzero"`       // the strongest that is asked for
	AcceptsTasks bool      `json:"acceptsTasks,omitzero"` // new sharing tasks may come
	FirstSeen    time.Time `json:"firstSeen,omitzero"`
	LastSeen     time.Time `json:"lastSeen,omitzero"`
	Tokens       []string  `json:"tokens,omitzero"` // of its reasons, strongest first
}

// Reason is one standing condition and what it asks for.
type Reason struct {
	Token   string   `json:"token,omitzero"` // "Xid79", "MpsControlDead": short, stable, countable
	Kind    Kind     `json:"kind,omitzero"`
	Code    int      `json:"code,omitzero"`
	Device  gpu.UUID `json:"device,omitzero"`
	Class   Class    `json:"class,omitzero"`
	Level   Level    `json:"level,omitzero"`
	Actions []Action `json:"actions,omitzero"`
	Closed  bool     `json:"closed,omitzero"`  // no new sharing tasks
	Planned bool     `json:"planned,omitzero"` // a departure that never charges the breaker

	FirstSeen time.Time `json:"firstSeen,omitzero"`
	Stood     time.Time `json:"stood,omitzero"`
	LastSeen  time.Time `json:"lastSeen,omitzero"`
	Count     int64     `json:"count,omitzero"`
	Witnesses []Witness `json:"witnesses,omitzero"`
	Families  []string  `json:"families,omitzero"` // that began incidents, sorted
	AttachTo  string    `json:"attachTo,omitzero"` // this is a detail of that token
	Why       string    `json:"why,omitzero"`      // the numbers that made the rule match
	Text      string    `json:"text,omitzero"`     // what the witness wrote, bounded

	// Fault identifies this episode: one fault, one case.
	Fault string `json:"fault,omitzero"`
}

// Device returns the judgement of a card: its own reasons and those of the host.
func (v Verdict) Device(u gpu.UUID) Judgement {
	return judge(u, v.Reasons, func(r Reason) bool { return r.Device == u || r.Device == "" })
}

// judge weighs the reasons that concern the subject.
func judge(device gpu.UUID, reasons []Reason, concerns func(Reason) bool) Judgement {
	j := Judgement{Device: device, Action: Ignore, AcceptsTasks: true}
	for _, r := range reasons {
		if !concerns(r) {
			continue
		}
		j.Level = max(j.Level, r.Level)
		if a := Strongest(r.Actions); a.Stronger(j.Action) {
			j.Action = a
		}
		if j.FirstSeen.IsZero() || r.FirstSeen.Before(j.FirstSeen) {
			j.FirstSeen = r.FirstSeen
		}
		if r.LastSeen.After(j.LastSeen) {
			j.LastSeen = r.LastSeen
		}
		otherCards := device == "" && r.Device != "" // a closed card leaves the host's other cards open
		if r.Closed && !otherCards || r.Level == Failed {
			j.AcceptsTasks = false
		}
		j.Tokens = append(j.Tokens, r.Token)
	}
	return j
}

// conclude makes the verdict of the reasons.
func conclude(st *State, reasons []Reason, now time.Time) Verdict {
	slices.SortFunc(reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(actionRank[Strongest(b.Actions)], actionRank[Strongest(a.Actions)]),
			a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Device, b.Device))
	})
	v := Verdict{Reasons: reasons, At: now, BootID: st.BootID}
	v.Host = judge("", reasons, func(Reason) bool { return true })
	var cards []gpu.UUID
	for _, r := range reasons {
		if r.Device != "" && !slices.Contains(cards, r.Device) {
			cards = append(cards, r.Device)
		}
	}
	slices.Sort(cards)
	closed := 0
	for _, u := range cards {
		j := v.Device(u)
		v.Devices = append(v.Devices, j)
		if !j.AcceptsTasks {
			closed++
		}
	}
	if closed > 0 && closed >= st.Facts.Devices {
		v.Host.AcceptsTasks = false // no card is left open
	}
	return v
}

// token is the short word of a kind or code.
func token(kind Kind, code int) string {
	if kind == KindXid {
		return fmt.Sprintf("Xid%d", code)
	}
	return string(kind)
}

// levelOf is the level that actions mean.
func levelOf(row Row, actions []Action, closed bool) Level {
	switch {
	case row.Fate != "":
		return Unknown
	case slices.Contains(actions, Replace):
		return Failed
	case slices.Contains(actions, CloseGPU), closed:
		return Degraded
	case Strongest(actions) == Ignore:
		return Healthy
	}
	return Suspect
}
