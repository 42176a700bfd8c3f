package attribution

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

var cgroups = []struct{ name, text, want string }{
	{"v2, docker under systemd", "0::/system.slice/docker-" + idA + ".scope\n", idA},
	{"v2, ECS slice", "0::/ecstasks.slice/ecstasks-0123456789abcdef0123456789abcdef.slice/docker-" + idA + ".scope\n", idA},
	{"v2, cgroupfs", "0::/ecs/0123456789abcdef0123456789abcdef/" + idA + "\n", idA},
	{"v2, below its container", "0::/docker/" + idA + "/init.scope\n", idA},
	{"v2, a container inside: the outer one", "0::/docker/" + idA + "/docker/" + idB + "\n", idA},
	{"v1", "12:devices:/ecs/0123456789abcdef0123456789abcdef/" + idA + "\n11:memory:/ecs/0123456789abcdef0123456789abcdef/" + idA + "\n1:name=systemd:/ecs/x/" + idA + "\n0::/system.slice\n", idA},
	{"v1, older path with the cluster", "3:cpuset:/ecs/default/0123456789abcdef0123456789abcdef/" + idA + "\n", idA},
	{"hybrid", "4:pids:/docker/" + idA + "\n0::/docker/" + idA + "\n", idA},
	{"containerd of ECS", "0::/ecs/0123456789abcdef0123456789abcdef-1234567890\n", "0123456789abcdef0123456789abcdef-1234567890"},
	{"podman", "0::/machine.slice/libpod-" + idB + ".scope\n", idB},
	{"the host", "0::/system.slice/nvidia-mps.service\n", ""},
	{"root", "0::/\n", ""},
	{"lines that contradict", "3:a:/docker/" + idA + "\n2:b:/docker/" + idB + "\n", ""},
	{"nearly an id", "0::/docker/" + idA[:63] + "\n", ""},
	{"upper case is no id", "0::/docker/" + strings.ToUpper(idA) + "\n", ""},
	{"a path with colons", "0::/docker/" + idA + "/a:b:c\n", idA},
	{"empty", "", ""}, {"junk", "\x00\xff::::", ""},
}

func TestEveryCgroupShapeNamesItsContainer(t *testing.T) {
	for _, c := range cgroups {
		if got := ContainerID(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzACgroupNamesAContainerOrNothing(f *testing.F) {
	for _, c := range cgroups {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := ContainerID(s)
		if id != "" && (!isContainerID(id) || !strings.Contains(s, id)) {
			t.Fatalf("%q out of %q", id, s)
		}
		// What stands below the outermost container changes nothing.
		if id != "" && !strings.Contains(s, "\n") && strings.Count(s, ":") == 2 && len(s) < maxCgroupBytes/2 {
			if got := ContainerID(s + "/docker/" + idB); got != id && !strings.HasSuffix(s, id) {
				t.Fatalf("an inner container changed %q to %q", id, got)
			}
		}
	})
}

func TestLimitsAreReadAsEcsWritesThem(t *testing.T) {
	for value, want := range map[string]gpu.MiB{
		"0=4096M": 4096, "0=2G": 2048, "0=2GB,1=7G": 2048, "1=7G": 0, "0=512K": 0, "0=2048K": 2, "0=1073741824": 1024,
		"0=-5M": 0, "0=M": 0, "": 0, "0=": 0, "0=9223372036854775807G": 4 << 20, "0=5X": 0, " 0 = 5M ": 5,
	} {
		if got := ParseLimits([]string{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=" + value}).Memory; got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
	for value, want := range map[string]gpu.Percent{"30": 30, "30.0": 30, "0.5": 1, "0": 0, "101": 0, "NaN": 0, "x": 0} {
		if got := ParseLimits([]string{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + value}).Compute; got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// The law of peaks: every sample is in one window, and the highest window is the
// highest sample.
func TestPeaksLoseNoSampleAndNoHeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Peaks
		now, highest, samples := time.Unix(1000, 0), gpu.MiB(0), 0
		var got []Window
		for range rapid.IntRange(1, 80).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "s")) * time.Second)
			m := gpu.MiB(rapid.IntRange(0, 9000).Draw(t, "mib"))
			highest, samples = max(highest, m), samples+1
			got = append(got, p.Observe([]Usage{{Container: Container{ID: idA}, Device: "GPU-0a", Memory: m}}, now)...)
		}
		got = append(got, p.Observe(nil, now)...)
		top, n := gpu.MiB(0), 0
		for _, w := range got {
			top, n = max(top, w.Peak), n+w.Samples
			if w.To.Sub(w.From) > PeakWindow || w.Samples < 1 {
				t.Fatalf("%+v", w)
			}
		}
		if top != highest || n != samples || len(p.open) != 0 {
			t.Fatalf("peak %s of %s, %d samples of %d", top, highest, n, samples)
		}
	})
}

func TestAnUnknownFigureIsNoSample(t *testing.T) {
	var p Peaks
	p.Observe([]Usage{{Container: Container{ID: idA}, Unknown: 1}}, time.Unix(1, 0))
	if _, ok := p.Now(Share{Container: idA}); ok {
		t.Error("a peak of zero out of an unknown figure")
	}
}
