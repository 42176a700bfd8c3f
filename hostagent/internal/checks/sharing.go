package checks

import (
	"fmt"
	"strconv"
	"strings"
)

// Floors below which ECS does not share GPUs on EC2.
const (
	AgentFloor = "1.107.0"
	AMIFloor   = 20261019
)

const (
	minShmMiB      = 64
	minDescriptors = 16_384 // each client costs the daemon several
)

func agentVersion(f *Facts) (Status, string, string) {
	if f.AgentVersion == "" {
		return Unknown, "the ECS agent did not tell its version", ""
	}
	older, ok := Older(f.AgentVersion, AgentFloor)
	switch {
	case !ok:
		return Unknown, fmt.Sprintf("%.32q is no version", f.AgentVersion), ""
	case older:
		return Failed, f.AgentVersion, "update the ECS agent to " + AgentFloor + " or newer"
	}
	return Passed, f.AgentVersion, ""
}

// Older reports whether dotted version a is before b; ok is false when either is
// none.
func Older(a, b string) (older, ok bool) {
	x, okA := numbers(a)
	y, okB := numbers(b)
	if !okA || !okB {
		return false, false
	}
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m = x[i]
		}
		if i < len(y) {
			n = y[i]
		}
		if m != n {
			return m < n, true
		}
	}
	return false, true
}

func numbers(v string) ([]int, bool) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	var out []int
	for p := range strings.SplitSeq(v, ".") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || len(out) == 6 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

func amiVersion(f *Facts) (Status, string, string) {
	date := 0
	for p := range strings.FieldsFuncSeq(f.AMI, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(p); err == nil && len(p) == 8 && n > 20200000 && n < 21000000 {
			date = n
		}
	}
	switch {
	case date == 0:
		return Unknown, "the AMI tells no release date", ""
	case date < AMIFloor:
		return Failed, strconv.Itoa(date), fmt.Sprintf("use the ECS-optimized AL2023 GPU AMI %d or newer", AMIFloor)
	}
	return Passed, strconv.Itoa(date), ""
}

func binary(f *Facts) (Status, string, string) {
	switch {
	case f.ControlBinary == nil:
		return Unknown, "not looked for", ""
	case !*f.ControlBinary:
		return Failed, "nvidia-cuda-mps-control is not there", "use the ECS-optimized GPU AMI; ECS looks for /usr/bin/nvidia-cuda-mps-control at boot"
	}
	return Passed, "nvidia-cuda-mps-control is there", ""
}

func unit(f *Facts) (Status, string, string) {
	switch {
	case f.UnitEnabled == "":
		return Unknown, "systemd was not asked", ""
	case f.UnitEnabled != "enabled" && f.UnitEnabled != "enabled-runtime":
		return Failed, "nvidia-mps.service is " + f.UnitEnabled, "systemctl enable --now nvidia-mps.service, then restart the ecs service: ECS looks at boot only"
	case f.UnitActive == "active":
		return Passed, "enabled and active", ""
	case f.UnitActive == "":
		return Unknown, "enabled; whether it runs is not known", ""
	}
	return Failed, "nvidia-mps.service is enabled and " + f.UnitActive, "look at its journal; systemctl reset-failed and start it again: ECS goes on offering sharing while it is dead"
}

func pipe(f *Facts) (Status, string, string) {
	p := f.Pipe
	switch {
	case p == nil:
		return Unknown, "not looked for", ""
	case !p.Exists:
		return Failed, p.Path + " is not there", "start nvidia-mps.service; then restart the ecs service when no task would be hurt, since the agent mounts the directory at its start only"
	case !p.IsDir:
		return Failed, p.Path + " is no directory", "remove it and restart nvidia-mps.service"
	case p.Mode.Perm()&0o001 == 0:
		return Failed, fmt.Sprintf("%s has mode %04o", p.Path, p.Mode.Perm()), "give others the right to enter: containers that do not run as root cannot reach the daemon"
	case p.Control == nil:
		return Failed, p.Path + " has no control socket", "restart nvidia-mps.service: the daemon is not listening there"
	case p.Control.Perm()&0o002 == 0:
		return Failed, fmt.Sprintf("%s/control has mode %04o", p.Path, p.Control.Perm()), "give others the right to write: connecting to a socket needs it"
	}
	return Passed, fmt.Sprintf("%s, mode %04o", p.Path, p.Mode.Perm()), ""
}

func legacyPipe(f *Facts) (Status, string, string) {
	switch {
	case f.LegacyPipe == nil:
		return Unknown, "not looked for", ""
	case *f.LegacyPipe && (f.Pipe == nil || f.Pipe.Path != "/tmp/nvidia-mps"):
		return Warned, "/tmp/nvidia-mps exists too", "remove it: CUDA looks there unasked, and whole-GPU tasks may fall into a server that is not theirs"
	}
	return Passed, "one pipe directory", ""
}

func shm(f *Facts) (Status, string, string) {
	switch {
	case f.ShmFreeMiB == nil:
		return Unknown, "not read", ""
	case *f.ShmFreeMiB < minShmMiB:
		return Warned, fmt.Sprintf("%d MiB free in /dev/shm", *f.ShmFreeMiB), fmt.Sprintf("free /dev/shm: below %d MiB new MPS clients may hang as they connect", minShmMiB)
	}
	return Passed, fmt.Sprintf("%d MiB free in /dev/shm", *f.ShmFreeMiB), ""
}

func descriptors(f *Facts) (Status, string, string) {
	switch {
	case f.Descriptors == nil:
		return Unknown, "the daemon's limit is not known", ""
	case *f.Descriptors < minDescriptors:
		return Warned, fmt.Sprintf("%d descriptors", *f.Descriptors), fmt.Sprintf("set LimitNOFILE=%d for nvidia-mps.service", minDescriptors)
	}
	return Passed, fmt.Sprintf("%d descriptors", *f.Descriptors), ""
}

// capability foretells whether ECS offers sharing here: the conditions that
// ecs-init measured at boot, by its own file.
func capability(f *Facts) (Status, string, string) {
	g := f.GPUInfo
	if g == nil {
		return Unknown, "what ecs-init measured is not known", ""
	}
	no := func(why, fix string) (Status, string, string) {
		return Failed, "ECS does not offer gpu-sharing-mps: " + why, fix
	}
	switch {
	case len(g.GPUIDs) == 0:
		return no("no NVIDIA GPU present", "check the driver, then restart the ecs service")
	case g.MpsControlBinaryPresent == nil || g.MpsServiceEnabled == nil:
		return no("its ecs-init is too old to look for MPS", "update ecs-init and the ECS agent to "+AgentFloor)
	case !*g.MpsControlBinaryPresent:
		return no("MPS control binary not present on host", "use the ECS-optimized GPU AMI")
	case !*g.MpsServiceEnabled:
		return no("nvidia-mps systemd service is not enabled on host", "enable it, then restart the ecs service: it looks at boot only")
	case g.HasVGPU != nil && *g.HasVGPU:
		return no("instance has an NVIDIA vGPU slice", "use an instance type with whole cards")
	}
	for _, id := range g.GPUIDs {
		if g.GPUMemoryMiB[id] <= 0 {
			return no("not every discovered GPU reported usable memory ("+id.Short()+")", "restart the ecs service; replace the instance if it stays")
		}
	}
	return Passed, "ECS offers gpu-sharing-mps", ""
}
