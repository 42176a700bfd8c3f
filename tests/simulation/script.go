package simulation

import (
	"fmt"
	"math/rand/v2"
)

// script makes up the lines of one life of a small fleet. It keeps a rough idea of
// what exists, so that most lines make sense; those that do not are harmless.
type script struct {
	rng   *rand.Rand
	lines []string
	tasks int
	live  []string
	over  []string
	hosts []string
	cards int
	told  int // events so far, at least

	reserved string // the last reservation
}

// Script is the script of a seed.
func Script(seed uint64, lines int) []string {
	s := &script{rng: rand.New(rand.NewPCG(seed, 0x51))}
	s.add("define small app=2000/20 stop=30s")
	s.add("define pair agent=none model=7000/40 side=1000/5 stop=60s")
	s.add("define train app=whole stop=30s")
	for i := range 1 + s.rng.IntN(3) {
		s.hosts = append(s.hosts, fmt.Sprint("h", i))
		s.register(s.hosts[i])
	}
	for len(s.lines) < lines {
		s.step()
	}
	return s.lines
}

func (s *script) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *script) pick(names []string) string { return names[s.rng.IntN(len(names))] }

func (s *script) register(host string) {
	s.cards++
	cards := fmt.Sprint("c", s.cards)
	if s.rng.IntN(3) == 0 {
		s.cards++
		cards += fmt.Sprint(",c", s.cards)
	}
	s.add("register %s cards=%s", host, cards)
	s.told++
}

func (s *script) card() string { return fmt.Sprint("c", 1+s.rng.IntN(s.cards)) }

// step adds what happens next.
func (s *script) step() {
	switch r := s.rng.IntN(100); {
	case r < 25:
		s.place()
	case r < 45 && len(s.live) > 0:
		s.add("runs %s gpu=%s", s.pick(s.live), s.card())
		s.told++
	case r < 55 && len(s.live) > 0:
		s.add("stop %s", s.pick(s.live))
		s.told++
	case r < 66 && len(s.live) > 0:
		i := s.rng.IntN(len(s.live))
		s.add("stopped %s", s.live[i])
		if s.rng.IntN(6) == 0 { // within the tombstone's window: later, ECS's word is all there is
			s.add("contradict %s", s.live[i])
			s.told++
		}
		s.over = append(s.over, s.live[i])
		s.live = append(s.live[:i], s.live[i+1:]...)
		s.told++
	case r < 70:
		s.add("wait %ds", 1+s.rng.IntN(1200))
	case r < 76:
		s.add("sweep")
	case r < 84:
		s.fault()
	case r < 92:
		s.add("again %d %d", s.rng.IntN(s.told), s.rng.IntN(s.told))
	case r < 94:
		s.reserved = fmt.Sprint("r", len(s.lines))
		s.add("reserve %s on=%s mib=%d for=%ds", s.reserved, s.pick(s.hosts), 100+s.rng.IntN(20000), 1+s.rng.IntN(600))
	case r < 96 && len(s.over) > 0:
		s.add("forget %s", s.pick(s.over))
	case r < 98:
		s.add("retry")
	default:
		s.move()
	}
}

func (s *script) place() {
	s.tasks++
	name := fmt.Sprint("t", s.tasks)
	line := fmt.Sprintf("place %s def=%s on=%s", name, s.pick([]string{"small", "small", "pair", "train"}), s.pick(s.hosts))
	if s.rng.IntN(3) > 0 {
		line += " gpu=" + s.card()
	}
	if s.reserved != "" && s.rng.IntN(2) == 0 {
		line += " by=" + s.reserved
	}
	s.add("%s", line)
	s.live = append(s.live, name)
	s.told++
}

func (s *script) fault() {
	switch s.rng.IntN(6) {
	case 0:
		s.add("lose on")
	case 1:
		s.add("lose off")
	case 2:
		s.add("hold on")
	case 3:
		s.add("hold off")
	case 4:
		s.add("again %s", s.pick([]string{"all", "reversed"}))
	case 5:
		s.add("fail %s %d", s.pick([]string{"conflict", "throttle", "lostreply"}), 1+s.rng.IntN(4))
	}
}

// move changes a host: other cards, other status.
func (s *script) move() {
	host := s.pick(s.hosts)
	switch s.rng.IntN(4) {
	case 3: // a notice about an instance that nobody has told of yet
		late := fmt.Sprint("n", len(s.lines))
		s.add("spot %s", late)
		s.told++
		s.register(late)
		s.hosts = append(s.hosts, late)
	case 0:
		s.register(host)
	case 1:
		s.add("status %s %s", host, s.pick([]string{"DRAINING", "ACTIVE"}))
		s.told++
	case 2:
		s.add("spot %s", host)
		s.told++
	}
}
