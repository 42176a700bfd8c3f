package nvml

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNoFigureBeyondACardPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, ok := memoryOf(rapid.Uint64().Draw(t, "total"), rapid.Uint64().Draw(t, "reserved"), rapid.Uint64().Draw(t, "used"))
		if ok && (m.Usable <= 0 || m.Usable > m.Total || m.Used > m.Total || m.Total > maxCardMiB) {
			t.Fatalf("%+v", m)
		}
	})
	if _, ok := processMemory(math.MaxUint64-5<<20, 0); ok {
		t.Error("a wrapped figure passed")
	}
	if m, ok := processMemory(math.MaxUint64, 0); m != nil || !ok {
		t.Error("'not available' is no wrong figure")
	}
}

func TestBusIDsOfAllSourcesMeet(t *testing.T) {
	for in, want := range map[string]string{
		"00000000:3B:00.0": "0000:3b:00", "PCI:0000:3b:00": "0000:3b:00", "0000:01:00.0": "0000:01:00",
		"3b:00.0": "0000:3b:00", "00010000:3b:00.0": "10000:3b:00", "": "", "0000:zz:00": "", "::": "", "0000:3b:00:00": "",
	} {
		if got := PCIAddress(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFieldValuesAreReadByTheirType(t *testing.T) {
	if v, ok := fieldValue(1, [8]byte{7, 0, 0, 0, 9, 9, 9, 9}); !ok || v != 7 {
		t.Error(v, ok)
	}
	if _, ok := fieldValue(4, [8]byte{255, 255, 255, 255, 255, 255, 255, 255}); ok {
		t.Error("a negative counter passed")
	}
	if _, ok := fieldValue(77, [8]byte{}); ok {
		t.Error("an unknown type passed")
	}
}
