package wire

import (
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// AWS's APIs are eventually consistent: a read may tell of an earlier state. Here a
// stale answer is one that was given before to the same question, and objects that
// were made just before are not yet told of.

// staleness is how young an object must be for a stale read to miss it, where Lag says
// no more.
const staleness = 5 * time.Second

// keptAnswers bounds what is remembered for stale reads.
const keptAnswers = 4096

type answered struct {
	out object
	err error
	at  time.Time
}

func reads(name string) bool {
	return strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Get")
}

// consistent answers a call, late where it is asked to.
func (s *Server) consistent(name, question string, stale bool, do func(*sim.Fleet) (object, error)) (object, error) {
	if !reads(name) || s.Lag == 0 && s.Fault == nil {
		return do(s.fleet)
	}
	key, now := name+" "+question, s.fleet.Now()
	if old, ok := s.past[key]; ok && (stale || now.Sub(old.at) < s.Lag) {
		return old.out, old.err
	}
	out, err := do(s.fleet)
	if unborn := unborns[name]; unborn != nil && err == nil {
		young := s.Lag
		if stale {
			young = max(young, staleness)
		}
		if young > 0 {
			out, err = unborn(s.fleet, out, now.Add(-young))
		}
	}
	if len(s.past) >= keptAnswers {
		clear(s.past)
	}
	s.past[key] = answered{out, err, now}
	return out, err
}

// unborns take out of an answer what was made after a time.
var unborns = map[string]func(f *sim.Fleet, out object, after time.Time) (object, error){
	"DescribeTasks": func(f *sim.Fleet, out object, after time.Time) (object, error) {
		found, failures := []object{}, out["failures"].([]object)
		for _, x := range out["tasks"].([]object) {
			arn := x["taskArn"].(string)
			if t, ok := f.Task(arn); ok && t.Created.After(after) {
				failures = append(failures, missing(arn))
				continue
			}
			found = append(found, x)
		}
		return object{"tasks": found, "failures": failures}, nil
	},
	"ListTasks": func(f *sim.Fleet, out object, after time.Time) (object, error) {
		found := []string{}
		for _, arn := range out["taskArns"].([]string) {
			if t, ok := f.Task(arn); !ok || !t.Created.After(after) {
				found = append(found, arn)
			}
		}
		out["taskArns"] = found
		return out, nil
	},
	"GetCommandInvocation": func(f *sim.Fleet, out object, after time.Time) (object, error) {
		if c, err := f.Command(out["CommandId"].(string)); err == nil && c.Requested.After(after) {
			return nil, &sim.Error{Code: "InvocationDoesNotExist", Message: "The command id and instance id do not match any invocation."}
		}
		return out, nil
	},
	"ListCommandInvocations": func(f *sim.Fleet, out object, after time.Time) (object, error) {
		found := []object{}
		for _, x := range out["CommandInvocations"].([]object) {
			if c, err := f.Command(x["CommandId"].(string)); err != nil || !c.Requested.After(after) {
				found = append(found, x)
			}
		}
		out["CommandInvocations"] = found
		return out, nil
	},
}
