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

// Unwrap finds the events in what carries them: an envelope itself, a list of
// envelopes, SQS messages (one, or in Records or Messages), SNS notifications. The
// order is kept. What it returns is not parsed yet: Parse judges it.
func Unwrap(raw []byte) ([]json.RawMessage, error) {
	if len(raw) > MaxCarrier {
		return nil, fmt.Errorf("%w: %d bytes in one carrier, at most %d", ErrTooLarge, len(raw), MaxCarrier)
	}
	return unwrap(raw, 0)
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

func unwrap(raw []byte, depth int) ([]json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if depth > maxWraps {
		return nil, fmt.Errorf("%w: carried in more than %d wrappers", ErrMalformed, maxWraps)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrMalformed, reason(err))
		}
		return unwrapAll(list, depth)
	}
	if raw[0] != '{' || !json.Valid(raw) {
		return nil, fmt.Errorf("%w: it is not whole JSON", ErrMalformed)
	}
	var c carrier
	if err := json.Unmarshal(raw, &c); err != nil || c.DetailType != nil {
		return []json.RawMessage{raw}, nil //nolint:nilerr // an envelope, or something that Parse will name
	}
	for _, list := range [][]json.RawMessage{c.Records, c.Messages, c.Entries} {
		if list != nil {
			return unwrapAll(list, depth)
		}
	}
	for _, inner := range []*string{c.BodyLower, c.Body, c.Message} {
		if inner != nil {
			return unwrap([]byte(*inner), depth+1)
		}
	}
	if c.SNS != nil && c.SNS.Message != nil {
		return unwrap([]byte(*c.SNS.Message), depth+1)
	}
	return []json.RawMessage{raw}, nil
}

func unwrapAll(list []json.RawMessage, depth int) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	for i, one := range list {
		inner, err := unwrap(one, depth+1)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		out = append(out, inner...)
	}
	return out, nil
}
