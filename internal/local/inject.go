package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// InjectPath is where a local run takes faults. It is no part of the product's API.
const InjectPath = "/local/inject"

// InjectHeader must be on a request to it: no page of another origin can send it
// without asking first, and nothing answers such a question.
const InjectHeader = "X-Bulkhead-Local"

const maxInject = 4 << 10

// Injection asks for a fault. Host is an EC2 id, a container instance ARN, or an
// end of one; empty takes the busiest host. Xid and Card belong to xid and
// mps-fault, For to those that [Lasts].
type Injection struct {
	Kind string        `json:"kind"`
	Host string        `json:"host,omitempty"`
	Xid  int           `json:"xid,omitempty"`
	Card int           `json:"card,omitempty"`
	For  time.Duration `json:"for,omitempty"`
}

// Injected says what happened and what to watch.
type Injected struct {
	Host  string   `json:"host,omitempty"`
	Said  string   `json:"said"`
	Watch []string `json:"watch"`
	Error string   `json:"error,omitempty"`
}

// Faults that end what another began.
const (
	agentBack = "agent-back"
	nvmlBack  = "nvml-back"
)

// InjectKinds are the faults that can be asked for, in one order.
func InjectKinds() []string { return slices.Sorted(maps.Keys(faults)) }

// Lasts reports whether a fault may be given a time after which it ends by itself.
func Lasts(kind string) bool { return faults[kind].lasts }

// injects answers one request.
func (r *run) injects(w http.ResponseWriter, req *http.Request) {
	var in Injection
	status, out := http.StatusOK, Injected{Watch: []string{}}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxInject))
	switch {
	case req.Header.Get(InjectHeader) == "":
		status, out.Error = http.StatusForbidden, "a request from a page is not taken: use bulkhead local inject"
	case err != nil || json.Unmarshal(body, &in) != nil:
		status, out.Error = http.StatusBadRequest, "the request cannot be read"
	default:
		if out, err = r.inject(in); err != nil {
			status, out.Error, out.Watch = http.StatusBadRequest, plainFault(err), []string{}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func plainFault(err error) string {
	var refused *sim.Error
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}

// inject makes something go wrong in the fleet.
func (r *run) inject(in Injection) (out Injected, err error) {
	if _, known := faults[in.Kind]; !known {
		return out, fmt.Errorf("no fault %q; faults: %s", in.Kind, strings.Join(InjectKinds(), ", "))
	}
	if in.Kind == "xid" && (in.Xid < 1 || in.Xid > 999) {
		return out, fmt.Errorf("xid takes a code from 1 to 999, such as `inject xid 79`")
	}
	if in.For < 0 || in.For > 24*time.Hour || in.For > 0 && !Lasts(in.Kind) {
		return out, fmt.Errorf("%s takes no time, and others up to 24h of fleet time, such as `inject event-loss 5m`", in.Kind)
	}
	if in.Kind == "event-loss" && in.For == 0 {
		return out, errors.New("event-loss takes how long, up to 24h of fleet time, such as `inject event-loss 5m`")
	}
	r.world.face.Do(func(f *sim.Fleet) {
		if in.Kind == "event-loss" {
			err = f.Inject(sim.Fault{Kind: in.Kind, For: in.For})
			return
		}
		var h *sim.Host
		if in.Host == "" {
			h = busiest(f)
		} else {
			h, err = f.Host(in.Host)
		}
		switch {
		case err != nil:
			return
		case h == nil:
			err = errors.New("no host runs yet: try again in a moment")
			return
		}
		out.Host = h.EC2
		switch in.Kind {
		case agentBack:
			h.Silent = false
		case nvmlBack:
			h.NVMLHang = false
		default:
			err = f.Inject(sim.Fault{Kind: in.Kind, Host: h.ARN, Xid: in.Xid, Card: in.Card, For: in.For})
		}
	})
	if err == nil {
		f := faults[in.Kind]
		out.Said, out.Watch = f.said(in, out.Host), f.watch
	}
	return out, err
}

// busiest is the running host with the most tasks: there a fault is seen best.
func busiest(f *sim.Fleet) *sim.Host {
	tasks := map[*sim.Host]int{}
	for _, t := range f.Tasks() {
		tasks[t.Host]++
	}
	var best *sim.Host
	for _, h := range f.Hosts() {
		if h.Status == "ACTIVE" && (best == nil || tasks[h] > tasks[best]) {
			best = h
		}
	}
	return best
}
