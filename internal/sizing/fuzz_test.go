package sizing

import (
	"encoding/json"
	"errors"
	"testing"
)

// A table from a person's file is read or refused, never a panic; one that was read
// is read again the same.
func FuzzReadPrices(f *testing.F) {
	f.Add(priceFile)
	f.Add([]byte(`{"asOf":"2026-01-01","region":"r","source":"s","types":[{"type":"a","gpus":1,"perHour":1e308}]}`))
	f.Add([]byte(`{"asOf":"2026-01-01","region":"r","source":"s","reserveMiB":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPrices(b)
		if err != nil {
			if !errors.Is(err, ErrPrices) {
				t.Fatal(err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) <= MaxPriceBytes {
			if _, err := ReadPrices(again); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Cheapest([]Wanted{{Service{"a", 4000, 40}, 3}}, p, Limits{Budget: 100}); err != nil {
			t.Fatal(err)
		}
	})
}
