//go:build !linux || !cgo

package nvml

import "fmt"

// Open answers ErrUnavailable: this build has no adapter.
func Open(_ string, _ func(string)) (Port, error) {
	return nil, fmt.Errorf("%w: built without cgo, install the agent's package for this platform", ErrUnavailable)
}
