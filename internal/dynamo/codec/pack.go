package codec

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// How a word is packed, by its first byte.
const (
	packedText byte = iota // as it is
	packedHex              // 32 letters of lower hexadecimal, as 16 bytes
	packedCard             // "GPU-" and a UUID, as 16 bytes
)

// common are words that nearly every host has. They are not written at all: their
// place in this list is their number. The list only ever grows at its end, since
// items out there refer to it.
var common = []string{"", "ACTIVE", "DRAINING", "INACTIVE", "RUNNING", "PENDING", "STOPPED", "STOPPING", "EC2", "MANAGED_INSTANCES", "running", "terminated",
	"idle", "shared", "dedicated", "unknown", "standard", "critical", "best-effort", "ACCELERATED_COMPUTE", "CONTAINER_RUNTIME", "AGENT_CONNECTIVITY", "OK", "IMPAIRED",
	"INSUFFICIENT_DATA", "INITIALIZING", "app", "ServiceSchedulerInitiated", "EssentialContainerExited", "UserInitiated", "TaskFailedToStart"}

// pack writes a word in the fewest bytes that give it back exactly.
func pack(w string) []byte {
	if len(w) == 32 {
		if raw, ok := lowerHex(w); ok {
			return append([]byte{packedHex}, raw...)
		}
	}
	if id, ok := strings.CutPrefix(w, "GPU-"); ok && len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-' {
		if raw, ok := lowerHex(strings.ReplaceAll(id, "-", "")); ok && len(raw) == 16 {
			return append([]byte{packedCard}, raw...)
		}
	}
	return append([]byte{packedText}, w...)
}

func lowerHex(s string) ([]byte, bool) {
	raw, err := hex.DecodeString(s)
	return raw, err == nil && hex.EncodeToString(raw) == s
}

func unpack(b []byte) (string, error) {
	if len(b) == 0 {
		return "", fmt.Errorf("%w: a word without a kind", ErrCorrupt)
	}
	kind, b := b[0], b[1:]
	switch {
	case kind == packedText:
		return string(b), nil
	case kind == packedHex && len(b) == 16:
		return hex.EncodeToString(b), nil
	case kind == packedCard && len(b) == 16:
		s := hex.EncodeToString(b)
		return "GPU-" + s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], nil
	}
	return "", fmt.Errorf("%w: a word of unknown kind %d", ErrCorrupt, kind)
}

// splitARN parts an ARN behind its last slash.
func splitARN(arn string) (head, last string) {
	i := strings.LastIndexByte(arn, '/')
	return arn[:i+1], arn[i+1:]
}
