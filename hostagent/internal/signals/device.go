package signals

import (
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// look collects the readings of one card.
type look struct {
	d    *nvml.Device
	id   gpu.UUID
	out  []reading
	last *card
}

// device reads one card. A card that cannot say its name is known by its place.
func (st *State) device(d *nvml.Device, now time.Time) []reading {
	id := d.UUID
	if id == "" {
		id = st.byIndex[d.Index]
	} else {
		st.byIndex[d.Index] = id
	}
	if id == "" {
		return nil // never named: the host's count or the kernel log must tell
	}
	c := st.cards[id]
	l := look{d: d, id: id, last: &c}
	lost := d.Lost || !d.Could("handle")
	l.state(health.KindGPULost, true, lost, "", "NVML says that the GPU is lost or gives no handle for it")
	if !lost {
		l.recovery()
		l.memory()
		l.state(health.KindSRAMThreshold, d.SRAMThreshold != nil, d.SRAMThreshold != nil && *d.SRAMThreshold, "sramThreshold", "the SRAM error threshold is exceeded")
		l.rows()
		l.throttle(now)
		l.thermal()
		l.links()
		l.pcie(now)
	}
	st.cards[id] = c
	return l.out
}

// state adds a reading: what was read, else whether it failed or does not exist.
func (l *look) state(kind health.Kind, known, bad bool, field, text string) {
	r := reading{kind: kind, device: l.id, witness: health.WitnessNVML, is: seen(bad)}
	switch {
	case known && bad:
		r.text = text
	case !known && (!l.d.Could(field) || l.invalid(field)):
		r.is = health.Unreadable
	case !known:
		r.is = health.NotSupported
	}
	l.out = append(l.out, r)
}

func (l *look) invalid(field string) bool {
	for _, f := range l.d.Invalid {
		if f == field {
			return true
		}
	}
	return false
}

// value adds a reading with its figure; health compares it with its limits. near
// says that it must be told often.
func (l *look) value(kind health.Kind, v float64, near bool, text string) {
	r := reading{kind: kind, device: l.id, witness: health.WitnessNVML, is: seen(near), value: v, valued: true, text: text}
	l.out = append(l.out, r)
}

var recoveryNames = map[int]string{nvml.RecoveryNone: "none", nvml.RecoveryReset: "GPU reset", nvml.RecoveryReboot: "node reboot",
	nvml.RecoveryDrainP2P: "drain P2P", nvml.RecoveryDrainAndReset: "drain and reset", nvml.RecoveryIMEX: "recover IMEX domain",
	nvml.RecoveryBusReset: "bus reset", nvml.RecoverySystemReboot: "system reboot"}

func (l *look) recovery() {
	d := l.d
	if d.ResetRequired {
		l.state(health.KindResetRequired, true, true, "recovery", "NVML says that the GPU requires a reset")
		return
	}
	bad, text := d.Recovery != nil && *d.Recovery != nvml.RecoveryNone, ""
	if bad {
		name, ok := recoveryNames[*d.Recovery]
		if !ok {
			name = fmt.Sprintf("action %d", *d.Recovery)
		}
		text = "the driver's recovery action is " + name
	}
	l.state(health.KindResetRequired, d.Recovery != nil, bad, "recovery", text)
}

// memory reads ECC and a total that is not what it was in this boot.
func (l *look) memory() {
	d := l.d
	bad, text := d.VolatileUncorrected != nil && *d.VolatileUncorrected > 0, ""
	if bad {
		text = fmt.Sprintf("%d uncorrectable ECC errors since the driver was loaded", *d.VolatileUncorrected)
	}
	l.state(health.KindECCUncorrectable, d.VolatileUncorrected != nil, bad, "volatileUncorrected", text)
	if d.Memory == nil {
		l.state(health.KindTotalChanged, false, false, "memory", "")
		return
	}
	if l.last.total == 0 {
		l.last.total = d.Memory.Usable
	}
	l.state(health.KindTotalChanged, true, d.Memory.Usable != l.last.total, "memory",
		fmt.Sprintf("the card has %s, at first it had %s", d.Memory.Usable, l.last.total))
}

func (l *look) rows() {
	r := l.d.Remap
	l.state(health.KindRemapPending, r != nil, r != nil && r.Pending, "remap", "a row remap waits for a reset")
	l.state(health.KindRemapFailure, r != nil, r != nil && r.Failure, "remap", "a row remap failed")
	if r != nil {
		l.value(health.KindRemapCount, float64(r.Uncorrectable), r.Uncorrectable >= 512, fmt.Sprintf("%d rows remapped for uncorrectable errors", r.Uncorrectable))
	} else {
		l.state(health.KindRemapCount, false, false, "remap", "")
	}
	p := l.d.Retired
	l.state(health.KindRetiredPending, p != nil, p != nil && p.Pending, "retired", "a page waits to be retired")
	if p != nil {
		l.value(health.KindRetiredPages, float64(p.Pages), p.Pages >= 63, fmt.Sprintf("%d retired pages", p.Pages))
	} else {
		l.state(health.KindRetiredPages, false, false, "retired", "")
	}
}

// thermal gives the margin as the driver counts it: positive is cool. A driver
// without margins says nothing; a threshold is not guessed from the temperature.
func (l *look) thermal() {
	if l.d.Margin == nil {
		l.state(health.KindThermal, false, false, "margin", "")
		return
	}
	l.value(health.KindThermal, float64(*l.d.Margin), *l.d.Margin <= 3, fmt.Sprintf("%d degrees C below slowdown", *l.d.Margin))
}
