package signals

import (
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// fabricMemory is how long a fatal NVSwitch error speaks for the fabric.
const fabricMemory = 10 * time.Minute

func seen(bad bool) health.Reading {
	if bad {
		return health.Seen
	}
	return health.Clear
}

// host reads what concerns no single card.
func (st *State) host(in Input, now time.Time) []reading {
	var out []reading
	add := func(kind health.Kind, w health.Witness, bad bool, text string) {
		if !bad {
			text = ""
		}
		out = append(out, reading{kind: kind, witness: w, is: seen(bad), text: text})
	}
	if in.NVML != NVMLUnknown {
		add(health.KindNVMLUnresponsive, health.WitnessAgent, in.NVML == NVMLSilent, in.NVMLText)
	}
	switch {
	case in.NVML == NVMLMismatch:
		add(health.KindDriverMismatch, health.WitnessNVML, true, in.NVMLText)
	case in.Fresh && in.KernelModule != "" && in.Sample.Driver != "":
		add(health.KindDriverMismatch, health.WitnessNVML, in.KernelModule != in.Sample.Driver,
			fmt.Sprintf("kernel module %s, library for driver %s", in.KernelModule, in.Sample.Driver))
	case in.Fresh:
		add(health.KindDriverMismatch, health.WitnessNVML, false, "")
	}
	if in.Fresh {
		// Where the instance type's number is not known, cards that were there are
		// expected to stay.
		st.most = max(st.most, in.Sample.Count)
		if want := max(in.Expected, st.most); want > 0 {
			add(health.KindCountMismatch, health.WitnessNVML, in.Sample.Count < want,
				fmt.Sprintf("NVML counts %d of %d cards", in.Sample.Count, want))
		}
	}
	if in.Fresh {
		out = append(out, persistence(in)...)
	}
	if in.DStateRead {
		names := make([]string, 0, 4)
		for _, p := range in.DState[:min(len(in.DState), 4)] {
			names = append(names, fmt.Sprintf("%d %q", p.PID, p.Name))
		}
		add(health.KindDState, health.WitnessAgent, len(in.DState) > 0,
			fmt.Sprintf("%d processes in uninterruptible sleep on the device: %s", len(in.DState), strings.Join(names, ", ")))
	}
	return append(out, st.fabric(in, now)...)
}

func persistence(in Input) []reading {
	known, off := 0, 0
	for _, d := range in.Sample.Devices {
		if d.Persistence != nil {
			known++
			if !*d.Persistence {
				off++
			}
		}
	}
	if known == 0 {
		return nil
	}
	r := reading{kind: health.KindPersistenceOff, witness: health.WitnessNVML, is: seen(off > 0)}
	if off > 0 {
		r.text = fmt.Sprintf("persistence mode is off on %d of %d cards", off, known)
	}
	return []reading{r}
}

// fabric speaks only on hosts whose NVSwitches were ever heard of.
func (st *State) fabric(in Input, now time.Time) []reading {
	for _, s := range in.SXids {
		st.switches = true
		if s.Fatal && s.At.After(st.fatalSX) {
			st.fatalSX, st.lastSX = s.At, fmt.Sprintf("fatal SXid %d", s.Code)
		}
	}
	if !st.switches {
		return nil
	}
	bad := !st.fatalSX.IsZero() && now.Sub(st.fatalSX) < fabricMemory
	r := reading{kind: health.KindFabricManager, witness: health.WitnessKernelLog, is: seen(bad)}
	if bad {
		r.text = st.lastSX
	}
	return []reading{r}
}
