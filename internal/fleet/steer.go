package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Attributes are what the steering reads and writes of container instances. Adapters
// keep to ECS's budgets and to its bound of attributes a call.
type Attributes interface {
	// ListAttribute lists the hosts of a cluster that have an attribute, with its value.
	ListAttribute(ctx context.Context, cluster, name string) ([]Attribute, error)
	PutAttributes(ctx context.Context, cluster string, as []Attribute) error
	DeleteAttributes(ctx context.Context, cluster string, as []Attribute) error
}

// Attribute is one of one container instance.
type Attribute struct{ Instance, Name, Value string }

// SteerMode says whether attributes are written. Only SteerAct writes.
type SteerMode string

// The modes; the zero value observes. SteerRemove takes our attributes off, before
// uninstalling.
const (
	SteerObserve   SteerMode = "observe"
	SteerRecommend SteerMode = "recommend"
	SteerAct       SteerMode = "act"
	SteerRemove    SteerMode = "remove"
)

// Steer keeps attributes on container instances, so that a placement constraint of a
// service keeps ECS to the policy.
type Steer struct {
	Store      ledger.Store
	Attributes Attributes
	Policy     placement.Policy
	Mode       SteerMode
	Clock      Clock
	Log        *slog.Logger
}

// SteerReport counts what a run found and did.
type SteerReport struct {
	Cluster     string
	Hosts       int
	Put, Delete int // differences; written only in mode act
	Written     bool
}

// Cluster brings the attributes of a cluster's hosts up to date. Only what differs is
// written.
func (s *Steer) Cluster(ctx context.Context, cluster string) (SteerReport, error) {
	if s.Mode == SteerRemove {
		return s.Remove(ctx, cluster)
	}
	rep := SteerReport{Cluster: cluster}
	want := map[Attribute]bool{}
	now := s.Clock()
	err := EachHost(ctx, s.Store, cluster, func(h ledger.Host) error {
		if h.Gone() || !Visible(h) || h.Fixed.CapacityType == ledger.CapacityManaged {
			return nil // the attributes of Managed Instances are not read by ECS's placement
		}
		rep.Hosts++
		for _, a := range Steering(h.View(now), s.Policy) {
			want[a] = true
		}
		return nil
	})
	if err != nil {
		return rep, fmt.Errorf("steer %s: %w", cluster, err)
	}
	return s.write(ctx, rep, want)
}

// Remove takes every attribute of ours off, for uninstalling. It writes in any mode:
// it is asked for by a person.
func (s *Steer) Remove(ctx context.Context, cluster string) (SteerReport, error) {
	all := *s
	all.Mode = SteerAct
	return all.write(ctx, SteerReport{Cluster: cluster}, nil)
}

func (s *Steer) write(ctx context.Context, rep SteerReport, want map[Attribute]bool) (SteerReport, error) {
	have := map[Attribute]bool{}
	for _, name := range attributeNames(s.Policy) {
		as, err := s.Attributes.ListAttribute(ctx, rep.Cluster, name)
		if err != nil {
			return rep, fmt.Errorf("steer %s: %w", rep.Cluster, err)
		}
		for _, a := range as {
			have[a] = true
		}
	}
	named := map[[2]string]bool{}
	var put, drop []Attribute
	for a := range want {
		named[[2]string{a.Instance, a.Name}] = true
		if !have[a] {
			put = append(put, a)
		}
	}
	for a := range have {
		if !named[[2]string{a.Instance, a.Name}] {
			drop = append(drop, a)
		}
	}
	rep.Put, rep.Delete = len(put), len(drop)
	sortAttributes(put)
	sortAttributes(drop)
	for _, a := range put {
		s.Log.InfoContext(ctx, "steering", "mode", s.Mode, "host", a.Instance, "attribute", a.Name, "value", a.Value)
	}
	if s.Mode != SteerAct || len(put)+len(drop) == 0 {
		return rep, nil
	}
	rep.Written = true
	return rep, errors.Join(s.Attributes.PutAttributes(ctx, rep.Cluster, put), s.Attributes.DeleteAttributes(ctx, rep.Cluster, drop))
}

// sortAttributes puts closed doors first: a host that must not be used is told of
// before one that may be.
func sortAttributes(as []Attribute) {
	slices.SortFunc(as, func(a, b Attribute) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), strings.Compare(a.Instance, b.Instance), strings.Compare(a.Name, b.Name))
	})
}

// AttributeAdmit says whether a host takes sharing tasks at all: "true" or "false".
const AttributeAdmit = "bulkhead.admit"

// MaxSteeredTiers bounds the tiers that have an attribute: a host takes ten of ours
// and others' together.
const MaxSteeredTiers = 6

// AttributeOf is the attribute of a tier: the compute, in percent, that every card which
// ECS could choose has left for it, as three digits in steps of ten. "000" takes none.
func AttributeOf(t gpu.Tier) string { return AttributeAdmit + "." + string(t) }

func attributeNames(p placement.Policy) []string {
	out := []string{AttributeAdmit}
	for _, t := range steeredTiers(p) {
		out = append(out, AttributeOf(t))
	}
	return out
}

// steeredTiers are the policy's, the first by name.
func steeredTiers(p placement.Policy) []gpu.Tier {
	var out []gpu.Tier
	for t := range p.Tiers {
		out = append(out, t)
	}
	slices.Sort(out)
	return out[:min(len(out), MaxSteeredTiers)]
}

// Steering are the attributes that a host should have. Every card counts that ECS could
// choose for a share of 1 MiB, since the constraint does not know the task's memory.
func Steering(v ledger.View, p placement.Policy) []Attribute {
	host := v.Host.ID.Instance
	seen := placement.FromLedger([]ledger.View{v})
	any := false
	var out []Attribute
	for _, t := range steeredTiers(p) {
		room := headroom(seen, t, p)
		any = any || room > 0
		out = append(out, Attribute{host, AttributeOf(t), fmt.Sprintf("%03d", room)})
	}
	return append(out, Attribute{host, AttributeAdmit, fmt.Sprint(any)})
}

// headroom is the highest ceiling, in steps of ten, that the host admits of a tier.
func headroom(one placement.View, t gpu.Tier, p placement.Policy) int {
	p.Optimistic = false
	for room := int(gpu.FullCompute); room > 0; room -= 10 {
		pl, _, err := placement.Decide(one, placement.Demand{Memory: 1, Compute: gpu.Percent(room), Tier: t}, p)
		if err == nil && pl.Host != "" {
			return room
		}
	}
	return 0
}
