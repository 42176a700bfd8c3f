package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of Parse. Each says what is wrong with the message as a whole; it can
// never be handled, so it belongs in a failure queue.
var (
	ErrMalformed = errors.New("not an EventBridge event: send the whole event object, unchanged")
	ErrTooLarge  = errors.New("larger than an event may be: look for what made it, EventBridge sends none of this size")
	ErrDetail    = errors.New("the detail of a known kind cannot be read: keep the event and report its shape")
)

// Limits bound what is read. The zero value has the defaults.
type Limits struct {
	// Bytes of one event; EventBridge's own limit is 256 KiB.
	Bytes int
	// Nesting of arrays and objects.
	Nesting int
	// Elements of all arrays and members of all objects, together.
	Elements int
}

// Default limits.
const (
	MaxBytes    = 256 << 10
	MaxNesting  = 64
	MaxElements = 20_000
)

func (l Limits) filled() Limits {
	if l.Bytes == 0 {
		l.Bytes = MaxBytes
	}
	if l.Nesting == 0 {
		l.Nesting = MaxNesting
	}
	if l.Elements == 0 {
		l.Elements = MaxElements
	}
	return l
}

// Envelope is what every EventBridge event has. Version is the envelope's own,
// always "0"; a resource's version is in the detail.
type Envelope struct {
	Version    string
	ID         string
	DetailType string
	Source     string
	Account    string
	Time       time.Time
	Region     string
	Resources  []string
	// RawDetail is the detail as it came, nil when there was none.
	RawDetail json.RawMessage
}

// Event is one parsed event.
type Event struct {
	Envelope
	Detail Detail
}

// Detail is the closed set of what an event can tell.
type Detail interface{ isDetail() }

// Unknown is a kind of event that this release does not know.
type Unknown struct{ Raw json.RawMessage }

func (Unknown) isDetail() {}

// wireEnvelope reads the envelope; every member is read on its own, so that one of
// a wrong type is told by its name.
type wireEnvelope struct {
	Version    Text            `json:"version"`
	ID         Text            `json:"id"`
	DetailType Text            `json:"detail-type"`
	Source     Text            `json:"source"`
	Account    Text            `json:"account"`
	Time       Time            `json:"time"`
	Region     Text            `json:"region"`
	Resources  Texts           `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// readEnvelope checks the whole text once, so that the detail need not be checked
// again, and keeps the detail as bytes of its own: the caller may use raw again.
func readEnvelope(raw []byte) (wireEnvelope, error) {
	var w wireEnvelope
	if !json.Valid(raw) {
		err := json.Unmarshal(raw, &w) // tells where it breaks
		return w, err
	}
	c := cursor{b: raw}
	err := c.object(w.member)
	if err != nil {
		w = wireEnvelope{}
		err = json.Unmarshal(raw, &w) // its error names the member
		return w, err
	}
	return w, nil
}

func (w *wireEnvelope) member(name, value []byte) error {
	switch string(name) {
	case "version":
		return w.Version.UnmarshalJSON(value)
	case "id":
		return w.ID.UnmarshalJSON(value)
	case "detail-type":
		return w.DetailType.UnmarshalJSON(value)
	case "source":
		return w.Source.UnmarshalJSON(value)
	case "account":
		return w.Account.UnmarshalJSON(value)
	case "time":
		return w.Time.UnmarshalJSON(value)
	case "region":
		return w.Region.UnmarshalJSON(value)
	case "resources":
		return w.Resources.UnmarshalJSON(value)
	case "detail":
		w.Detail = append(json.RawMessage{}, value...)
	}
	return nil
}

// kind is what Parse knows of a kind of event.
type kind struct{ source, detailType string }

// Parse reads one event.
func Parse(raw []byte, limits Limits) (Event, error) {
	limits = limits.filled()
	if len(raw) > limits.Bytes {
		return Event{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(raw), limits.Bytes)
	}
	if err := measure(raw, limits); err != nil {
		return Event{}, err
	}
	w, err := readEnvelope(raw)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %s", ErrMalformed, reason(err))
	}
	ev := Event{Envelope: Envelope{Version: string(w.Version), ID: string(w.ID), DetailType: string(w.DetailType), Source: string(w.Source),
		Account: string(w.Account), Time: w.Time.Time, Region: string(w.Region), Resources: w.Resources, RawDetail: w.Detail}}
	if w.Source == "" || w.DetailType == "" {
		return Event{}, fmt.Errorf("%w: it has no source and detail-type", ErrMalformed)
	}
	read, known := kinds[kind{ev.Source, ev.DetailType}]
	if !known {
		ev.Detail = Unknown{Raw: w.Detail}
		return ev, nil
	}
	if len(w.Detail) == 0 || w.Detail[0] != '{' {
		return ev, fmt.Errorf("%w: %s has no detail object", ErrDetail, ev.DetailType)
	}
	d, err := read(w.Detail)
	if err != nil {
		return ev, fmt.Errorf("%w: %s: %s", ErrDetail, ev.DetailType, reason(err))
	}
	ev.Detail = d
	return ev, nil
}

// reason is a decoder's error without Go's words.
func reason(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("member %s is of a wrong type: %s", typ.Field, typ.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// measure walks the bytes once, before anything is decoded: nesting and the number
// of elements are bounded without building a value. Strings are skipped whole.
func measure(raw []byte, l Limits) error {
	if !utf8.Valid(raw) {
		return fmt.Errorf("%w: not UTF-8 text", ErrMalformed)
	}
	if t := bytes.TrimLeft(raw, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	depth, elements := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > l.Nesting {
				return fmt.Errorf("%w: nested deeper than %d", ErrMalformed, l.Nesting)
			}
		case '}', ']':
			depth--
		case ',':
			if elements++; elements > l.Elements {
				return fmt.Errorf("%w: more than %d elements", ErrTooLarge, l.Elements)
			}
		}
	}
	return nil
}
