package health

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewriteReference = flag.Bool("rewrite-reference", false, "write docs/reference/xid.md anew")

var defaultOnce = sync.OnceValues(Default)

func mustDefault(t testing.TB) Policy {
	t.Helper()
	p, err := defaultOnce()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantXid is our policy for each code, written down apart from the table: what a
// single occurrence on a host with one GPU asks for.
var wantXid = []struct {
	codes string
	want  string
}{
	{"8 11 13 25 31 32 69 80", "APP"},
	{"9 12 16 18 19 26 27 28 29 30 33 34 35 36 47 59 61", "SUP"},
	{"37 38 44 66 67", "IGN"},
	{"39 40 41 70 71 72 75 76 77 85 126 127 128 129 130 131 132 133 134 135", "APP"},
	{"42 73", "IGN"},
	{"43", "APP"},
	{"45", "WATCH"}, // alone, and no task was being stopped
	{"46 48 62 95 110 119 120 140 155 156 158 168 169", "QGPU+RPL"},
	{"54 64", "RPL+SUP"},
	{"56 57 58 65 81 122 123 124 125", "WATCH+SUP"},
	{"60 68 82 83 84 86 88 89 96 97 98 99 100 101 102 103 104 105 139", "APP"},
	{"63 74 92 136 144 145 146 147 148 149 150 154", "WATCH"},
	{"78 93 106 107 108 137 121 141 152 153 157 160 161 162 163 164 171 172", "IGN"},
	{"79 143 151 167 173", "RPL"},
	{"94", "APP"},
	{"109", "APP+WATCH"},
	{"142", "QGPU+SUP"},
	{"159 166 170", "SUP"},
	{"165", "IGN+SUP"},
	{"1 200 9999", "WATCH+SUP"}, // unknown codes only alert
}

func TestEachXidAsksForWhatThePolicySays(t *testing.T) {
	p := mustDefault(t)
	seen := map[int]bool{}
	for _, row := range wantXid {
		for _, field := range strings.Fields(row.codes) {
			var code int
			if _, err := fmt.Sscan(field, &code); err != nil {
				t.Fatal(err)
			}
			seen[code] = true
			_, v, _ := Assess(oneGPU(), []Signal{xid(code, t0)}, p, t0)
			if len(v.Reasons) != 1 {
				t.Fatalf("Xid %d: %d reasons, want 1", code, len(v.Reasons))
			}
			r := v.Reasons[0]
			var got []string
			for _, a := range r.Actions {
				got = append(got, string(a))
			}
			if strings.Join(got, "+") != row.want {
				t.Errorf("Xid %d asks for %v, want %s", code, got, row.want)
			}
			if r.Token != fmt.Sprintf("Xid%d", code) {
				t.Errorf("Xid %d: token %s", code, r.Token)
			}
		}
	}
	for _, code := range p.Xids.Codes() {
		if !seen[code] {
			t.Errorf("Xid %d is in the table and has no expectation here", code)
		}
	}
}

func TestEachKindHasARow(t *testing.T) {
	p := mustDefault(t)
	want := slices.Clone(kinds)
	slices.Sort(want)
	if diff := cmp.Diff(want, p.Conditions.Kinds()); diff != "" {
		t.Error(diff)
	}
	if len(p.Xids.Kinds()) != 0 || len(p.Conditions.Codes()) != 0 {
		t.Error("codes and kinds belong in different tables")
	}
}

func TestEachXidRowNamesItsSources(t *testing.T) {
	for _, r := range mustDefault(t).Xids.Rows {
		if len(r.Sources) == 0 {
			t.Errorf("line %d: %s has no source", r.Line, r.Name)
		}
	}
}

func TestTheCodesOfECSAutoRepairAskForAtLeastAWatch(t *testing.T) {
	p := mustDefault(t)
	for _, code := range []int{46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 136, 140, 142, 143, 151, 155, 156, 158} {
		r, ok := p.Xids.Code(code)
		if !ok || r.Sources["ECS"] != "listed" {
			t.Errorf("Xid %d: the ECS list is not among its sources", code)
		}
		if !Strongest(r.Action).Stronger(Application) {
			t.Errorf("Xid %d asks only for %v", code, r.Action)
		}
	}
}

const header = "version: \"1\"\ndriver: x\nrows:\n"

func TestABadTableIsRefusedWithItsLine(t *testing.T) {
	for name, tc := range map[string]struct {
		src  string
		want error
		line int
		text string
	}{
		"unknown action": {header + "  - codes: [1]\n    name: A\n    meaning: m\n    class: bus\n    action: [EXPLODE]\n    clear: {on: boot}\n",
			ErrUnknownAction, 8, "EXPLODE"},
		"unknown class": {header + "  - {codes: [1], name: A, meaning: m, class: zzz, action: [IGN], clear: {on: boot}}\n", ErrUnknownWord, 4, "zzz"},
		"unknown kind":  {header + "  - {kind: Nope, name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}}\n", ErrUnknownWord, 4, "Nope"},
		"unknown key":   {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}, actoin: [IGN]}\n", ErrUnknownWord, 4, "actoin"},
		"unknown key in a rule": {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}, rules: [{repaet: 3, action: [RPL]}]}\n",
			ErrUnknownWord, 4, "repaet"},
		"twice the same code": {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}}\n" +
			"  - {codes: [1], name: B, meaning: m, class: bus, action: [IGN], clear: {on: boot}}\n", ErrBadRow, 5, "code 1"},
		"no all-clear": {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN]}\n", ErrBadRow, 4, "all-clear"},
		"an application's code that moves a host": {header + "  - {codes: [1], name: A, meaning: m, class: application, action: [RPL], clear: {on: boot}}\n",
			ErrBadRow, 4, "families"},
		"an application's repeat rule without families": {header + "  - {codes: [1], name: A, meaning: m, class: application, action: [APP], clear: {on: boot}, rules: [{repeat: 3, within: 1h, action: [QGPU]}]}\n",
			ErrBadRow, 4, "families"},
		"silence that asks for a replacement": {header + "  - {kind: AgentSilent, name: A, meaning: m, class: monitor, form: state, fate: x, action: [RPL], clear: {on: boot}}\n",
			ErrBadRow, 4, "two witnesses"},
		"a rule that always matches": {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}, rules: [{action: [RPL]}]}\n",
			ErrBadRow, 4, "hides"},
		"bad duration": {header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: quiet, for: soon}}\n", ErrBadRow, 4, "soon"},
		"no version":   {"rows: []\n", ErrBadFile, 1, "version"},
		"no YAML":      {"a: [\n", ErrBadFile, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.src))
			var te *TableError
			if !errors.As(err, &te) || !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want a TableError of %v", err, tc.want)
			}
			if tc.line > 0 && te.Line != tc.line || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %q (line %d), want line %d and %q", err, te.Line, tc.line, tc.text)
			}
		})
	}
}

func TestAClusterMayOverrideARowWithAReason(t *testing.T) {
	p := mustDefault(t)
	got, diffs, err := p.Xids.Override([]byte(`
version: team-a
overrides:
  - codes: [43]
    action: [IGN]
    reason: our training jobs print it at every exit
  - codes: [250]
    class: link
    action: [QGPU]
    reason: told by the vendor
`))
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := got.Code(43); !slices.Equal(r.Action, []Action{Ignore}) {
		t.Errorf("43 is %v", r.Action)
	}
	if r, ok := got.Code(250); !ok || r.Clear.On != "boot" || !slices.Equal(r.Action, []Action{CloseGPU}) {
		t.Errorf("250 is %+v", r)
	}
	if r, _ := p.Xids.Code(43); !slices.Equal(r.Action, []Action{Application}) {
		t.Error("the built-in table changed")
	}
	if len(diffs) != 2 || diffs[0].Reason == "" || !strings.Contains(diffs[0].Peers, "N: ignore") {
		t.Errorf("differences %+v", diffs)
	}
	if got.Version != p.Xids.Version+"+team-a" {
		t.Errorf("version %s", got.Version)
	}
}

func TestABadOverrideIsRefusedWithItsLine(t *testing.T) {
	p := mustDefault(t)
	for name, tc := range map[string]struct {
		src  string
		want error
		line int
	}{
		"unknown action":     {"version: a\noverrides:\n  - codes: [79]\n    action: [REFORMAT]\n    reason: r\n", ErrUnknownAction, 4},
		"no reason":          {"version: a\noverrides:\n  - codes: [79]\n    action: [IGN]\n", ErrBadRow, 3},
		"unknown code alone": {"version: a\noverrides:\n  - codes: [300]\n    action: [RPL]\n    reason: r\n", ErrBadRow, 3},
		"application to RPL": {"version: a\noverrides:\n  - codes: [13]\n    action: [RPL]\n    reason: r\n", ErrBadRow, 3},
		"unknown key":        {"version: a\noverrides:\n  - codes: [13]\n    action: [IGN]\n    raeson: r\n    reason: r\n", ErrUnknownWord, 5},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := p.Xids.Override([]byte(tc.src))
			var te *TableError
			if !errors.As(err, &te) || !errors.Is(err, tc.want) || te.Line != tc.line {
				t.Errorf("got %v, want %v at line %d", err, tc.want, tc.line)
			}
		})
	}
}

func TestTheReferencePageIsTheTable(t *testing.T) {
	p := mustDefault(t)
	page := Reference(p.Xids, p.Conditions)
	const path = "../../docs/reference/xid.md"
	if *rewriteReference {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(got)); diff != "" {
		t.Errorf("docs/reference/xid.md is not what the table says; run with -rewrite-reference\n%s", diff)
	}
}

func TestDurationsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "7d": 7 * day, "3h": 3 * time.Hour, "0d": 0} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "-3s", "99999d", "soon"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header + "  - {codes: [1], name: A, meaning: m, class: bus, action: [IGN], clear: {on: boot}}\n"))
	f.Add([]byte(header + "  - {kind: GpuLost, name: A, meaning: m, class: bus, form: state, action: [RPL], clear: {on: boot}, rules: [{for: 1h, action: [RPL]}]}\n"))
	f.Add([]byte("rows: [&a [*a]]\nversion: v\ndriver: d"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if tab, err := Parse(src); err == nil {
			for i := range tab.Rows {
				if err := tab.Rows[i].check(); err != nil {
					t.Errorf("accepted, and yet: %v", err)
				}
			}
		}
	})
}

func FuzzOverride(f *testing.F) {
	base, err := XidTable()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("version: a\noverrides:\n  - {codes: [13], action: [IGN], reason: r}\n"))
	f.Add([]byte("version: a\noverrides:\n  - {codes: [13, 13], action: [IGN], reason: r}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, _, err := base.Override(src)
		if err != nil {
			return
		}
		for i := range got.Rows {
			if err := got.Rows[i].check(); err != nil {
				t.Errorf("accepted, and yet: %v", err)
			}
		}
	})
}
