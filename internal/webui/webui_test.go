package webui

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestThePageLoadsOnlyItselfAndNothingInline(t *testing.T) {
	h := Handler(http.NotFoundHandler())
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/ui/", nil))
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Security-Policy") != policy || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	inline := regexp.MustCompile(`(?i)<script(>|[^>]*[^c]>[^<])|\son[a-z]+=|style="|https?://|innerHTML|insertAdjacentHTML|document\.write|eval\(`)
	err := fs.WalkDir(static, "static", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(static, p)
		if found := inline.FindString(string(b)); found != "" {
			t.Errorf("%s has %q", p, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	if rec.Code != http.StatusFound || rec.Header().Get("Location") != "/ui/" {
		t.Errorf("/ answers %d to %s", rec.Code, rec.Header().Get("Location"))
	}
}

const evil = `<img src=x onerror=document.title='owned'><script>document.title='owned'</script>`

// hostile answers like an API whose every name is an attack.
func hostile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Content-Type", "application/json")
	name := strings.ReplaceAll(evil, `"`, `\"`)
	switch {
	case strings.HasSuffix(r.URL.Path, "/clusters"):
		fmt.Fprintf(w, `{"clusters":[{"clusterArn":"arn:x:cluster/c","name":"%s"}]}`, name)
	case strings.HasSuffix(r.URL.Path, "/summary"):
		fmt.Fprint(w, `{"hosts":1,"gpus":1,"sharedGpus":1,"dedicatedGpus":0,"idleGpus":0,"tasks":1,"totalMiB":22563,"heldMiB":30000,"gpusSaved":0}`)
	case strings.HasSuffix(r.URL.Path, "/findings"):
		fmt.Fprintf(w, `{"findings":[{"severity":"error","kind":"OverMemory","subject":"GPU-1","reason":"%s"}]}`, name)
	default:
		fmt.Fprintf(w, `{"nextCursor":"","hosts":[{"containerInstanceArn":"arn:x/1","ec2InstanceId":"%s","instanceType":"%s","status":"ACTIVE","devices":[{"uuid":"GPU-1","mode":"shared","totalMiB":22563,"heldMiB":30000,"computePercent":160,"clients":2,"shares":[{"taskArn":"arn:t/1","container":"%s","service":"%s","tier":"%s","memoryMiB":null,"computePercent":40,"state":"bound"}]}]}]}`, name, name, name, name, name)
	}
}

func TestABrowserShowsTheFleetAndRunsNoName(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed: bash tests/setup/chromium.sh")
	}
	srv := httptest.NewServer(Handler(http.HandlerFunc(hostile)))
	defer srv.Close()
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=3000", "--dump-dom", srv.URL+"/ui/")
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("Chromium does not run here: %v", err)
	}
	dom := string(out)
	for _, want := range []string{"160 %", "OverMemory", "&lt;img src=x onerror=", `class="cell over broken"`, "133 %"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Contains(dom, "<title>owned") || strings.Contains(dom, "<img") {
		t.Error("a name became part of the page")
	}
}
