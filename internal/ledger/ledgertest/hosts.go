package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// ARN heads of the suite's account.
const (
	arnHead = "arn:aws:ecs:us-east-1:111122223333:"
	Cluster = arnHead + "cluster/gpu-prod"
)

// HostID makes the nth host's id.
func HostID(n int) ledger.HostID {
	return ledger.HostID{Cluster: Cluster, Instance: arnHead + fmt.Sprintf("container-instance/gpu-prod/%032x", n)}
}

// Card makes the nth card's id.
func Card(n int) gpu.UUID { return gpu.UUID(fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", n, n)) }

// Full makes a host with cards and shares of real shape: what a busy one costs.
func Full(n, cards, sharesEach int) ledger.Host {
	at := time.Date(2026, 12, 1, 3, 0, 0, 123e6, time.UTC)
	h := ledger.Host{ID: HostID(n), Fixed: ledger.Fixed{EC2InstanceID: fmt.Sprintf("i-%017x", n), InstanceType: "g6.xlarge", Zone: "us-east-1a",
		AMI: "ami-0123456789abcdef0", CapacityProvider: "gpu-shared", CapacityType: ledger.CapacityEC2, RegisteredAt: at},
		BootID:       "5a7c9d2e-1f3b-4a6c-8d9e-0b1c2d3e4f50",
		Registration: ledger.Registration{Version: 4711, Status: "ACTIVE", AgentConnected: true, AgentVersion: "1.107.0", SharingCapable: true}, Listed: 4712}
	for c := range cards {
		h.Devices = append(h.Devices, ledger.DeviceFacts{UUID: Card(n*16 + c), Registered: 4712, Total: 22563, Described: 4712, Mode: gpu.ModeShared})
	}
	for c := range cards {
		for s := range sharesEach {
			service := fmt.Sprintf("service-%d", s%6)
			h.Tasks = append(h.Tasks, ledger.Task{ARN: arnHead + fmt.Sprintf("task/gpu-prod/%016x%016x", n*100_000+c*1000+s, s*7919+c), Version: 5, LastStatus: "RUNNING",
				Definition: arnHead + fmt.Sprintf("task-definition/%s:%d", service, 40+s%3), Group: "service:" + service, StartedBy: "ecs-svc/1234567890123456789", Tier: "standard",
				Capacity: ledger.CapacityEC2, Heard: at.Add(time.Duration(s) * time.Second), StopTimeout: 30 * time.Second,
				Shares: []ledger.TaskShare{{Container: "app", Need: ledger.NeedShare, Sized: true, Memory: 2048, Compute: 25, GPUs: []gpu.UUID{Card(n*16 + c)}}}})
		}
	}
	slices.SortFunc(h.Tasks, func(a, b ledger.Task) int { return strings.Compare(a.ARN, b.ARN) })
	return h
}

// word makes texts, most of them plain, some hostile.
func word() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "app", "service:chat", "RUNNING", "<script>", "a\x00b", "ü→\U0001F600", "0123456789abcdef0123456789abcdef",
		"GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "GPU-3F1C6B2E-0A5D-4B7E-9C38-2F6D1E7A9B40", "arn:aws:ecs:x:y:task/a/b/"}), rapid.StringN(0, 20, 60))
}

func moment() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		return time.UnixMilli(rapid.Int64Range(1, 4e12).Draw(t, "ms")).UTC()
	})
}

func card() *rapid.Generator[gpu.UUID] {
	return rapid.Custom(func(t *rapid.T) gpu.UUID { return Card(rapid.IntRange(0, 9).Draw(t, "card")) })
}

// Hosts generates hosts with anything in them, in the order that hosts keep.
func Hosts() *rapid.Generator[ledger.Host] {
	return rapid.Custom(func(t *rapid.T) ledger.Host {
		h := ledger.Host{ID: HostID(rapid.IntRange(1, 3).Draw(t, "host")), BootID: word().Draw(t, "boot"), Listed: rapid.Int64Range(0, 1e10).Draw(t, "listed"),
			Fixed: ledger.Fixed{EC2InstanceID: word().Draw(t, "ec2"), InstanceType: word().Draw(t, "type"), Zone: word().Draw(t, "zone"), AMI: word().Draw(t, "ami"),
				CapacityProvider: word().Draw(t, "provider"), CapacityType: ledger.CapacityType(word().Draw(t, "capacity")), RegisteredAt: moment().Draw(t, "registered")},
			Registration: ledger.Registration{Version: rapid.Int64Range(0, ledgerMax).Draw(t, "version"), At: moment().Draw(t, "at"), Status: word().Draw(t, "status"),
				AgentConnected: rapid.Bool().Draw(t, "connected"), AgentVersion: word().Draw(t, "agent"), SharingCapable: rapid.Bool().Draw(t, "capable")},
			EC2: ledger.EC2State{State: word().Draw(t, "state"), At: moment().Draw(t, "stateAt")}}
		for range rapid.IntRange(0, 3).Draw(t, "checks") {
			h.Health = append(h.Health, ledger.HealthCheck{Type: word().Draw(t, "check"), Status: word().Draw(t, "s"), Reason: word().Draw(t, "r"), Changed: moment().Draw(t, "c")})
			h.Leaving = append(h.Leaving, ledger.Leaving{Cause: word().Draw(t, "cause"), At: moment().Draw(t, "l")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "cards") {
			h.Devices = append(h.Devices, ledger.DeviceFacts{UUID: card().Draw(t, "uuid"), Registered: rapid.Int64Range(0, 9).Draw(t, "reg"),
				Total: gpu.MiB(rapid.Int64().Draw(t, "total")), Described: rapid.Int64Range(0, 9).Draw(t, "described"), Mode: gpu.Mode(word().Draw(t, "mode"))})
		}
		h.Tasks = rapid.SliceOfN(task(), 0, 6).Draw(t, "tasks")
		for n := range rapid.IntRange(0, 2).Draw(t, "reservations") {
			h.Reservations = append(h.Reservations, ledger.Reservation{ID: fmt.Sprint("r-", n), Definition: word().Draw(t, "d"), Tier: gpu.Tier(word().Draw(t, "tier")),
				MadeAt: moment().Draw(t, "made"), LeaseUntil: moment().Draw(t, "lease"), Containers: []ledger.ContainerNeed{{Name: word().Draw(t, "n"),
					Need: ledger.NeedShare, Memory: gpu.MiB(rapid.Int64().Draw(t, "m")), Compute: gpu.Percent(rapid.Int32().Draw(t, "p")), Count: rapid.IntRange(0, 9).Draw(t, "k")}}})
		}
		slices.SortFunc(h.Tasks, func(a, b ledger.Task) int { return strings.Compare(a.ARN, b.ARN) })
		h.Tasks = slices.CompactFunc(h.Tasks, func(a, b ledger.Task) bool { return a.ARN == b.ARN })
		slices.SortFunc(h.Devices, func(a, b ledger.DeviceFacts) int { return strings.Compare(string(a.UUID), string(b.UUID)) })
		h.Devices = slices.CompactFunc(h.Devices, func(a, b ledger.DeviceFacts) bool { return a.UUID == b.UUID })
		return h
	})
}

const ledgerMax = 1_000_000_000

func task() *rapid.Generator[ledger.Task] {
	return rapid.Custom(func(t *rapid.T) ledger.Task {
		x := ledger.Task{ARN: arnHead + "task/gpu-prod/" + rapid.OneOf(rapid.StringMatching(`[0-9a-f]{32}`), word()).Draw(t, "id"), Version: rapid.Int64Range(0, ledgerMax).Draw(t, "v"),
			At: moment().Draw(t, "at"), Phase: ledger.Phase(rapid.IntRange(0, 2).Draw(t, "phase")), LastStatus: word().Draw(t, "status"), Definition: word().Draw(t, "definition"),
			Group: word().Draw(t, "group"), StartedBy: word().Draw(t, "by"), Tier: gpu.Tier(word().Draw(t, "tier")), Capacity: ledger.CapacityType(word().Draw(t, "capacity")),
			Heard: moment().Draw(t, "heard"), StoppingAt: moment().Draw(t, "stopping"), StoppedAt: moment().Draw(t, "stopped"),
			StopTimeout: time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "timeout")) * time.Millisecond, StopCode: word().Draw(t, "code"), StopReason: word().Draw(t, "reason"),
			Revived: rapid.Int64Range(0, 9).Draw(t, "revived")}
		for range rapid.IntRange(0, 3).Draw(t, "shares") {
			s := ledger.TaskShare{Container: word().Draw(t, "container"), Need: ledger.Need(rapid.IntRange(0, 3).Draw(t, "need")), Sized: rapid.Bool().Draw(t, "sized"),
				Memory: gpu.MiB(rapid.Int64().Draw(t, "memory")), Compute: gpu.Percent(rapid.Int32().Draw(t, "compute"))}
			if rapid.Bool().Draw(t, "named") {
				s.GPUs = []gpu.UUID{card().Draw(t, "gpu")}
			}
			if rapid.Bool().Draw(t, "odd") {
				s.Bad = []string{word().Draw(t, "bad")}
			}
			x.Shares = append(x.Shares, s)
		}
		return x
	})
}
