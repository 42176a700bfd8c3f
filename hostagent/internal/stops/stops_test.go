package stops

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
)

func TestAStopIsToldWithTheTimeItsContainerHas(t *testing.T) {
	dir, _ := os.MkdirTemp("", "dock")
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	own, silent := "aaaaaaaaaaaa", "bbbbbbbbbbbb"
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/events":
			for _, e := range [][2]string{{own, "15"}, {silent, "15"}, {own, "9"}, {"../../etc", "15"}} {
				fmt.Fprintf(w, "{\"Action\":\"kill\",\"Actor\":{\"ID\":%q,\"Attributes\":{\"signal\":%q}}}\n", e[0], e[1])
			}
			fmt.Fprintln(w, "not json")
		case "/containers/" + own + "/json":
			fmt.Fprint(w, `{"Config":{"StopTimeout":120}}`)
		case "/containers/" + silent + "/json":
			fmt.Fprint(w, `{"Config":{}}`)
		default:
			http.NotFound(w, r)
		}
	})}
	go srv.Serve(l)
	defer srv.Close()
	for def, want := range map[time.Duration]string{0: "aaaaaaaaaaaa 2m0s;", 30 * time.Second: "aaaaaaaaaaaa 2m0s;bbbbbbbbbbbb 30s;"} {
		got := ""
		if err := New(filepath.Join(dir, "s"), def).Run(t.Context(), func(s mps.Stop) { got += fmt.Sprintf("%s %s;", s.Container, s.Timeout) }); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("default %s: %q, want %q", def, got, want)
		}
	}
}
