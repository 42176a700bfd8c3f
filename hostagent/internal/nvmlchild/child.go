package nvmlchild

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// Subcommand is the hidden word of the agent's binary that runs Main.
const Subcommand = "nvml-child"

// eventWait is how long one wait for Xids may block in the driver.
const eventWait = 5 * time.Second

// Main serves requests from in until it ends and returns the exit status. The
// caller must exit at once with it: calls that hang in the driver are left behind.
func Main(in io.Reader, out io.Writer) int {
	return serve(in, out, nvml.Open)
}

type opener func(path string, step func(string)) (nvml.Port, error)

// child is the state of the serving side. Reading never waits for the driver, so
// the end of the input ends the process even when a call hangs.
type child struct {
	open opener
	port nvml.Port

	outMu sync.Mutex
	out   io.Writer

	stepMu sync.Mutex
	step   string
}

func serve(in io.Reader, out io.Writer, open opener) int {
	c := &child{open: open, out: out}
	work := make(chan request, 1)
	go func() {
		for r := range work {
			c.answer(r)
		}
	}()
	defer close(work)
	s := lines(in)
	for s.Scan() {
		var r request
		if json.Unmarshal(s.Bytes(), &r) != nil {
			return 2
		}
		select {
		case work <- r:
		default: // the agent sends one at a time; more is a broken agent
			return 2
		}
	}
	if s.Err() != nil {
		return 2
	}
	return 0
}

func (c *child) say(f frame) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	_ = writeLine(c.out, f) // a broken pipe means the agent is gone; the input ends too
}

func (c *child) at(step string) {
	c.stepMu.Lock()
	c.step = step
	c.stepMu.Unlock()
}

func (c *child) where() string {
	c.stepMu.Lock()
	defer c.stepMu.Unlock()
	return c.step
}

// answer does one request. Shortly before its deadline it says which call it is
// in, so that the finding can name it.
func (c *child) answer(r request) {
	c.at("")
	if r.Deadline > 0 {
		t := time.AfterFunc(time.Duration(r.Deadline)*time.Millisecond*9/10, func() { c.say(frame{ID: r.ID, In: c.where()}) })
		defer t.Stop()
	}
	f := frame{ID: r.ID}
	var err error
	switch {
	case r.Op == opOpen && c.port == nil:
		if c.port, err = c.open(r.Library, c.at); err == nil {
			go c.listen(c.port)
		}
	case r.Op == opSample && c.port != nil:
		var s nvml.Sample
		if s, err = c.port.Sample(); err == nil {
			f.Sample = &s
		}
	default:
		err = errors.New("request out of order: " + r.Op)
	}
	if err != nil {
		f.Error, f.Kind = err.Error(), kindOf(err)
	}
	c.say(f)
}

// listen tells Xids until the driver refuses; a refusal is told once and the
// kernel log remains the witness.
func (c *child) listen(p nvml.Port) {
	failures := 0
	for {
		x, ok, err := p.WaitXid(eventWait)
		switch {
		case err == nil:
			failures = 0
			if ok {
				c.say(frame{Xid: &x})
			}
		case errors.Is(err, nvml.ErrNotSupported) || failures >= 5:
			c.say(frame{Deaf: err.Error()})
			return
		default: // a lost card fails each wait at once; do not spin on it
			failures++
			time.Sleep(time.Second)
		}
	}
}
