package nvml

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Bounds of what is believed. No card has 4 TiB; an unsigned counter that
// wrapped below zero reads as 17 592 186 044 415 MiB.
const (
	mib           = 1 << 20
	maxCardMiB    = 4 << 20
	maxCounter    = 1 << 53
	MaxDevices    = 64
	maxProcesses  = 4096
	maxLinks      = 64
	notAvailable  = math.MaxUint64
	maxNameBytes  = 96
	maxPages      = 1 << 20
	maxCelsius    = 300
	maxPCIeLanes  = 32
	maxPCIeGen    = 16
	maxRemapCount = 1 << 20
)

// memoryOf turns a card's bytes into Memory, or refuses what cannot be true.
func memoryOf(total, reserved, used uint64) (Memory, bool) {
	t, r, u := total/mib, reserved/mib, used/mib
	if t == 0 || t > maxCardMiB || r >= t || u > t {
		return Memory{}, false
	}
	// Usable is cut from bytes once, as the ECS agent does; cutting both terms
	// first could differ from its figure by one MiB.
	return Memory{Total: gpu.MiB(t), Reserved: gpu.MiB(r), Used: gpu.MiB(u), Usable: gpu.MiB((total - reserved) / mib)}, true
}

// processMemory returns nil when the driver does not know; ok is false when the
// figure cannot be true of a card with total MiB (zero: unknown).
func processMemory(used uint64, total gpu.MiB) (m *gpu.MiB, ok bool) {
	if used == notAvailable {
		return nil, true
	}
	v := gpu.MiB(used / mib)
	if v > maxCardMiB || total > 0 && v > total {
		return nil, false
	}
	return &v, true
}

// counter refuses a counter no machine reaches in its life.
func counter(v uint64) (*uint64, bool) {
	if v > maxCounter {
		return nil, false
	}
	return &v, true
}

func within(v, low, high int) (*int, bool) {
	if v < low || v > high {
		return nil, false
	}
	return &v, true
}

// fieldValue reads the union of nvmlValue_t by its nvmlValueType_t.
func fieldValue(kind uint32, raw [8]byte) (uint64, bool) {
	switch kind {
	case 1: // unsigned int
		return uint64(binary.NativeEndian.Uint32(raw[:4])), true
	case 2, 3: // unsigned long, unsigned long long
		return binary.NativeEndian.Uint64(raw[:]), true
	case 4: // signed long long
		v := int64(binary.NativeEndian.Uint64(raw[:]))
		return uint64(max(v, 0)), v >= 0
	case 5: // signed int
		v := int32(binary.NativeEndian.Uint32(raw[:4]))
		return uint64(max(v, 0)), v >= 0
	case 6: // unsigned short
		return uint64(binary.NativeEndian.Uint16(raw[:2])), true
	}
	return 0, false
}

// clean bounds a text of the driver and drops what is not printable ASCII.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), maxNameBytes)]
}

// PCIAddress writes a bus id the way Xid lines do, "0000:3b:00": domain of four
// digits (NVML writes eight), lower case, without the function. It returns ""
// for what is no bus id.
func PCIAddress(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	id = strings.TrimPrefix(id, "pci:")
	id, _, _ = strings.Cut(id, ".")
	parts := strings.Split(id, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 || len(parts[0]) > 8 || len(parts[1]) != 2 || len(parts[2]) != 2 {
		return ""
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789abcdef") != "" {
			return ""
		}
	}
	domain := strings.TrimLeft(parts[0], "0")
	for len(domain) < 4 {
		domain = "0" + domain
	}
	return domain + ":" + parts[1] + ":" + parts[2]
}
