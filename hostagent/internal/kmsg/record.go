package kmsg

import (
	"strconv"
	"strings"
	"time"
)

// Record is one entry of the kernel's log.
type Record struct {
	Kernel   bool          // facility 0: written by the kernel, not through it
	Level    int           // 0 emergency … 7 debug
	Sequence uint64        // of the boot; a jump means that records were lost
	Since    time.Duration // since boot, by the monotonic clock
	Cont     bool          // continues the record before it
	Text     string        // bounded, printable
}

// MaxText bounds the text kept of one record, in bytes after escaping.
const MaxText = 512

// ParseRecord reads "priority,sequence,microseconds,flags[,…];text" and drops the
// key lines after the text. ok is false for what is no record.
func ParseRecord(b []byte) (r Record, ok bool) {
	head, text, found := strings.Cut(string(b), ";")
	f := strings.Split(head, ",")
	if !found || len(f) < 3 || len(head) > 256 {
		return Record{}, false
	}
	priority, err1 := strconv.ParseUint(f[0], 10, 32)
	seq, err2 := strconv.ParseUint(f[1], 10, 64)
	micro, err3 := strconv.ParseUint(f[2], 10, 53)
	if err1 != nil || err2 != nil || err3 != nil || micro > 1<<50 {
		return Record{}, false
	}
	text, _, _ = strings.Cut(text, "\n")
	return Record{
		Kernel: priority>>3 == 0, Level: int(priority & 7), Sequence: seq, Since: time.Duration(micro) * time.Microsecond,
		Cont: len(f) > 3 && (strings.HasPrefix(f[3], "c") || strings.HasPrefix(f[3], "+")), Text: Printable(text, MaxText),
	}, true
}

// Printable escapes what is not printable ASCII and bounds the result to n bytes.
func Printable(s string, n int) string {
	clean := len(s) <= n
	for i := 0; clean && i < len(s); i++ {
		clean = s[i] >= ' ' && s[i] <= '~'
	}
	if clean {
		return s
	}
	var b strings.Builder
	const hex = "0123456789abcdef"
	for i := 0; i < len(s) && b.Len() < n; i++ {
		c := s[i]
		switch {
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		case b.Len()+4 > n:
			return b.String()
		default:
			b.WriteString(`\x`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
