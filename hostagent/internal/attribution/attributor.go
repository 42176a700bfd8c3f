package attribution

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Containers lists the containers that one source knows.
type Containers interface {
	Containers(ctx context.Context) ([]Container, error)
}

// Engine also tells what a container was promised.
type Engine interface {
	Containers
	Promise(ctx context.Context, id string) (Limits, error)
}

// Attributor attributes samples on one host. It is used by one goroutine.
type Attributor struct {
	Proc   Proc
	Docker Engine
	Agent  Containers // may be nil

	processes  map[int]Process      // by pid, believed only while the start time holds
	containers map[string]Container // the last lists
	promises   map[string]Limits    // by container, read once
}

// Attribute reads what the sample's processes are and resolves them. Sources are
// asked only when a process is in a container not yet known, or one of those
// known is gone from the sample; errors name the sources that failed, and the
// view is as good as the rest allows.
func (a *Attributor) Attribute(ctx context.Context, s nvml.Sample, promises map[string]gpu.MiB) (View, error) {
	unknown := a.read(s)
	var err error
	if unknown {
		err = a.list(ctx)
	}
	err = errors.Join(err, a.promised(ctx))
	return Resolve(s, a.processes, a.containers, promises), err
}

// read refreshes the processes and reports whether a container is unknown.
func (a *Attributor) read(s nvml.Sample) (unknown bool) {
	fresh := map[int]Process{}
	for _, d := range s.Devices {
		for _, p := range d.Processes {
			if _, done := fresh[p.PID]; done {
				continue
			}
			old, ok := a.processes[p.PID]
			if ok {
				now, err := a.Proc.Stat(p.PID)
				ok = err == nil && now.Start == old.Start
			}
			if !ok {
				var err error
				if old, err = a.Proc.Read(p.PID); err != nil {
					continue
				}
			}
			fresh[p.PID] = old
			if c, known := a.containers[old.Container]; old.Container != "" && (!known || !c.Confirmed && a.Agent != nil) {
				unknown = true
			}
		}
	}
	a.processes = fresh
	return unknown
}

func (a *Attributor) list(ctx context.Context) error {
	docker, errD := a.Docker.Containers(ctx)
	var agent []Container
	var errA error
	if a.Agent != nil {
		agent, errA = a.Agent.Containers(ctx)
	}
	if errD != nil && (a.Agent == nil || errA != nil) {
		return fmt.Errorf("no source of containers answers, the last list stays: %w", errors.Join(errD, errA))
	}
	a.containers = Merge(docker, agent, a.Agent != nil && errA == nil)
	for id := range a.promises {
		if _, ok := a.containers[id]; !ok {
			delete(a.promises, id)
		}
	}
	return errors.Join(errD, errA)
}

// promised reads the promise of each container that has a process on a card.
func (a *Attributor) promised(ctx context.Context) error {
	if a.promises == nil {
		a.promises = map[string]Limits{}
	}
	var errs []error
	for _, p := range a.processes {
		c, ok := a.containers[p.Container]
		if !ok {
			continue
		}
		l, ok := a.promises[c.ID]
		if !ok {
			var err error
			if l, err = a.Docker.Promise(ctx, c.ID); err != nil {
				errs = append(errs, err)
				continue
			}
			a.promises[c.ID] = l
		}
		c.Promise = l
		a.containers[c.ID] = c
	}
	return errors.Join(errs...)
}
