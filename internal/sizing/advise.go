package sizing

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Policy is how cautious a recommendation is.
type Policy struct {
	// Overhead is added for a CUDA context, unless peaks are known to hold it: NVML's
	// figure of a process counts its context, so the default adds none.
	Overhead gpu.MiB
	Margin   gpu.Percent // on top of the highest peak
	Round    gpu.MiB     // memory is rounded up to a multiple
	// Budget is the compute, in percent of a card, that a card packed full by memory may
	// promise: 100 never oversubscribes, 200 leaves idle compute to bursts.
	Budget gpu.Percent
	// MinSeconds of watching under which evidence is called thin.
	MinSeconds int64
	// MaxAge of the newest peak beyond which evidence is called stale.
	MaxAge time.Duration
	// Slack is how much of the declared memory may stand unused before it is called too much.
	Slack gpu.Percent
}

// DefaultPolicy is 15 % above the highest peak, rounded up to 256 MiB, for a day.
func DefaultPolicy() Policy {
	return Policy{Margin: 15, Round: 256, Budget: 100, MinSeconds: 24 * 3600, MaxAge: 7 * 24 * time.Hour, Slack: 30}
}

// Check names what is wrong with a policy.
func (p Policy) Check() error {
	switch {
	case p.Overhead < 0 || p.Overhead > MaxPeak:
		return fmt.Errorf("overhead %s is not in 0 to %s", p.Overhead, MaxPeak)
	case p.Margin < 0 || p.Margin > 400:
		return fmt.Errorf("margin %s is not in 0%% to 400%%", p.Margin)
	case p.Round < 1 || p.Round > 65536:
		return fmt.Errorf("rounding %s is not in 1 to 65536 MiB", p.Round)
	case p.Budget < 1 || p.Budget > MaxBudget:
		return fmt.Errorf("compute budget %s is not in 1%% to %s", p.Budget, MaxBudget)
	}
	return nil
}

// Finding says what an advice is about, gravest first.
type Finding string

// UnderDeclared containers come first: they fail, or press on their neighbours.
const (
	UnderDeclared Finding = "UnderDeclared" // a peak reached the declared memory, or would with its overhead
	TooLarge      Finding = "TooLargeForCard"
	Tight         Finding = "Tight" // the declared memory holds the peak, not the margin
	OverDeclared  Finding = "OverDeclared"
	WholeGPU      Finding = "WholeGPU"     // it takes whole cards; this is what it would ask for as a share
	Undeclared    Finding = "LimitUnknown" // nothing told the declared memory
	Fine          Finding = "Fine"
	NoEvidence    Finding = "NoEvidence" // no peak was ever believed
)

var findingRank = map[Finding]int{UnderDeclared: 0, TooLarge: 1, Tight: 2, OverDeclared: 3, WholeGPU: 4, Undeclared: 5, Fine: 6, NoEvidence: 7}

// Advice is what to declare for one subject, and why.
type Advice struct {
	Subject
	Finding  Finding     `json:"finding"`
	Declared gpu.MiB     `json:"declaredMiB,omitempty"`
	Percent  gpu.Percent `json:"declaredPercent,omitempty"`
	P50      gpu.MiB     `json:"p50MiB"`
	P99      gpu.MiB     `json:"p99MiB"`
	Max      gpu.MiB     `json:"maxMiB"`
	Memory   gpu.MiB     `json:"memoryMiB,omitempty"` // to declare; zero without evidence
	// Compute is the ceiling at which a card packed full by memory keeps the budget. It
	// follows from memory: what a container uses of a shared card's compute is not
	// measured. Zero when the card's total is not known.
	Compute gpu.Percent `json:"maxComputePercent,omitempty"`
	Seconds int64       `json:"watchedSeconds"`
	Windows int64       `json:"windows"`
	First   time.Time   `json:"first"`
	Last    time.Time   `json:"last"`
	Thin    bool        `json:"thin,omitempty"`
	Stale   bool        `json:"stale,omitempty"`
	// Drift: a newer image of the family's container runs; the figures are of an old one.
	Drift   string `json:"drift,omitempty"`
	Refused int64  `json:"refusedPeaks,omitempty"`
	Why     string `json:"why"`
}

// Advise recommends for every subject, the under-declared first, then by how much
// memory is at stake.
func Advise(series []Series, p Policy, now time.Time) []Advice {
	out := make([]Advice, 0, len(series))
	newest := newestImages(series)
	for _, s := range series {
		a := advise(s, p, now)
		k := Subject{Definition: s.Family(), Container: s.Container}
		if n := newest[k]; n.Image != "" && s.Image != "" && n.Image != s.Image {
			a.Drift = "image " + shortDigest(n.Image) + " replaced this one; its peaks count, not these"
			if n.Peaks.Max > s.Peaks.Max {
				a.Drift += fmt.Sprintf(" (it peaked %s higher)", n.Peaks.Max-s.Peaks.Max)
			}
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Advice) int {
		return cmp.Or(cmp.Compare(findingRank[a.Finding], findingRank[b.Finding]), cmp.Compare(stake(b), stake(a)), a.Compare(b.Subject))
	})
	return out
}

func stake(a Advice) gpu.MiB { return max(a.Memory-a.Declared, a.Declared-a.Memory) }

// newestImages finds for each family's container the image heard of last.
func newestImages(series []Series) map[Subject]Series {
	out := map[Subject]Series{}
	for _, s := range series {
		k := Subject{Definition: s.Family(), Container: s.Container}
		old, ok := out[k]
		if s.Image != "" && (!ok || cmp.Or(s.First.Compare(old.First), revision(s.Definition)-revision(old.Definition), s.Compare(old.Subject)) > 0) {
			out[k] = s
		}
	}
	return out
}

func revision(definition string) int {
	_, r, _ := strings.Cut(definition, ":")
	n, err := strconv.Atoi(r)
	if err != nil || n < 0 || n > 1<<30 {
		return 0
	}
	return n
}

func shortDigest(d string) string {
	_, hex, ok := strings.Cut(d, ":")
	if !ok {
		hex = d
	}
	return hex[:min(12, len(hex))]
}

func advise(s Series, p Policy, now time.Time) Advice {
	a := Advice{Subject: s.Subject, Declared: s.Limit, Percent: s.Percent, P50: s.Peaks.Quantile(500), P99: s.Peaks.Quantile(990), Max: s.Peaks.Max,
		Seconds: s.Peaks.Seconds(), Windows: s.Windows, First: s.First, Last: s.Last, Refused: s.Refused}
	if s.Peaks.Max <= 0 {
		a.Finding, a.Why = NoEvidence, "no peak of it was reported that can be true"
		return a
	}
	a.Thin, a.Stale = a.Seconds < p.MinSeconds, now.Sub(s.Last) > p.MaxAge
	need := s.Peaks.Max.Add(p.Overhead)
	wanted := need.Add((need*gpu.MiB(p.Margin) + 99) / 100)
	a.Memory = roundUp(wanted, p.Round)
	if s.Total > 0 {
		if a.Memory > s.Total && need <= s.Total {
			a.Memory = s.Total // the margin does not fit, the peak does
		}
		a.Compute = proportional(a.Memory, s.Total, p.Budget)
	}
	a.judge(s, p, need)
	if a.Finding == Fine && s.Limit < fitted(wanted, s.Total) {
		a.Finding = Tight
	}
	return a
}

func (a *Advice) judge(s Series, p Policy, need gpu.MiB) {
	switch {
	case s.Whole:
		a.Finding, a.Why = WholeGPU, fmt.Sprintf("it has whole cards and its highest peak is %s: as a share it would ask for %s", s.Peaks.Max, a.Memory)
	case s.Limit > 0 && need >= s.Limit:
		a.Finding = UnderDeclared
		a.Why = fmt.Sprintf("its highest peak %s with %s overhead reaches the declared %s", s.Peaks.Max, p.Overhead, s.Limit)
		if s.Processes > 1 {
			a.Why += fmt.Sprintf("; %d processes hold the ceiling each, so it binds none of them together", s.Processes)
		}
	case s.Total > 0 && a.Memory > s.Total:
		a.Finding, a.Why = TooLarge, fmt.Sprintf("it needs %s and the card has %s", a.Memory, s.Total)
	case s.Limit <= 0:
		a.Finding, a.Why = Undeclared, "nothing told the declared memory; compare with the task definition"
	case (s.Limit-a.Memory)*100 > s.Limit*gpu.MiB(p.Slack):
		a.Finding, a.Why = OverDeclared, fmt.Sprintf("%s of the declared %s were never touched", s.Limit-need, s.Limit)
	default:
		a.Finding, a.Why = Fine, fmt.Sprintf("its highest peak %s leaves %s of the declared %s", s.Peaks.Max, s.Limit-s.Peaks.Max, s.Limit)
	}
}

// fitted is the wanted memory, or the whole card where only the margin does not fit.
func fitted(wanted, total gpu.MiB) gpu.MiB {
	if total > 0 {
		return min(wanted, total)
	}
	return wanted
}

// roundUp is the least multiple of step that is not below m.
func roundUp(m, step gpu.MiB) gpu.MiB { return (m + step - 1) / step * step }

// proportional is the greatest ceiling that keeps compute per memory within
// budget/total: then no set of shares that fits by memory exceeds the budget. At
// least 1, since ECS takes no less, and never above 100.
func proportional(m, total gpu.MiB, budget gpu.Percent) gpu.Percent {
	return gpu.Percent(min(100, max(1, gpu.MiB(budget)*m/total)))
}
