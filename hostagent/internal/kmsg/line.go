package kmsg

import (
	"strconv"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// Kind says what a line of the driver tells.
type Kind string

// The kinds of lines that matter.
const (
	Xid      Kind = "xid"      // an error of a card
	SXid     Kind = "sxid"     // an error of an NVSwitch
	Detail   Kind = "detail"   // more about the SXid before it
	OffBus   Kind = "off-bus"  // a card fell off the bus, told without a number
	Identity Kind = "identity" // which card lives at an address
	Mismatch Kind = "mismatch" // library and kernel module differ
)

// Line is what one line of the driver says.
type Line struct {
	Kind     Kind
	Address  string // "0000:3b:00", the form of nvml.PCIAddress; empty when the line names none
	Instance string // MIG instance, "GPU-I:05"
	Code     int    // Xid or SXid
	PID      int    // 0: unknown
	Process  string // as the kernel names it; a user chose it
	Cause    int    // the Xid that a clean-up (45) follows, 0 unknown
	Fatal    bool   // SXid and NVLink lines that say so
	Link     int    // NVLink or NVSwitch link, -1 none
	Unit     string // "GPC 0, TPC 1, SM 0"
	Recovery int    // of Xid 154: nvml.RecoveryNone …, -1 otherwise
	UUID     string // of an Identity line
	Text     string // the rest of the line
}

const maxCode = 99_999

// ParseLine reads the text of one kernel record. ok is false for every line that
// is not the driver's or says nothing of the kinds above.
func ParseLine(text string) (Line, bool) {
	l := Line{Link: -1, Recovery: -1}
	text = Printable(text, MaxText)
	if rest, ok := strings.CutPrefix(text, "NVRM: "); ok {
		if body, ok := strings.CutPrefix(rest, "Xid ("); ok {
			return l.xid(body)
		}
		return l.plain(rest)
	}
	if strings.HasPrefix(text, "nvidia-nvswitch") {
		head, body, ok := strings.Cut(text, ": SXid (")
		if ok && strings.Trim(strings.TrimPrefix(head, "nvidia-nvswitch"), "0123456789") == "" {
			return l.sxid(body)
		}
	}
	return Line{}, false
}

// place reads "PCI:0000:3b:00[ GPU-I:05]): 79[,] " and leaves the rest.
func (l *Line) place(body string) (rest string, ok bool) {
	where, rest, ok := strings.Cut(body, "): ")
	if !ok {
		return "", false
	}
	address, instance, _ := strings.Cut(where, " ")
	l.Address, l.Instance = nvml.PCIAddress(address), instance
	if l.Address == "" {
		return "", false
	}
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	code, err := strconv.Atoi(rest[:n])
	if err != nil || code <= 0 || code > maxCode {
		return "", false
	}
	l.Code = code
	rest = rest[n:]
	if rest != "" && rest[0] != ',' && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimLeft(rest, ", "), true
}

func (l Line) xid(body string) (Line, bool) {
	rest, ok := l.place(body)
	if !ok {
		return Line{}, false
	}
	l.Kind = Xid
	if v, after, ok := field(rest, "pid="); ok {
		rest = after
		if pid, err := strconv.Atoi(v); err == nil && pid > 0 && pid <= 1<<22 {
			l.PID = pid
		}
	}
	if v, after, ok := field(rest, "name="); ok {
		rest = after
		if v != "<unknown>" {
			l.Process = v
		}
	}
	l.Text = rest
	l.details()
	return l, true
}

// field takes "key=value, " off the front; quotes around the value go.
func field(s, key string) (value, rest string, ok bool) {
	v, ok := strings.CutPrefix(s, key)
	if !ok {
		return "", s, false
	}
	v, rest, _ = strings.Cut(v, ",")
	return strings.Trim(strings.TrimSpace(v), `'"`), strings.TrimLeft(rest, " "), true
}

// details reads what some codes tell in words.
func (l *Line) details() {
	switch {
	case l.Code == 45:
		if _, after, ok := strings.Cut(l.Text, "caused by previous Xid "); ok {
			l.Cause, _ = number(after)
		}
	case l.Code == 154:
		l.Recovery = recovery(l.Text)
	case l.Code >= 144 && l.Code <= 150:
		l.Fatal = hasWord(l.Text, "Fatal")
		l.Link = linkOf(l.Text)
	case l.Code == 74 || l.Code == 137:
		l.Link = linkOf(l.Text)
	case l.Code == 13 || l.Code == 31 || l.Code == 109:
		l.Unit = unit(l.Text)
	}
}

// hasWord finds w between spaces; "Nonfatal" and "Non-fatal" are other words.
func hasWord(text, w string) bool {
	for f := range strings.FieldsSeq(text) {
		if strings.Trim(f, ",.:") == w {
			return true
		}
	}
	return false
}

// linkOf reads the number after "Link" or "link"; -1 is also the driver's word
// for no link.
func linkOf(text string) int {
	for _, w := range []string{"Link ", "link "} {
		if _, after, ok := strings.Cut(text, w); ok {
			if n, ok := number(after); ok && n < 1024 {
				return n
			}
		}
	}
	return -1
}

func number(s string) (int, bool) {
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(s[:n])
	return v, err == nil
}

// unit reads the places on the die that a compute fault names: "GPC 0, TPC 1, SM 0"
// or "GPCCLIENT_T1_0" and the like.
func unit(text string) string {
	if i := strings.Index(text, "GPC "); i >= 0 {
		s := text[i:]
		if j := strings.IndexAny(s, "):"); j > 0 {
			s = s[:j]
		}
		return s[:min(len(s), 64)]
	}
	if i := strings.Index(text, "GPCCLIENT"); i >= 0 {
		s, _, _ := strings.Cut(text[i:], " ")
		return s[:min(len(s), 64)]
	}
	return ""
}

// recovery reads the action an Xid 154 changed to: the number in front of the
// words when there is one, else the words. -1 when neither is known.
func recovery(text string) int {
	i := strings.LastIndex(text, " to ")
	if i < 0 {
		return -1
	}
	to := text[i+len(" to "):]
	if hex, ok := strings.CutPrefix(to, "0x"); ok {
		digits, _, _ := strings.Cut(hex, " ")
		if v, err := strconv.ParseUint(digits, 16, 8); err == nil {
			return int(v)
		}
	}
	words := strings.ToLower(to)
	for _, w := range []struct {
		text   string
		action int
	}{ // the longer words first: "drain and reset" holds "reset"
		{"drain and reset", nvml.RecoveryDrainAndReset}, {"drain p2p and reset", nvml.RecoveryDrainAndReset}, {"drain p2p", nvml.RecoveryDrainP2P}, {"imex", nvml.RecoveryIMEX},
		{"bus reset", nvml.RecoveryBusReset}, {"system reboot", nvml.RecoverySystemReboot}, {"reboot", nvml.RecoveryReboot},
		{"reset", nvml.RecoveryReset}, {"none", nvml.RecoveryNone},
	} {
		if strings.Contains(words, w.text) {
			return w.action
		}
	}
	return -1
}

func (l Line) sxid(body string) (Line, bool) {
	rest, ok := l.place(body)
	if !ok {
		return Line{}, false
	}
	l.Kind, l.Text = SXid, rest
	switch {
	case strings.HasPrefix(rest, "Fatal"):
		l.Fatal = true
	case strings.HasPrefix(rest, "Non-fatal"):
	default: // "Severity …", "Data {…}", "(First) …"
		l.Kind = Detail
	}
	l.Link = linkOf(rest)
	return l, true
}

// plain reads the driver's lines without a number.
func (l Line) plain(rest string) (Line, bool) {
	l.Text = rest
	switch {
	case strings.Contains(rest, "has fallen off the bus"):
		l.Kind, l.Address = OffBus, addressIn(rest)
		return l, true
	case strings.HasPrefix(rest, "API mismatch"), strings.HasPrefix(rest, "loading NVIDIA") && strings.Contains(rest, "mismatch"):
		l.Kind = Mismatch
		return l, true
	case strings.HasPrefix(rest, "GPU at "):
		at, id, ok := strings.Cut(strings.TrimPrefix(rest, "GPU at "), ": ")
		if l.Address = nvml.PCIAddress(at); ok && l.Address != "" && strings.HasPrefix(id, "GPU-") {
			l.Kind, l.UUID = Identity, strings.TrimSpace(id)
			return l, true
		}
	}
	return Line{}, false
}

// addressIn finds the first PCI address among the words.
func addressIn(text string) string {
	for w := range strings.FieldsSeq(text) {
		if a := nvml.PCIAddress(strings.TrimRight(strings.Trim(w, "(),"), ":.")); a != "" && strings.Count(w, ":") >= 2 {
			return a
		}
	}
	return ""
}
