package sizing

import (
	"bytes"
	_ "embed" // the price table is a data file
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

//go:embed prices.json
var priceFile []byte

// ErrPrices is what every refusal of a price table wraps.
var ErrPrices = errors.New("price table refused")

// MaxPriceBytes bounds a price table.
const MaxPriceBytes = 1 << 20

// Prices is a dated table of instance types. It covers few types, and says nothing
// of a Region but its own: a type that it lacks has no price, never a guessed one.
type Prices struct {
	AsOf       string         `json:"asOf"` // a day, as 2026-08-17
	Region     string         `json:"region"`
	Currency   string         `json:"currency"`
	Source     string         `json:"source"`
	MemoryNote string         `json:"memoryNote,omitempty"`
	Reserve    gpu.MiB        `json:"reserveMiB"` // what a driver may keep of a card
	Types      []InstanceType `json:"types"`
}

// InstanceType is one row. A price of zero, or none, means that it is not known.
type InstanceType struct {
	Type    string  `json:"type"`
	Card    string  `json:"card,omitempty"`
	GPUs    int     `json:"gpus"`
	Memory  gpu.MiB `json:"memoryMiB,omitempty"` // of one card
	PerHour float64 `json:"perHour,omitempty"`
}

// DefaultPrices is the table that comes with Bulkhead.
func DefaultPrices() (Prices, error) { return ReadPrices(priceFile) }

// ReadPrices reads a table, such as one for another Region or a discount.
func ReadPrices(b []byte) (Prices, error) {
	var p Prices
	if len(b) > MaxPriceBytes {
		return p, fmt.Errorf("%w: %d bytes, above %d", ErrPrices, len(b), MaxPriceBytes)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPrices, err)
	}
	return p, p.check()
}

func (p Prices) check() error {
	bad := func(format string, a ...any) error { return fmt.Errorf("%w: %s", ErrPrices, fmt.Sprintf(format, a...)) }
	if _, err := time.Parse(time.DateOnly, p.AsOf); err != nil {
		return bad("asOf %q is no day like 2026-08-17: a price without its date means nothing", p.AsOf)
	}
	if strings.TrimSpace(p.Source) == "" || p.Region == "" {
		return bad("source and region must be given")
	}
	if p.Reserve < 0 || p.Reserve > MaxPeak {
		return bad("reserveMiB %d is not in 0 to %d", p.Reserve, MaxPeak)
	}
	seen := map[string]bool{}
	for i, t := range p.Types {
		switch {
		case t.Type == "" || seen[t.Type]:
			return bad("types[%d]: type %q is empty or there twice", i, t.Type)
		case t.GPUs < 1 || t.GPUs > 32:
			return bad("types[%d]: %s has %d GPUs, want 1 to 32", i, t.Type, t.GPUs)
		case t.Memory < 0 || t.Memory > MaxPeak:
			return bad("types[%d]: %s has memoryMiB %d", i, t.Type, t.Memory)
		case !(t.PerHour >= 0 && t.PerHour < 1e6):
			return bad("types[%d]: %s costs %v an hour: leave perHour out where it is not known", i, t.Type, t.PerHour)
		}
		seen[t.Type] = true
	}
	return nil
}

// Lookup finds a type.
func (p Prices) Lookup(instanceType string) (InstanceType, bool) {
	for _, t := range p.Types {
		if t.Type == instanceType {
			return t, true
		}
	}
	return InstanceType{}, false
}
