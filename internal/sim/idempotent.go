package sim

import "time"

// tokenKept is for how long RunTask knows a client token again; ECS says a day.
const tokenKept = 24 * time.Hour

// ran is what a RunTask with a client token did.
type ran struct {
	request string
	tasks   []*Task
}

// Ran are the tasks that a client token has already started for the same request, and
// whether it has. For another request it is refused.
func (f *Fleet) Ran(token, request string) ([]*Task, bool, error) {
	r, ok := f.ran[token]
	if ok && r.request != request {
		return nil, false, refuse("ConflictException", "The client token was used with other parameters.")
	}
	return r.tasks, ok, nil
}

// KeepRan notes what a client token started.
func (f *Fleet) KeepRan(token, request string, tasks []*Task) {
	f.ran[token] = ran{request, tasks}
	f.after(tokenKept, func() { delete(f.ran, token) })
}
