package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bucket answers as S3 does, as far as lint asks.
func bucket(t *testing.T) string {
	t.Helper()
	say := func(w http.ResponseWriter, status int, code, message string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/b/task.yaml":
			_, _ = w.Write([]byte(lintYAML))
		case "/b/large.json":
			_, _ = w.Write([]byte(strings.Repeat(" ", 9<<20)))
		case "/far/task.yaml":
			w.Header().Set("x-amz-bucket-region", "eu-west-1")
			say(w, http.StatusMovedPermanently, "PermanentRedirect", "use the right endpoint")
		case "/none/task.yaml":
			say(w, http.StatusNotFound, "NoSuchBucket", "no")
		case "/b/secret.yaml":
			say(w, http.StatusForbidden, "AccessDenied", "no")
		default:
			say(w, http.StatusNotFound, "NoSuchKey", "no")
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	return s.URL
}

func TestLintReadsObjectsOfS3AndSaysWhatItsRefusalsMean(t *testing.T) {
	env := map[string]string{"AWS_ENDPOINT_URL_S3": bucket(t)}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"s3://b/task.yaml", "--region", "us-east-1"}, ExitFinding, "s3://b/task.yaml:9:52: error BH111"},
		{[]string{"s3://b/task.yaml"}, ExitUse, "no Region is set"},
		{[]string{"s3://b", "--region", "us-east-1"}, ExitUse, "s3://bucket/key"},
		{[]string{"s3://b/", "--region", "us-east-1"}, ExitUse, "s3://bucket/key"},
		{[]string{"s3://far/task.yaml", "--region", "us-east-1"}, ExitUse, "the bucket is in Region eu-west-1, and us-east-1 was asked: give --region eu-west-1"},
		{[]string{"s3://none/task.yaml", "--region", "us-east-1"}, ExitUse, "no such bucket"},
		{[]string{"s3://b/none.yaml", "--region", "us-east-1"}, ExitUse, "no such object"},
		{[]string{"s3://b/secret.yaml", "--region", "us-east-1"}, ExitUse, "s3:GetObject"},
		{[]string{"s3://b/large.json", "--region", "us-east-1"}, ExitUse, "too large"},
		{[]string{"s3://b/task.yaml", "--region", "us-east-1", "--fix"}, ExitUse, "does not write to S3"},
	} {
		code, out, errs := command(t, "", env, append([]string{"lint"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
	}
}

func TestAFixOfStandardInputIsTheOutput(t *testing.T) {
	code, out, errs := command(t, lintYAML, nil, "lint", "-", "--fix")
	if want := strings.Replace(lintYAML, "150", "100", 1); code != ExitFine || out != want || !strings.Contains(errs, "fixed -:9:52 BH111") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	fine := strings.Replace(lintYAML, "150", "50", 1)
	if code, out, _ := command(t, fine, nil, "lint", "-", "--fix"); code != ExitFine || out != fine {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAFixKeepsTheFilesModeAndALinkToIt(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "task.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(file, []byte(lintYAML), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("task.yaml", link); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, "", nil, "lint", link, "--fix"); code != ExitFine {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	got, _ := os.ReadFile(file)
	mode, err := os.Stat(file)
	if err != nil || mode.Mode().Perm() != 0o640 || !strings.Contains(string(got), "maxComputePercent: 100") {
		t.Errorf("%v %v\n%s", mode.Mode(), err, got)
	}
	if to, err := os.Readlink(link); err != nil || to != "task.yaml" {
		t.Errorf("the link became %q, %v", to, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".bulkhead-lint-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
