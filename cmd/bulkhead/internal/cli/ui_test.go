package cli

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// started runs a command in the background and waits until it says an address.
func started(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out syncBuffer
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, args, Streams{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }})
	}()
	for range 300 {
		if m := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.String()); m != "" {
			url = m
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if url == "" {
		cancel()
		t.Fatalf("it says no address: %s", out.String())
	}
	return url, func() int { cancel(); return <-done }
}

func TestThePageIsServedHereAndOnlyReadingIsPassedOn(t *testing.T) {
	url, stop := started(t, "ui", "--port", "0", "--endpoint", fixed(t))
	ask := func(method, path, host string) (int, string) {
		req, err := http.NewRequest(method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for _, c := range []struct {
		method, path, host string
		code               int
		want               string
	}{
		{http.MethodGet, "/ui/", "", 200, "<html"},
		{http.MethodGet, "/v1/clusters", "", 200, "gpu-prod"},
		{http.MethodPost, "/v1/clusters", "", 405, "only reading"},
		{http.MethodGet, "/v1/clusters", "rebound.example.com", 403, "this machine only"},
	} {
		if code, body := ask(c.method, c.path, c.host); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s %s as %q: %d %.80s", c.method, c.path, c.host, code, body)
		}
	}
	if code := stop(); code != ExitFine {
		t.Errorf("stopped with %d", code)
	}
}

func TestWatchAsksAgainUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 1200*time.Millisecond)
	defer cancel()
	var out syncBuffer
	code := Run(ctx, []string{"gpus", "--watch=500ms", "--endpoint", fixed(t)}, Streams{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }})
	if n := strings.Count(out.String(), "held/total MiB"); code != ExitFine || n < 2 {
		t.Errorf("exit %d after %d answers:\n%s", code, n, out.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("control sequences where there is no terminal")
	}
}

func TestACellIsNoFormula(t *testing.T) {
	for in, want := range map[string]string{"=1+1": "'=1+1", "@x": "'@x", "-cmd": "'-cmd", "-5": "-5", "app": "app", "": ""} {
		if got := inert(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
