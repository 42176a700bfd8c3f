package local

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// day is a scripted day of a fleet. It is not a model of ECS: it makes the events
// and descriptions that one would see, from a seed, in virtual time.
type day struct {
	rng      *rand.Rand
	now      time.Time
	queue    actions
	seq      int
	hosts    []*dayHost
	services []*dayService
	tasks    map[string]*dayTask
	out      [][]byte
}

const (
	dayAccount = "111122223333"
	dayRegion  = "us-east-1"
	dayHead    = "arn:aws:ecs:" + dayRegion + ":" + dayAccount + ":"
	dayCluster = dayHead + "cluster/gpu-local"
)

// shape is an instance type: how many cards it has, and what the agent reports as
// one card's memory.
type shape struct {
	name  string
	cards int
	mib   int64
}

var shapes = []shape{{"g6.xlarge", 1, 22563}, {"g6.12xlarge", 4, 22563}, {"g6e.xlarge", 1, 45458}}

type dayHost struct {
	arn, ec2, zone string
	shape          shape
	version        int
	status         string
	connected      bool
	cards          []*dayCard
	registered     time.Time
}

type dayCard struct {
	uuid  string
	held  int64 // what ECS's own books say
	whole bool
	tasks int
}

// dayService wants a number of tasks that moves with the hour.
type dayService struct {
	name, tier string
	containers []dayContainer
	low, high  float64
	peakHour   float64
	stop       time.Duration
	running    []*dayTask
}

type dayContainer struct {
	name    string
	mib     int64
	percent int
	whole   bool
}

type dayTask struct {
	arn, last, desired, stopCode, reason string
	service                              *dayService
	host                                 *dayHost
	card                                 *dayCard
	version                              int
	created, stopping, stopped           time.Time
}

// action is something that happens at a time.
type action struct {
	at  time.Time
	seq int
	do  func()
}

type actions []action

func (a actions) Len() int { return len(a) }
func (a actions) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].seq, a[j].seq)) < 0
}
func (a actions) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *actions) Push(x any)   { *a = append(*a, x.(action)) }
func (a *actions) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

// newDay makes a fleet of hosts at the start of a day.
func newDay(seed uint64, hosts int, start time.Time) *day {
	d := &day{rng: rand.New(rand.NewPCG(seed, 0x6275)), now: start, tasks: map[string]*dayTask{}}
	for i := range hosts {
		s := shapes[[]int{0, 0, 1, 2}[i%4]]
		h := &dayHost{arn: dayHead + fmt.Sprintf("container-instance/gpu-local/%016x%016x", d.rng.Uint64(), i+1), ec2: fmt.Sprintf("i-%017x", d.rng.Uint64()>>4),
			zone: dayRegion + string(rune('a'+i%3)), shape: s, status: "ACTIVE", connected: true, registered: start}
		for range s.cards {
			h.cards = append(h.cards, &dayCard{uuid: d.uuid()})
		}
		d.hosts = append(d.hosts, h)
		d.at(time.Duration(i)*time.Second, func() { d.hostEvent(h) })
		d.at(d.between(time.Hour, 3*time.Hour), func() { d.flap(h) })
	}
	n := float64(hosts)
	d.services = []*dayService{
		{name: "chat", tier: "critical", containers: []dayContainer{{name: "server", mib: 8192, percent: 40}}, low: n * 0.5, high: n * 1.2, peakHour: 15, stop: 25 * time.Second},
		{name: "embed", tier: "standard", containers: []dayContainer{{name: "model", mib: 3072, percent: 25}, {name: "tokenizer", mib: 512, percent: 5}}, low: n * 0.6, high: n * 1.5, peakHour: 11, stop: 10 * time.Second},
		{name: "thumbs", tier: "best-effort", containers: []dayContainer{{name: "worker", mib: 2048}}, low: n * 0.2, high: n, peakHour: 3, stop: 90 * time.Second},
		{name: "tune", tier: "standard", containers: []dayContainer{{name: "trainer", whole: true}}, low: 0, high: n * 0.15, peakHour: 1, stop: 60 * time.Second},
	}
	d.at(5*time.Second, d.scale)
	d.at(d.between(4*time.Hour, 9*time.Hour), d.spot)
	return d
}

func (d *day) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.rng.Int64N(int64(hi-lo)))
}

func (d *day) uuid() string {
	a, b := d.rng.Uint64(), d.rng.Uint64()
	return fmt.Sprintf("GPU-%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
}

// at schedules something after a while.
func (d *day) at(after time.Duration, do func()) {
	d.seq++
	heap.Push(&d.queue, action{d.now.Add(after), d.seq, do})
}

// advance moves the day to a time and returns the events that it made.
func (d *day) advance(until time.Time) [][]byte {
	for len(d.queue) > 0 && !d.queue[0].at.After(until) {
		a := heap.Pop(&d.queue).(action)
		d.now = a.at
		a.do()
	}
	d.now = until
	out := d.out
	d.out = nil
	return out
}

// scale moves each service one task towards what it wants, every half minute.
func (d *day) scale() {
	hour := float64(d.now.Hour()) + float64(d.now.Minute())/60
	for _, s := range d.services {
		wave := (1 + math.Cos((hour-s.peakHour)*math.Pi/12)) / 2
		want := int(math.Round(s.low + (s.high-s.low)*wave + d.rng.Float64() - 0.5))
		switch {
		case len(s.running) < want:
			d.start(s)
		case len(s.running) > want:
			d.stop(s.running[d.rng.IntN(len(s.running))], "Scaling activity initiated by deployment ecs-svc/0987654321098765432")
		}
	}
	d.at(d.between(20*time.Second, 40*time.Second), d.scale)
}

// start places a task as ECS does: the first card with enough memory left in
// ECS's books. Compute is not looked at.
func (d *day) start(s *dayService) {
	h, c := d.pick(s)
	if c == nil {
		return
	}
	t := &dayTask{arn: dayHead + fmt.Sprintf("task/gpu-local/%016x%016x", d.rng.Uint64(), d.rng.Uint64()), last: "PENDING", desired: "RUNNING", service: s, host: h, card: c, created: d.now}
	d.tasks[t.arn] = t
	s.running = append(s.running, t)
	c.held += s.mib()
	c.tasks++
	c.whole = s.containers[0].whole
	d.taskEvent(t)
	d.at(d.between(8*time.Second, 40*time.Second), func() {
		if t.desired == "RUNNING" {
			t.last = "RUNNING"
			d.taskEvent(t)
			d.hostEvent(t.host)
		}
	})
}

func (s *dayService) mib() int64 {
	var sum int64
	for _, c := range s.containers {
		sum += c.mib
	}
	return sum
}

func (d *day) pick(s *dayService) (*dayHost, *dayCard) {
	for _, i := range d.rng.Perm(len(d.hosts)) {
		h := d.hosts[i]
		if h.status != "ACTIVE" || !h.connected {
			continue
		}
		for _, c := range h.cards {
			if s.containers[0].whole && c.tasks == 0 || !s.containers[0].whole && !c.whole && c.held+s.mib() <= h.shape.mib {
				return h, c
			}
		}
	}
	return nil, nil
}

// stop asks a task to stop. ECS frees its memory in its own books at once; the
// task holds its card until it is STOPPED.
func (d *day) stop(t *dayTask, reason string) {
	if t.desired == "STOPPED" {
		return
	}
	s := t.service
	s.running = slices.DeleteFunc(s.running, func(x *dayTask) bool { return x == t })
	t.desired, t.stopping, t.reason, t.stopCode = "STOPPED", d.now, reason, "ServiceSchedulerInitiated"
	t.card.held -= s.mib()
	d.taskEvent(t)
	took := d.between(s.stop/5, s.stop)
	if d.rng.IntN(40) == 0 {
		took = d.between(4*time.Minute, 15*time.Minute) // one that does not want to go
	}
	d.at(took/2, func() { t.last = "STOPPING"; d.taskEvent(t) })
	d.at(took, func() {
		t.last, t.stopped = "STOPPED", d.now
		if t.card.tasks--; t.card.tasks == 0 {
			t.card.whole = false
		}
		d.taskEvent(t)
		d.hostEvent(t.host)
		d.at(time.Hour, func() { delete(d.tasks, t.arn) })
	})
}

// flap disconnects an agent for a moment, as happens several times an hour.
func (d *day) flap(h *dayHost) {
	h.connected = false
	d.hostEvent(h)
	d.at(d.between(time.Second, 20*time.Second), func() { h.connected = true; d.hostEvent(h) })
	d.at(d.between(15*time.Minute, 2*time.Hour), func() { d.flap(h) })
}

// spot takes an instance back: notice, draining, and a new one some minutes later.
func (d *day) spot() {
	h := d.hosts[d.rng.IntN(len(d.hosts))]
	d.event("aws.ec2", "EC2 Spot Instance Interruption Warning", "arn:aws:ec2:"+dayRegion+":"+dayAccount+":instance/"+h.ec2,
		map[string]any{"instance-id": h.ec2, "instance-action": "terminate"})
	h.status = "DRAINING"
	d.hostEvent(h)
	for _, t := range d.sorted() {
		if t.host == h {
			d.stop(t, "Service scheduler drains the container instance")
		}
	}
	d.at(2*time.Minute, func() { d.replace(h) })
	d.at(d.between(6*time.Hour, 14*time.Hour), d.spot)
}

func (d *day) replace(h *dayHost) {
	h.status, h.connected = "INACTIVE", false
	d.hostEvent(h)
	d.event("aws.ec2", "EC2 Instance State-change Notification", "arn:aws:ec2:"+dayRegion+":"+dayAccount+":instance/"+h.ec2, map[string]any{"instance-id": h.ec2, "state": "terminated"})
	n := &dayHost{arn: dayHead + fmt.Sprintf("container-instance/gpu-local/%016x%016x", d.rng.Uint64(), d.rng.Uint64()), ec2: fmt.Sprintf("i-%017x", d.rng.Uint64()>>4),
		zone: h.zone, shape: h.shape, status: "ACTIVE", connected: true}
	for range h.shape.cards {
		n.cards = append(n.cards, &dayCard{uuid: d.uuid()})
	}
	d.at(d.between(2*time.Minute, 6*time.Minute), func() {
		n.registered = d.now
		d.hosts[slices.Index(d.hosts, h)] = n
		d.hostEvent(n)
		d.at(d.between(time.Hour, 3*time.Hour), func() { d.flap(n) })
	})
}

// sorted are the tasks in a fixed order, so that a seed gives one day.
func (d *day) sorted() []*dayTask {
	out := make([]*dayTask, 0, len(d.tasks))
	for _, t := range d.tasks {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *dayTask) int { return cmp.Compare(a.arn, b.arn) })
	return out
}

func (d *day) event(source, kind, resource string, detail any) {
	d.seq++
	b, _ := json.Marshal(map[string]any{"version": "0", "id": fmt.Sprintf("%08x-0000-4000-8000-%012x", d.seq, d.seq), "detail-type": kind, "source": source,
		"account": dayAccount, "time": d.now.UTC().Format(time.RFC3339Nano), "region": dayRegion, "resources": []string{resource}, "detail": detail})
	d.out = append(d.out, b)
}
