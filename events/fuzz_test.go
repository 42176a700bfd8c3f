package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// FuzzParse: any bytes give an event or one of the three errors, within the limits.
func FuzzParse(f *testing.F) {
	for _, raw := range readSamples(f) {
		f.Add(raw)
	}
	f.Add([]byte(`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"version":1e999}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev, err := Parse(raw, Limits{})
		switch {
		case err == nil && ev.Detail == nil:
			t.Fatal("neither a detail nor an error")
		case err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrDetail):
			t.Fatalf("an error of no kind: %v", err)
		case err == nil && !json.Valid(raw):
			t.Fatal("read what is not JSON")
		}
		if d, own := ev.Detail.(Own); err == nil && own && len(raw) < MaxBytes/8 {
			if _, _, err := Encode(d); err != nil {
				t.Fatalf("read but cannot be written: %v", err)
			}
		}
	})
}

// FuzzUnwrap: what comes out is JSON, and an event that comes out is its own carrier.
func FuzzUnwrap(f *testing.F) {
	for _, raw := range readSamples(f) {
		f.Add(raw)
		wrapped, err := json.Marshal(map[string]any{"Records": []any{map[string]any{"body": string(raw)}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wrapped)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, one := range Unwrap(raw) {
			if one.Err != nil {
				if !errors.Is(one.Err, ErrMalformed) && !errors.Is(one.Err, ErrTooLarge) {
					t.Fatalf("an error of no kind: %v", one.Err)
				}
				continue
			}
			if !json.Valid(one.Body) {
				t.Fatalf("unwrapped to no JSON: %q", one.Body)
			}
			if again := Unwrap(one.Body); len(again) != 1 || !bytes.Equal(again[0].Body, one.Body) {
				t.Fatalf("unwrapping %q again gives %+v", one.Body, again)
			}
		}
	})
}
