package signals

import (
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// recoverable are the kinds that end by readings alone, each with its fault.
var recoverable = map[health.Kind]func(*Input, *nvml.Device, int){
	health.KindNVLink:           func(_ *Input, d *nvml.Device, _ int) { d.Links[0].Up = false },
	health.KindPCIe:             func(_ *Input, d *nvml.Device, _ int) { d.Width = ptr(8) },
	health.KindThrottle:         func(_ *Input, d *nvml.Device, _ int) { d.Throttle = ptr(nvml.ThrottleHWThermal) },
	health.KindPower:            func(_ *Input, d *nvml.Device, _ int) { d.Throttle = ptr(nvml.ThrottlePowerBrake) },
	health.KindThermal:          func(_ *Input, d *nvml.Device, _ int) { d.Margin = ptr(-1) },
	health.KindRemapCount:       func(_ *Input, d *nvml.Device, _ int) { d.Remap = &nvml.Remap{Uncorrectable: 600} },
	health.KindRetiredPending:   func(_ *Input, d *nvml.Device, _ int) { d.Retired = &nvml.Retired{Pending: true} },
	health.KindTotalChanged:     func(_ *Input, d *nvml.Device, _ int) { d.Memory = &nvml.Memory{Total: 1000, Usable: 900} },
	health.KindCountMismatch:    func(in *Input, _ *nvml.Device, _ int) { in.Sample.Count = 0 },
	health.KindDriverMismatch:   func(in *Input, _ *nvml.Device, _ int) { in.KernelModule = "1" },
	health.KindPersistenceOff:   func(_ *Input, d *nvml.Device, _ int) { d.Persistence = ptr(false) },
	health.KindNVMLUnresponsive: func(in *Input, _ *nvml.Device, _ int) { in.NVML, in.Fresh = NVMLSilent, false },
	health.KindDState:           func(in *Input, _ *nvml.Device, _ int) { in.DState = []Stuck{{1, "x"}} },
}

// What Evaluate folds must still satisfy the debounce of health's own table, up
// and down: this runs both together over a quarter of an hour of a fault and a
// quarter of an hour without.
func TestFoldedSignalsRaiseAndClearInHealth(t *testing.T) {
	policy, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	for kind, fault := range recoverable {
		t.Run(string(kind), func(t *testing.T) {
			var st State
			hs := health.State{Facts: health.Facts{BootAt: begin.Add(-time.Hour), Devices: 1}}
			stood := func() bool {
				for _, c := range hs.Conditions {
					if c.Kind == kind && !c.Stood.IsZero() && c.Cleared.IsZero() {
						return true
					}
				}
				return false
			}
			now := begin
			run := func(steps int, with bool) {
				for i := range steps {
					now = now.Add(15 * time.Second)
					in := input(well())
					if with {
						fault(&in, &in.Sample.Devices[0], i)
					}
					var out []health.Signal
					st, out = Evaluate(st, in, now)
					var errs []error
					hs, _, errs = health.Assess(hs, out, policy, now)
					if len(errs) > 0 {
						t.Fatal(errs)
					}
				}
			}
			run(4, false)
			if stood() {
				t.Fatal("stands without a fault")
			}
			run(60, true)
			if !stood() {
				t.Fatal("does not stand after a quarter of an hour")
			}
			run(70, false)
			if stood() {
				t.Fatal("still stands a quarter of an hour after")
			}
		})
	}
}
