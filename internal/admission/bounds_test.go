package admission

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHarmfulFilesAreAnsweredInBoundedMemory measures what reading each of them allocates in all.
func TestHarmfulFilesAreAnsweredInBoundedMemory(t *testing.T) {
	task := `{"containerDefinitions":[{"name":"a"}],"x":[`
	for _, c := range []struct {
		name, src string
		mostMiB   uint64
	}{
		{"50 MB", strings.Repeat("[1],", 50<<18), 1},
		{"10,000 levels of JSON", strings.Repeat("[", 10_000), 1},
		{"10,000 levels of YAML", "a: " + strings.Repeat("[", 10_000), 1},
		{"10,000 levels of YAML lists", strings.Repeat("- ", 10_000) + "x", 32},
		{"the most values of JSON that are read", task + strings.Repeat("1,", 499_000) + "1]}", 256},
		{"the most values of YAML that are read", "x: [" + strings.Repeat("1,", 490_000) + "1]", 512},
		{"more values of YAML than are read", "x: [" + strings.Repeat("1,", 4_000_000) + "1]", 1},
		{"one string as long as a file may be", task + `"` + strings.Repeat("x", 7<<20) + `"]}`, 64},
	} {
		src := []byte(c.src)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read("f", src, Limits{})
		runtime.ReadMemStats(&after)
		got := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d MiB, %v", c.name, got, err)
		if got > c.mostMiB {
			t.Errorf("%s: %d MiB allocated, at most %d wanted", c.name, got, c.mostMiB)
		}
	}
}

// A thousand conditions over a hundred thousand values would be as many copies of all of them.
func TestManyConditionsAreLintedSoon(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"Resources":{"T":{"Type":"AWS::ECS::TaskDefinition","Properties":{"ContainerDefinitions":[`)
	for i := range 1000 {
		fmt.Fprintf(&b, `{"Fn::If":["C%d",{"ResourceRequirements":[{"Type":"GPU","SharingStrategy":{"NvidiaMps":{"Memory":0}}}],"Command":["a"%s]},{"Ref":"AWS::NoValue"}]},`, i, strings.Repeat(`,"x"`, 100))
	}
	b.WriteString(`{"Name":"last"}]}}}}`)
	doc, err := Read("f", []byte(b.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	found := Lint(doc, cards())
	if took := time.Since(began); took > 20*time.Second || count(found, "BH101") != 1000 {
		t.Errorf("%v, BH101 %d times", took, count(found, "BH101"))
	}
	t.Log(time.Since(began), len(found))
}

func hundred(t testing.TB) map[string][]byte {
	files, _ := filepath.Glob("testdata/valid/*")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	out := map[string][]byte{}
	for i := range 100 {
		content, err := os.ReadFile(files[i%len(files)])
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprint(i, files[i%len(files)])] = content
	}
	return out
}

func lintAll(t testing.TB, files map[string][]byte) {
	for name, content := range files {
		doc, err := Read(name, content, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		Lint(doc, cards())
	}
}

// The aim is under a second; the bound leaves room for a busy machine, and the benchmark has the figure.
func TestAHundredFilesAreLintedSoon(t *testing.T) {
	files := hundred(t)
	began := time.Now()
	lintAll(t, files)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v", took)
	}
}

func BenchmarkAHundredFiles(b *testing.B) {
	files := hundred(b)
	for b.Loop() {
		lintAll(b, files)
	}
}
