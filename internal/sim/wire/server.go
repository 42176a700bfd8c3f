package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// maxBody bounds a request.
const maxBody = 1 << 20

// Trouble is what a fault hook asks for one call.
type Trouble int

// The troubles. A timeout breaks the connection off, before or after the effect.
const (
	None Trouble = iota
	Throttle
	TimeoutBefore
	TimeoutAfter
	// Stale lets a read tell of an earlier state; a write is not troubled by it.
	Stale
)

// Server answers AWS calls for one fleet. Set the fields before the first call.
type Server struct {
	// Fault is asked before each call; nil troubles none.
	Fault func(operation string) Trouble
	// Unmetered turns the token buckets off.
	Unmetered bool
	// Lag is how late reads may be, in the fleet's time: an answer is given again to the
	// same question until it is so old, and a task or command so young is not seen.
	Lag time.Duration
	// Clock fills the token buckets; nil is the fleet's own time.
	Clock func() time.Time

	mu      sync.Mutex
	fleet   *sim.Fleet
	buckets map[string]*bucket
	past    map[string]answered
}

// New makes the face of a fleet.
func New(f *sim.Fleet) *Server {
	return &Server{fleet: f, buckets: map[string]*bucket{}, past: map[string]answered{}}
}

// Do runs f on the fleet while no call is served.
func (s *Server) Do(f func(*sim.Fleet)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.fleet)
}

type object = map[string]any

// operation answers one call, from its request body.
type operation func(f *sim.Fleet, body []byte) (object, error)

var operations = map[string]operation{
	"ListClusters": answer(listClusters), "DescribeClusters": answer(describeClusters),
	"ListContainerInstances": answer(listHosts), "DescribeContainerInstances": answer(describeHosts),
	"UpdateContainerInstancesState": answer(updateState), "PutAttributes": answer(putAttributes), "DeleteAttributes": answer(deleteAttributes),
	"ListTasks": answer(listTasks), "DescribeTasks": answer(describeTasks), "RunTask": answer(runTask), "StartTask": answer(startTask), "StopTask": answer(stopTask),
	"DescribeTaskDefinition": answer(describeDefinition), "RegisterTaskDefinition": answer(registerDefinition),
	"CreateService": answer(createService), "UpdateService": answer(updateService), "DeleteService": answer(deleteService), "DescribeServices": answer(describeServices), "ListServices": answer(listServices),
	"ListAttributes": answer(listAttributes), "DeregisterContainerInstance": answer(deregister),
	"GetTaskProtection": answer(getProtection), "UpdateTaskProtection": answer(updateProtection),
	"DescribeCapacityProviders": answer(describeProviders),
}

func answer[T any](f func(*sim.Fleet, T) (object, error)) operation {
	return func(fl *sim.Fleet, body []byte) (object, error) {
		var in T
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, &sim.Error{Code: "SerializationException", Message: err.Error()}
		}
		return f(fl, in)
	}
}

// ServeHTTP implements http.Handler. SSM and ECS name the operation in a header,
// Auto Scaling and EC2 in the form.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeJSON(w, nil, &sim.Error{Code: "SerializationException", Message: "request too large"})
		return
	}
	target := r.Header.Get("X-Amz-Target")
	if target == "" {
		s.serveQuery(w, body)
		return
	}
	service, name, _ := strings.Cut(target, ".")
	table := operations
	if service == "AmazonSSM" {
		table = ssmOperations
	}
	do, ok := table[name]
	if !ok {
		writeJSON(w, nil, &sim.Error{Code: "UnknownOperationException", Message: "the simulator does not know " + target})
		return
	}
	out, broken, err := s.call(name, "ThrottlingException", string(body), func(f *sim.Fleet) (object, error) { return do(f, body) })
	if broken {
		panic(http.ErrAbortHandler) // as net/http asks, to break a connection off
	}
	writeJSON(w, out, err)
}

// call does one call while nobody else touches the fleet. The answer is made of
// values only, so it may be written afterwards.
func (s *Server) call(name, throttled, question string, do func(*sim.Fleet) (object, error)) (out object, broken bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trouble := None
	if s.Fault != nil {
		trouble = s.Fault(name)
	}
	if trouble == TimeoutBefore {
		return nil, true, nil
	}
	if trouble == Throttle || !s.take(name) {
		return nil, false, &sim.Error{Code: throttled, Message: "Rate exceeded"}
	}
	out, err = s.consistent(name, question, trouble == Stale, do)
	return out, trouble == TimeoutAfter, err
}

func writeJSON(w http.ResponseWriter, out object, err error) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var refused *sim.Error
	switch {
	case errors.As(err, &refused):
		w.WriteHeader(http.StatusBadRequest)
		out = object{"__type": refused.Code, "message": refused.Message}
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
		out = object{"__type": "ServerException", "message": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(out) // the caller went away: nothing to tell
}
