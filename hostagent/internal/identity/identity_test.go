package identity

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyASessionOfIMDSv2IsUsed(t *testing.T) {
	v2 := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && v2:
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			w.Write([]byte("token"))
		case r.Method == http.MethodPut:
			http.Error(w, "", http.StatusForbidden)
		case v2 && r.Header.Get("X-Aws-Ec2-Metadata-Token") != "token":
			http.Error(w, "", http.StatusUnauthorized)
		default:
			w.Write([]byte(`{"instanceId":"i-0a","region":"eu-west-1","instanceType":"g6.xlarge","accountId":"111122223333"}`))
		}
	}))
	defer srv.Close()
	i, err := New(srv.URL).Instance(t.Context())
	if err != nil || i != (Instance{"i-0a", "g6.xlarge", "eu-west-1", "111122223333"}) {
		t.Errorf("%+v %v", i, err)
	}
	v2 = false
	if i, err := New(srv.URL).Instance(t.Context()); !errors.Is(err, ErrNoMetadata) {
		t.Errorf("without a session: %+v %v", i, err)
	}
}

func TestTheBootIsReadFromTheKernel(t *testing.T) {
	if id, err := BootID("/proc"); err != nil || len(id) != 36 {
		t.Errorf("%q %v", id, err)
	}
	if u, err := Uptime("/proc"); err != nil || u <= 0 {
		t.Errorf("%s %v", u, err)
	}
	if _, err := BootID(t.TempDir()); err == nil {
		t.Error("a boot was read from nowhere")
	}
}
