package gpu

import "strings"

// UUID names one physical card, for example
// "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", as NVML gives it and ECS repeats it
// in gpuIds and gpuDevices.gpuId. It may change when an instance is stopped and
// started, so nothing keyed by it outlives its host's boot.
type UUID string

// MaxUUIDLen bounds what is accepted as an id of a card; NVML's are 40 characters
// (MIG's somewhat longer).
const MaxUUIDLen = 96

// Valid reports whether u has the form of an NVML id: the prefix "GPU-" and then
// letters of hexadecimal and dashes.
func (u UUID) Valid() bool {
	s, ok := strings.CutPrefix(string(u), "GPU-")
	if !ok || s == "" || len(u) > MaxUUIDLen {
		return false
	}
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'f', r >= 'A' && r <= 'F', r == '-':
		default:
			return false
		}
	}
	return true
}

// Short is the form for tables: "GPU-3f1c6b2e".
func (u UUID) Short() string {
	if s, ok := strings.CutPrefix(string(u), "GPU-"); ok && len(s) > 8 {
		return "GPU-" + s[:8]
	}
	return string(u)
}
