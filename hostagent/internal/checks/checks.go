package checks

// Status of one check.
type Status string

// The statuses; only Failed keeps a host from sharing.
const (
	Passed  Status = "passed"
	Warned  Status = "warned"
	Failed  Status = "failed"
	Unknown Status = "unknown"
)

// Result of one check.
type Result struct {
	Check  string `json:"check"` // stable name, "mps-unit"
	Status Status `json:"status"`
	Found  string `json:"found"`         // what is so
	Fix    string `json:"fix,omitempty"` // what to do; set for Warned and Failed
}

// check is one question to the facts.
type check struct {
	name string
	ask  func(*Facts) (Status, string, string)
}

// The order is the one in which a person would repair: each stands on those above.
var order = []check{
	{"driver", driver}, {"driver-match", driverMatch}, {"gpu-count", count}, {"gpu-lost", lost}, {"vgpu", vgpu},
	{"gpu-memory", memory}, {"persistence", persistence}, {"compute-mode", computeMode}, {"mig", mig},
	{"ecs-agent-version", agentVersion}, {"ami-version", amiVersion}, {"mps-binary", binary}, {"mps-unit", unit},
	{"mps-pipe", pipe}, {"mps-pipe-legacy", legacyPipe}, {"shm", shm}, {"descriptors", descriptors},
	{"ecs-gpu-info", gpuInfo}, {"capability", capability},
}

// All runs every check, in a fixed order.
func All(f Facts) []Result {
	out := make([]Result, 0, len(order))
	for _, c := range order {
		s, found, fix := c.ask(&f)
		if s == Passed || s == Unknown {
			fix = ""
		}
		out = append(out, Result{c.name, s, found, fix})
	}
	return out
}

// Ready reports whether a host with these results may take its first sharing
// task: no check failed, and the driver was really seen.
func Ready(results []Result) bool {
	seen := false
	for _, r := range results {
		if r.Status == Failed {
			return false
		}
		seen = seen || r.Check == "driver" && r.Status == Passed
	}
	return seen
}
