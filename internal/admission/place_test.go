package admission

import "testing"

func TestColumnsCountCharactersInJSONAndYAMLAlike(t *testing.T) {
	const rest = `"name": "é", "resourceRequirements": [{"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 0, "maxComputePercent": 20}}}]}]`
	for form, src := range map[string]string{
		"JSON":            "{\"containerDefinitions\":\n[{" + rest + "}",
		"YAML":            "containerDefinitions:\n [{" + rest,
		"JSON after mark": "\ufeff{\"containerDefinitions\":\n[{" + rest + "}",
	} {
		found, _ := lintText(t, src, cards())
		want := 101
		if form == "YAML" {
			want++
		}
		n := 0
		for _, f := range found {
			if f.Rule == "BH101" {
				if n++; f.Line != 2 || f.Column != want {
					t.Errorf("%s: %d:%d, want 2:%d", form, f.Line, f.Column, want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%s: found %d times", form, n)
		}
	}
}
