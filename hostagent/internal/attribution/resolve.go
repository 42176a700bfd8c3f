package attribution

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Client says how a container reaches the card.
type Client string

// A client goes through the MPS server; a bypass holds the card beside it and no
// limit binds it. Unknown where the driver has no list of MPS processes.
const (
	ClientUnknown Client = "unknown"
	ClientMPS     Client = "mps"
	ClientBypass  Client = "bypass"
	ClientMixed   Client = "mixed" // some processes each
)

// Usage is what one container holds of one card.
type Usage struct {
	Container Container
	Device    gpu.UUID
	PIDs      []int
	Count     gpu.Processes
	Client    Client
	Memory    gpu.MiB // sum of what NVML knows
	Unknown   int     // processes whose memory NVML does not know
	Largest   gpu.MiB // of one process: ECS's ceiling is for each process

	InForce    Limits // tightest in the environments of its processes; zero fields: none
	Unlimited  int    // processes whose environment was read and has no memory limit
	Unread     int    // processes whose environment could not be read
	Promise    gpu.MiB
	OverBy     gpu.MiB // Memory beyond Promise: the soft ceiling; 0: within, or nothing was promised
	LimitWrong bool    // a limit in force that is missing or looser than the promise
}

// Foreign is a process on a card that is of no known container.
type Foreign struct {
	Device    gpu.UUID
	PID       int
	Name      string
	Exe       string
	Container string // an id that no source knows; empty: a process of the host
	Memory    gpu.MiB
	Known     bool // Memory is known
}

// View is the attribution of one sample.
type View struct {
	Usages  []Usage // by device, then container
	Foreign []Foreign
	Gone    []int          // listed by NVML, ended or unreadable before they were read
	Servers []int          // MPS server processes
	Shares  map[int]string // pid → container id, for those attributed
}

// Resolve attributes a sample. procs holds the processes that could be read,
// containers those known by id, and promises what the ledger promised each task
// in MiB, where it did (else the container's own injected limit is the promise).
func Resolve(s nvml.Sample, procs map[int]Process, containers map[string]Container, promises map[string]gpu.MiB) View {
	v := View{Shares: map[int]string{}}
	for i := range s.Devices {
		v.device(&s.Devices[i], procs, containers, promises)
	}
	slices.Sort(v.Gone)
	v.Gone = slices.Compact(v.Gone)
	slices.Sort(v.Servers)
	v.Servers = slices.Compact(v.Servers)
	return v
}

func (v *View) device(d *nvml.Device, procs map[int]Process, containers map[string]Container, promises map[string]gpu.MiB) {
	byID := map[string]*Usage{}
	clients := map[string][2]int{} // MPS, beside
	for _, p := range d.Processes {
		proc, ok := procs[p.PID]
		if !ok {
			v.Gone = append(v.Gone, p.PID)
			continue
		}
		c, known := containers[proc.Container]
		if proc.Container == "" && isServer(proc) {
			v.Servers = append(v.Servers, p.PID)
			continue
		}
		if proc.Container == "" || !known {
			f := Foreign{Device: d.UUID, PID: p.PID, Name: proc.Name, Exe: proc.Exe, Container: proc.Container}
			if p.Memory != nil {
				f.Memory, f.Known = *p.Memory, true
			}
			v.Foreign = append(v.Foreign, f)
			continue
		}
		u := byID[c.ID]
		if u == nil {
			u = &Usage{Container: c, Device: d.UUID}
			byID[c.ID] = u
		}
		u.add(p, proc)
		n := clients[c.ID]
		if p.MPS {
			n[0]++
		} else {
			n[1]++
		}
		clients[c.ID] = n
		v.Shares[p.PID] = c.ID
	}
	first := len(v.Usages)
	for id, u := range byID {
		u.judge(clients[id], d.HasMPS, promises)
		v.Usages = append(v.Usages, *u)
	}
	slices.SortFunc(v.Usages[first:], func(a, b Usage) int { return cmp.Compare(a.Container.ID, b.Container.ID) })
}

func (u *Usage) add(p nvml.Process, proc Process) {
	u.PIDs = append(u.PIDs, p.PID)
	if p.Memory != nil {
		u.Memory, u.Largest = u.Memory.Add(*p.Memory), max(u.Largest, *p.Memory)
	} else {
		u.Unknown++
	}
	switch l := proc.Limits; {
	case !proc.HasLimits:
		u.Unread++
	default:
		if l.Memory == 0 {
			u.Unlimited++
		} else if u.InForce.Memory == 0 || l.Memory > u.InForce.Memory {
			u.InForce.Memory = l.Memory // the loosest: the others are held tighter
		}
		if l.Compute > u.InForce.Compute {
			u.InForce.Compute = l.Compute
		}
		if u.InForce.Pipe == "" {
			u.InForce.Pipe = l.Pipe
		}
	}
}

func (u *Usage) judge(clients [2]int, hasMPS bool, promises map[string]gpu.MiB) {
	u.Count = gpu.ProcessesSingle
	if len(u.PIDs) > 1 {
		u.Count = gpu.ProcessesSeveral
	}
	switch {
	case !hasMPS:
		u.Client = ClientUnknown
	case clients[1] == 0:
		u.Client = ClientMPS
	case clients[0] == 0:
		u.Client = ClientBypass
	default:
		u.Client = ClientMixed
	}
	u.Promise = u.Container.Promise.Memory
	if p, ok := promises[u.Container.Task]; ok && u.Container.Task != "" {
		u.Promise = p
	}
	if u.Promise > 0 {
		u.OverBy = max(u.Memory.Sub(u.Promise), 0)
		u.LimitWrong = u.Unlimited > 0 || u.InForce.Memory > u.Promise
	}
}

// isServer recognises the MPS server and control daemon among the host's own
// processes; in a container the name would prove nothing.
func isServer(p Process) bool {
	name := path.Base(p.Exe)
	if p.Exe == "" {
		name = p.Name
	}
	return strings.HasPrefix(name, "nvidia-cuda-mps")
}
