package events

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxWraps bounds carriers inside carriers: SQS that holds SNS that holds an event.
const maxWraps = 4

// MaxCarrier bounds what Unwrap reads at once, in bytes: a batch of thousands of
// events, far above what SQS or SNS carry.
const MaxCarrier = 32 << 20

// Carried is one thing found in a carrier. Err says why it holds no event; the
// others of the carrier are good all the same.
type Carried struct {
	// Place says where it was, as people count: "record 2"; empty for the whole.
	Place string
	Body  json.RawMessage
	Err   error // wraps ErrMalformed or ErrTooLarge
}

// Unwrap finds the events in what carries them: an envelope itself, a list of
// envelopes, SQS messages (one, or in Records or Messages), SNS notifications. The
// order is kept. What it returns is not parsed yet: Parse judges it.
func Unwrap(raw []byte) []Carried {
	if len(raw) > MaxCarrier {
		return []Carried{{Err: fmt.Errorf("%w: %d bytes in one carrier, at most %d", ErrTooLarge, len(raw), MaxCarrier)}}
	}
	return unwrap(raw, "", 0)
}

type carrier struct {
	DetailType json.RawMessage   `json:"detail-type"`
	Records    []json.RawMessage `json:"Records"`
	Messages   []json.RawMessage `json:"Messages"`
	Entries    []json.RawMessage `json:"events"`
	BodyLower  *string           `json:"body"`
	Body       *string           `json:"Body"`
	Message    *string           `json:"Message"`
	SNS        *struct {
		Message *string `json:"Message"`
	} `json:"Sns"`
}

func unwrap(raw []byte, place string, depth int) []Carried {
	raw = bytes.TrimSpace(raw)
	broken := func(format string, args ...any) []Carried {
		return []Carried{{Place: place, Err: fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)}}
	}
	switch {
	case depth > maxWraps:
		return broken("carried in more than %d wrappers", maxWraps)
	case len(raw) == 0:
		return broken("it is empty")
	case !json.Valid(raw):
		return broken("it is not whole JSON")
	case raw[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return broken("%s", reason(err))
		}
		return unwrapAll(list, place, depth)
	case raw[0] != '{':
		return broken("it is no JSON object")
	}
	var c carrier
	if err := json.Unmarshal(raw, &c); err != nil || c.DetailType != nil {
		return []Carried{{Place: place, Body: raw}} // an envelope, or something that Parse will name
	}
	for _, list := range [][]json.RawMessage{c.Records, c.Messages, c.Entries} {
		if list != nil {
			return unwrapAll(list, place, depth)
		}
	}
	for _, inner := range []*string{c.BodyLower, c.Body, c.Message} {
		if inner != nil {
			return unwrap([]byte(*inner), place, depth+1)
		}
	}
	if c.SNS != nil && c.SNS.Message != nil {
		return unwrap([]byte(*c.SNS.Message), place, depth+1)
	}
	return []Carried{{Place: place, Body: raw}}
}

func unwrapAll(list []json.RawMessage, place string, depth int) []Carried {
	out := []Carried{}
	for i, one := range list {
		at := fmt.Sprintf("record %d", i+1)
		if place != "" {
			at = place + ", " + at
		}
		out = append(out, unwrap(one, at, depth+1)...)
	}
	return out
}
