package readiness

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Floors that Amazon ECS names for sharing GPUs on EC2.
const (
	AgentFloor = "1.107.0"  // ECS container agent
	AMIFloor   = "20261019" // ECS-optimized AL2023 GPU AMI
)

// Heard is what a host's own agent said last. The zero value: nothing yet.
type Heard struct {
	At   time.Time
	MPS  string // state of the daemon: serving, ready, absent …
	NVML string
}

// Input is a cluster as the ledger and the hosts' agents tell it.
type Input struct {
	Cluster string
	Views   []ledger.View
	Heard   map[string]Heard // by EC2 instance id
	// AMIs are the release dates of AMI ids, as 20261019: no event tells them.
	AMIs map[string]string
	// Silence is how old a word may be before a host counts as unwatched.
	Silence time.Duration
}

// Report is the answer. Ready is true when no host and no service has a failing check.
type Report struct {
	Cluster   string     `json:"clusterArn"`
	At        time.Time  `json:"at"`
	Ready     bool       `json:"ready"`
	Services  []Service  `json:"services"`
	Hosts     []Host     `json:"hosts"`
	CoTenancy []CoTenant `json:"coTenancy"`
}

// Verdict of one check. Unknown is not a pass.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Service is a GPU service, or a family run outside services.
type Service struct {
	Name     string   `json:"name"`
	Capacity []string `json:"capacity"` // EC2, MANAGED_INSTANCES, UNKNOWN
	Tiers    []string `json:"tiers"`
	Tasks    int      `json:"tasks"`
	// Watcher says who sees its MPS daemon fail, and on how many of its hosts nobody does.
	Watcher   string   `json:"watcher"`
	Unwatched []string `json:"unwatchedHosts"`
	Verdict   Verdict  `json:"verdict"`
}

// Host is one host's floors and capability.
type Host struct {
	EC2      string   `json:"ec2InstanceId,omitempty"`
	Instance string   `json:"containerInstanceArn"`
	Type     string   `json:"instanceType,omitempty"`
	Capacity string   `json:"capacity"`
	Agent    string   `json:"agentVersion,omitempty"`
	AgentOK  Verdict  `json:"agentFloor"`
	AMI      string   `json:"ami,omitempty"`
	AMIOK    Verdict  `json:"amiFloor"`
	Capable  Verdict  `json:"capable"`
	Why      []string `json:"why"` // not capable, or not sure: each with what to do
}

// CoTenant is one card that tasks of several services or tiers share: they share one
// CUDA context and one fault domain.
type CoTenant struct {
	GPU      gpu.UUID `json:"gpu"`
	EC2      string   `json:"ec2InstanceId,omitempty"`
	Services []string `json:"services"`
	Tiers    []string `json:"tiers"`
	Tasks    int      `json:"tasks"`
	Mixed    bool     `json:"mixedTiers"`
}

// Judge writes the report.
func Judge(in Input, now time.Time) Report {
	r := Report{Cluster: in.Cluster, At: now, Ready: true, Services: []Service{}, Hosts: []Host{}, CoTenancy: []CoTenant{}}
	services := map[string]*seen{}
	for _, v := range in.Views {
		if v.Host.Gone() {
			continue
		}
		h := host(v, in)
		r.Hosts = append(r.Hosts, h)
		r.Ready = r.Ready && h.Capable != Fail && h.AgentOK != Fail && h.AMIOK != Fail
		for _, d := range v.Devices {
			if c, shared := coTenant(v, d); shared {
				r.CoTenancy = append(r.CoTenancy, c)
			}
		}
		addServices(services, v, in, now)
	}
	for _, s := range services {
		x := s.judge()
		r.Services = append(r.Services, x)
		r.Ready = r.Ready && x.Verdict != Fail
	}
	slices.SortFunc(r.Services, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Hosts, func(a, b Host) int { return cmp.Compare(a.Instance, b.Instance) })
	slices.SortFunc(r.CoTenancy, func(a, b CoTenant) int {
		if a.Mixed != b.Mixed { // what a reviewer looks for, first
			if a.Mixed {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.GPU, b.GPU)
	})
	return r
}

func host(v ledger.View, in Input) Host {
	h := v.Host
	out := Host{EC2: h.Fixed.EC2InstanceID, Instance: h.ID.Instance, Type: h.Fixed.InstanceType, Capacity: capacity(h), Agent: h.Registration.AgentVersion,
		AMI: h.Fixed.AMI, Why: []string{}, AgentOK: Pass, AMIOK: Pass, Capable: Pass}
	if h.Fixed.CapacityType != ledger.CapacityManaged { // there, ECS keeps both
		out.AgentOK = Below(h.Registration.AgentVersion, AgentFloor)
		out.AMIOK = Below(in.AMIs[h.Fixed.AMI], AMIFloor)
	}
	why := func(s string) { out.Why = append(out.Why, s) }
	switch out.AgentOK {
	case Fail:
		why("the container agent is below " + AgentFloor + ": roll to an AMI of " + AMIFloor + " or later")
	case Unknown:
		why("the container agent's version was not told: wait for a sweep, or see DescribeContainerInstances")
	}
	switch out.AMIOK {
	case Fail:
		why("the AMI of " + in.AMIs[h.Fixed.AMI] + " is older than " + AMIFloor + ": roll to a newer ECS-optimized AL2023 GPU AMI")
	case Unknown:
		why("the AMI's release is not known here: give it, as ami-…=" + AMIFloor)
	}
	capable(&out, v, in.Heard[h.Fixed.EC2InstanceID])
	return out
}

// capable tells why a host has no ecs.capability.gpu-sharing-mps. The agent tests five
// things at boot and registers only the result; what the host's own agent says is the
// best witness of which it was.
func capable(out *Host, v ledger.View, heard Heard) {
	h := v.Host
	if h.Registration.SharingCapable {
		return
	}
	if h.Registration.Status == "" {
		out.Capable = Unknown
		out.Why = append(out.Why, "no registration of it was seen: wait for a sweep")
		return
	}
	out.Capable = Fail
	before := len(out.Why)
	why := func(s string) { out.Why = append(out.Why, s) }
	if len(h.Cards()) == 0 {
		why("no GPU is registered: see whether the driver was loaded when ecs-init ran")
	}
	if strings.HasPrefix(h.Fixed.InstanceType, "g6f.") || strings.HasPrefix(h.Fixed.InstanceType, "gr6f.") {
		why("fractional " + h.Fixed.InstanceType + " is a vGPU, which cannot be shared through MPS")
	}
	if heard.MPS == "absent" {
		why("nvidia-mps.service is absent: use the ECS-optimized AL2023 GPU AMI")
	}
	for _, d := range v.Devices {
		if !d.Vanished && d.Registered && d.Total <= 0 {
			why("the memory of " + d.UUID.Short() + " was not reported: one such card takes the capability from the whole host")
		}
	}
	if len(out.Why) == before {
		why("ecs.capability.gpu-sharing-mps is not among its attributes: see /var/log/ecs/ecs-init.log for which of the five conditions failed")
	}
}

func capacity(h ledger.Host) string {
	return cmp.Or(string(h.Fixed.CapacityType), "UNKNOWN")
}

// Below tells whether a dotted version reaches a floor; one that cannot be read is Unknown.
func Below(version, floor string) Verdict {
	have, ok := numbers(version)
	if !ok {
		return Unknown
	}
	want, _ := numbers(floor)
	if slices.Compare(have, want) < 0 {
		return Fail
	}
	return Pass
}

func numbers(v string) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimPrefix(v, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}
