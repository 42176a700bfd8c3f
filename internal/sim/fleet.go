package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

const (
	account = "111122223333"
	region  = "us-east-1"
)

// Config of a fleet.
type Config struct {
	Seed    uint64
	Start   time.Time
	Cluster string // its name; "gpu" when empty
	Choice  Choice
	// Flaps lets agents disconnect for seconds now and then, as they do by design.
	Flaps bool
}

// Fleet is one cluster in one account and Region.
type Fleet struct {
	cfg         Config
	rng         *rand.Rand
	now         time.Time
	queue       actions
	seq         uint64
	events      uint64
	out         []Emitted
	lostUntil   time.Time
	hosts       []*Host
	ended       []*Host // terminated within the hour
	byEC2       map[string]*Host
	byInstance  map[string]*Host
	groups      []*Group
	providers   []*Provider
	pids        int
	documents   map[string]Document
	commands    []*Command
	ran         map[string]ran // by client token
	tasks       []*Task        // in order of creation; some of the stopped ones linger
	stopped     int            // how many of tasks are STOPPED
	sets        [][]*Card
	byARN       map[string]*Task
	services    []*Service
	definitions map[string]*Definition
	revisions   map[string]int
}

// New makes an empty fleet.
func New(cfg Config) *Fleet {
	if cfg.Cluster == "" {
		cfg.Cluster = "gpu"
	}
	return &Fleet{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x73696d)), now: cfg.Start, byARN: map[string]*Task{}, byEC2: map[string]*Host{}, byInstance: map[string]*Host{}, documents: map[string]Document{}, ran: map[string]ran{},
		definitions: map[string]*Definition{}, revisions: map[string]int{}}
}

// Now is the virtual time.
func (f *Fleet) Now() time.Time { return f.now }

// Cluster is the cluster's ARN.
func (f *Fleet) Cluster() string { return f.head() + "cluster/" + f.cfg.Cluster }

func (f *Fleet) head() string { return "arn:aws:ecs:" + region + ":" + account + ":" }

func (f *Fleet) id(kind string) string {
	return f.head() + fmt.Sprintf("%s/%s/%016x%016x", kind, f.cfg.Cluster, f.rng.Uint64(), f.rng.Uint64())
}

func (f *Fleet) uuid() gpu.UUID {
	return gpu.UUID("GPU-" + f.token())
}

// token is a UUID.
func (f *Fleet) token() string {
	a, b := f.rng.Uint64(), f.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
}

// Account is the account that the fleet lives in.
const Account = account

// Zones are the availability zones of the Region.
func Zones() []string { return []string{region + "a", region + "b", region + "c"} }
