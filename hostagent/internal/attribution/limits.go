package attribution

import (
	"strconv"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Limits are the MPS settings in an environment. ECS injects them; a process that
// changed its own environment afterwards is not seen here, so they prove what was
// given, and NVML's figures prove what is kept.
type Limits struct {
	Memory  gpu.MiB     // CUDA_MPS_PINNED_DEVICE_MEM_LIMIT of the container's device 0; 0: none
	Compute gpu.Percent // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; 0: none
	Pipe    string      // CUDA_MPS_PIPE_DIRECTORY; empty: none, so no client of the host's server
}

// ParseLimits reads entries "NAME=value". The last of a name counts, as libc's
// first does not matter here: Docker writes each once. Values that make no sense
// are no limits.
func ParseLimits(environ []string) Limits {
	var l Limits
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT":
			l.Memory = memoryLimit(value)
		case "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE":
			if f, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && f > 0 && f <= 100 {
				l.Compute = max(gpu.Percent(f), 1)
			}
		case "CUDA_MPS_PIPE_DIRECTORY":
			l.Pipe = printable(value, 256)
		}
	}
	return l
}

// memoryLimit reads "0=4096M" or "0=2G,1=…": the container sees its share as
// device 0.
func memoryLimit(s string) gpu.MiB {
	for part := range strings.SplitSeq(s[:min(len(s), 1024)], ",") {
		device, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || strings.TrimSpace(device) != "0" {
			continue
		}
		amount = strings.ToUpper(strings.TrimSpace(amount))
		digits := strings.TrimRight(amount, "KMGB")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 {
			return 0
		}
		const most = 4 << 20 // MiB, no card has more
		switch strings.TrimSuffix(amount[len(digits):], "B") {
		case "M":
			return gpu.MiB(min(n, most))
		case "G":
			return gpu.MiB(min(n, most/1024) * 1024)
		case "K":
			return gpu.MiB(min(n/1024, most))
		case "":
			return gpu.MiB(min(n>>20, most))
		}
		return 0
	}
	return 0
}

// printable drops what is not printable ASCII and bounds the rest.
func printable(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), n)])
	return s[:min(len(s), n)]
}
