package placement

import (
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Device is one card as placement sees it.
type Device struct {
	UUID    gpu.UUID
	Total   gpu.MiB // zero when not known: nothing is placed on it
	Held    gpu.MiB
	Sized   bool // false when a share on it has no known size
	Mode    gpu.Mode
	Compute gpu.Percent // promised: the sum of ceilings, an unset one counts 100
	Clients int
	Tiers   []gpu.Tier // of the shares that hold, repeated as often as they are there
}

// Waiting is a hold on the host that no card was named for yet: it weighs on
// every card that could become its own.
type Waiting struct {
	Memory  gpu.MiB
	Compute gpu.Percent
	Tier    gpu.Tier
	Whole   bool
	Unsized bool
}

// HostView is one host as placement sees it.
type HostView struct {
	ID           string
	Zone         string
	InstanceType string
	Capable      bool // can share a card through MPS
	Active       bool // registered ACTIVE and its agent connected
	Leaving      bool
	Impaired     bool // a health check of ECS says so
	Managed      bool // Managed Instances: ECS alone places there
	Devices      []Device
	Waiting      []Waiting
}

// View is the fleet.
type View struct {
	Hosts []HostView
}

// FromLedger reads the fleet out of the ledger's own views.
func FromLedger(hosts []ledger.View) View {
	out := View{Hosts: make([]HostView, 0, len(hosts))}
	for _, v := range hosts {
		h := HostView{
			ID: v.Host.ID.String(), Zone: v.Host.Fixed.Zone, InstanceType: v.Host.Fixed.InstanceType,
			Capable: v.Host.Registration.SharingCapable,
			Active:  v.Host.Registration.Status == "ACTIVE" && v.Host.Registration.AgentConnected && !v.Host.Damaged,
			Leaving: len(v.Host.Leaving) > 0,
			Managed: v.Host.Fixed.CapacityType == ledger.CapacityManaged,
		}
		for _, c := range v.Host.Health {
			h.Impaired = h.Impaired || c.Status == "IMPAIRED"
		}
		for _, d := range v.Devices {
			if d.Registered && !d.Vanished {
				h.Devices = append(h.Devices, device(d))
			}
		}
		for _, s := range v.Unplaced {
			if s.State.Holds() {
				for range max(1, s.GPUs) {
					h.Waiting = append(h.Waiting, Waiting{Memory: s.Memory, Compute: s.Compute.OrFull(), Tier: s.Tier,
						Whole: s.Need == ledger.NeedWhole || s.Need == ledger.NeedAll, Unsized: !s.Sized})
				}
			}
		}
		out.Hosts = append(out.Hosts, h)
	}
	return out
}

func device(d ledger.Device) Device {
	_, known := d.Free()
	o := Device{UUID: d.UUID, Total: d.Total, Held: d.Held, Sized: known, Mode: d.Mode, Compute: d.Compute, Clients: d.Clients}
	for _, s := range d.Shares {
		if s.State.Holds() {
			o.Tiers = append(o.Tiers, s.Tier)
		}
	}
	return o
}
