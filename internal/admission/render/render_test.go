package render

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

const source = "{\"containerDefinitions\": [\n\t{\"dockerLabels\": {\"bulkhead.lint.ignore\": \"BH153: probed outside\"}, \"resourceRequirements\": [{\"type\": \"GPU\", \"sharingStrategy\": {\"nvidiaMps\": {\n\t\"memory\": 0}}}]}]}"

func findings(t *testing.T) []admission.Finding {
	t.Helper()
	doc, err := admission.Read("a b,c.json", []byte(source), admission.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return admission.Lint(doc, admission.DefaultPolicy())
}

func TestTextPointsAtTheColumn(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, findings(t), func(string) []byte { return []byte(source) }); err != nil {
		t.Fatal(err)
	}
	want := "a b,c.json:3:12: error BH101: memory is \"0\"; it must be a whole number of MiB, 1 or more\n" +
		"     \"memory\": 0}}}]}]}\n" +
		"               ^\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nlacks\n%s", b.String(), want)
	}
	if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "(suppressed: probed outside)") {
		t.Error("the suppression is not shown")
	}
}

func TestGitHubAnnotationsEscapeAndLeaveOutWhatIsSuppressed(t *testing.T) {
	var b bytes.Buffer
	if err := GitHub(&b, findings(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "::error file=a b%2Cc.json,line=3,col=12,title=BH101 share without memory::") || strings.Contains(b.String(), "BH153") {
		t.Error(b.String())
	}
}

// official is the schema of OASIS, out of a module that carries it, at a version that the checksum database keeps
// as it is. It is no dependency: nothing of the module is built.
func official(t *testing.T) []byte {
	t.Helper()
	const module = "github.com/securego/gosec/v2@v2.29.0"
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s cannot be had: %v", module, err)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(at.Dir, "report/sarif/testdata/sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func subset(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/sarif-2.1.0-subset.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSARIFObeysTheOfficialSchema(t *testing.T) { obeys(t, official(t)) }

func TestSARIFObeysWhatIsNeededOfTheSchemaWithoutTheNetwork(t *testing.T) { obeys(t, subset(t)) }

func obeys(t *testing.T, raw []byte) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("sarif.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema := compiler.MustCompile("sarif.json")
	for _, found := range [][]admission.Finding{nil, findings(t)} {
		var b bytes.Buffer
		if err := SARIF(&b, found); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, b.String())
		}
		var log struct {
			Runs []struct {
				Results []struct{ Suppressions []any }
			}
		}
		if err := json.Unmarshal(b.Bytes(), &log); err != nil || len(log.Runs[0].Results) != len(found) {
			t.Errorf("%d results for %d findings: %v", len(log.Runs[0].Results), len(found), err)
		}
		broken := bytes.Replace(b.Bytes(), []byte(`"2.1.0"`), []byte(`"2.0.0"`), 1)
		if doc, _ = jsonschema.UnmarshalJSON(bytes.NewReader(broken)); schema.Validate(doc) == nil {
			t.Error("the schema passes a log of another version")
		}
	}
}
