package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// forms write the figures %s of a ceiling, of connections and of a stop timeout, with everything around them that
// a fix could harm.
var forms = []string{
	"{\t\"containerDefinitions\": [{\"name\":\"é\", \"resourceRequirements\":[{\"type\":\"GPU\",\"sharingStrategy\":{\"nvidiaMps\":{\"maxComputePercent\" : %[1]s ,\"memory\":4096}}}],\r\n \"environment\":[{\"value\":\"%[2]s\",\"name\":\"CUDA_DEVICE_MAX_CONNECTIONS\"}], \"stopTimeout\":%[3]s }]}\r\n",
	"\ufeff# c %[1]s\ncontainerDefinitions:\n- name: é # %[2]s\n  resourceRequirements:\n  - {type: GPU, sharingStrategy: {nvidiaMps: {\"é\": 1, maxComputePercent: %[1]s, memory: 4096}}} # kept\n  stopTimeout:   '%[3]s'\n  environment: [{name: CUDA_DEVICE_MAX_CONNECTIONS, value: \"%[2]s\"}]\n",
	"containerDefinitions:\r\n- stopTimeout: %[3]s # %[3]s\r\n  environment:\r\n  # kept\r\n  - value: %[2]s\r\n    name: CUDA_DEVICE_MAX_CONNECTIONS\r\n  resourceRequirements:\r\n  - type: GPU\r\n    sharingStrategy:\r\n      nvidiaMps:\r\n        memory: 4096\r\n        maxComputePercent:   \"%[1]s\"   # kept\r\n",
	"one: 1\n---\ncontainerDefinitions:\n- {stopTimeout: !!int %[3]s, name: x}\n---\ncontainerDefinitions:\n- resourceRequirements: [{type: GPU, sharingStrategy: {nvidiaMps: {maxComputePercent: %[1]s, memory: 4096}}}]\n  environment: [{name: CUDA_DEVICE_MAX_CONNECTIONS, value: '%[2]s'}]\n  stopTimeout: %[3]s\n",
}

// TestAFixChangesFiguresAndNothingElse holds for all rules that can be fixed: the figures in question become right,
// every other byte stays, the findings are those before without the ones told as fixed, and a second fix does nothing.
func TestAFixChangesFiguresAndNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		form := rapid.SampledFrom(forms).Draw(rt, "form")
		figures := []int{rapid.IntRange(90, 1<<20).Draw(rt, "ceiling"), rapid.IntRange(0, 40).Draw(rt, "connections"), rapid.IntRange(0, 60).Draw(rt, "stop")}
		right := []int{min(figures[0], 100), min(figures[1], 2), max(figures[2], 30)}
		src := write(form, figures, figures)
		before, doc := lintText(t, src, cards())
		got, applied := Fix(doc, before)
		changed := 0
		for i := range figures {
			if figures[i] != right[i] {
				changed++
			}
		}
		if want := write(form, right, figures); string(got) != want || len(applied) != changed {
			rt.Fatalf("%d applied, want %d\n%q\n%q", len(applied), changed, got, want)
		}
		after, doc := lintText(t, string(got), cards())
		if len(after) != len(before)-len(applied) {
			rt.Fatalf("%d findings before, %d fixed, %d after", len(before), len(applied), len(after))
		}
		had := map[string]bool{}
		for _, f := range before {
			had[f.Rule+f.Path] = true
		}
		for _, f := range after {
			if !had[f.Rule+f.Path] {
				rt.Fatalf("the fix introduced %+v", f)
			}
		}
		if again, more := Fix(doc, after); len(more) != 0 || string(again) != string(got) {
			rt.Fatal("a second fix changes more")
		}
	})
}

// write fills a form. Figures in comments, and those of containers without a share, are not to be fixed.
func write(form string, now, before []int) string {
	text := make([]any, 3)
	for i, n := range now {
		text[i] = fmt.Sprint(n)
	}
	var out []string
	for _, line := range strings.SplitAfter(form, "\n") {
		code, comment, found := strings.Cut(line, "# ")
		args := text
		if strings.Contains(code, "!!int") {
			args = []any{fmt.Sprint(before[0]), fmt.Sprint(before[1]), fmt.Sprint(before[2])}
		}
		code = fill(code, args)
		if found {
			code += "# " + fill(comment, []any{fmt.Sprint(before[0]), fmt.Sprint(before[1]), fmt.Sprint(before[2])})
		}
		out = append(out, code)
	}
	return strings.Join(out, "")
}

func fill(form string, args []any) string {
	for i, a := range args {
		form = strings.ReplaceAll(form, fmt.Sprintf("%%[%d]s", i+1), a.(string))
	}
	return form
}

func TestEveryFixableRuleIsUnderTheLaw(t *testing.T) {
	var fixable []string
	for _, r := range Rules() {
		for _, f := range lintFile(t, r.ID+".breach.json") {
			if f.Fixable && !slices.Contains(fixable, f.Rule) {
				fixable = append(fixable, f.Rule)
			}
		}
	}
	slices.Sort(fixable)
	if got := strings.Join(fixable, " "); got != "BH111 BH142 BH150" {
		t.Errorf("%s can be fixed: put what is new into the forms of the law", got)
	}
}

func TestAValueThatTwoFindingsWantToBeDifferentIsLeft(t *testing.T) {
	doc := Document{Content: []byte("a: 7\n")}
	got, applied := Fix(doc, []Finding{{Fixable: true, edit: edit{3, 4, "1"}}, {Fixable: true, edit: edit{3, 4, "2"}}})
	if string(got) != "a: 7\n" || len(applied) != 0 {
		t.Errorf("%q %v", got, applied)
	}
}
