package drift

import (
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Policy is how much two witnesses may differ.
type Policy struct {
	// Grace is how long ECS's word may take to reach the ledger, and a task to leave
	// its card after ECS called it stopped.
	Grace time.Duration
	// Stale is how many leases a report may be old to be compared at all.
	Stale int
	// Slack is the difference of two totals that is no difference: drivers reserve
	// some memory of their own.
	Slack gpu.MiB
}

// DefaultPolicy is that of a fresh installation.
func DefaultPolicy() Policy { return Policy{Grace: time.Minute, Stale: 3, Slack: 64} }

// Report is what a host's agent said, and when it came.
type Report struct {
	events.HostReport
	ReceivedAt time.Time
	// Since is when each standing gap was first seen, by Key.
	Since map[string]time.Time
}

// Compare names the gaps between the ledger's view of a host and the host's own
// report. The order is that of all findings. A report that is too old, or of an
// agent that could not read its cards, names none but that of what it could read.
func Compare(v ledger.View, r Report, p Policy, now time.Time) []ledger.Finding {
	if !r.fresh(p, now) || v.Host.Gone() {
		return nil
	}
	c := comparer{view: v, report: r, policy: p, now: now, cards: map[gpu.UUID]ledger.Device{}}
	for _, d := range v.Devices {
		c.cards[d.UUID] = d
	}
	if r.NVML == "ok" {
		c.devices()
	}
	for _, s := range r.Shares {
		c.share(s)
	}
	for _, x := range r.Processes {
		c.process(x)
	}
	ledger.SortFindings(c.found)
	return c.found
}

func (r Report) fresh(p Policy, now time.Time) bool {
	lease := time.Duration(r.LeaseSeconds) * time.Second
	return !r.ReceivedAt.IsZero() && lease > 0 && now.Sub(r.ReceivedAt) <= time.Duration(p.Stale)*lease
}

// Key names a gap across reports.
func Key(f ledger.Finding) string { return string(f.Kind) + " " + f.Subject }

// Since keeps when each gap was first seen: what stands keeps its time, what went
// is forgotten.
func Since(before map[string]time.Time, found []ledger.Finding, now time.Time) map[string]time.Time {
	if len(found) == 0 {
		return nil
	}
	out := map[string]time.Time{}
	for _, f := range found {
		k := Key(f)
		if out[k] = now; !before[k].IsZero() {
			out[k] = before[k]
		}
	}
	return out
}

type comparer struct {
	view   ledger.View
	report Report
	policy Policy
	now    time.Time
	cards  map[gpu.UUID]ledger.Device
	found  []ledger.Finding
}

func (c *comparer) add(k ledger.Kind, s ledger.Severity, subject, format string, args ...any) {
	f := ledger.Finding{Kind: k, Severity: s, Subject: subject, Host: c.view.Host.ID.Instance, Cluster: c.view.Host.ID.Cluster}
	f.Reason = fmt.Sprintf(format, args...)
	if since := c.report.Since[Key(f)]; !since.IsZero() && c.now.Sub(since) >= time.Minute {
		f.Reason += fmt.Sprintf(" (for %s)", c.now.Sub(since).Truncate(time.Minute))
	}
	c.found = append(c.found, f)
}

// devices compares the cards: who is there, and how large.
func (c *comparer) devices() {
	seen := map[gpu.UUID]bool{}
	for _, d := range c.report.Devices {
		u := gpu.UUID(d.UUID)
		if d.Lost || !u.Valid() {
			continue // the health of a lost card is told as health
		}
		seen[u] = true
		known, ok := c.cards[u]
		switch {
		case !ok || !known.Registered && !known.Vanished:
			c.add(ledger.DeviceNotRegistered, ledger.Warning, d.UUID, "the host has the card and ECS does not list it: no task can be placed on it")
		case known.Total > 0 && differ(known.Total, gpu.MiB(d.TotalMiB)) > c.policy.Slack:
			c.add(ledger.TotalMismatch, ledger.Warning, d.UUID, "ECS counts with %v and the driver with %d MiB", known.Total, d.TotalMiB)
		}
	}
	for _, d := range c.view.Devices {
		if d.Registered && !seen[d.UUID] && len(c.report.Devices) > 0 {
			c.add(ledger.DeviceNotSeen, ledger.Error, string(d.UUID), "ECS places tasks on the card and the driver does not show it")
		}
	}
}

func differ(a, b gpu.MiB) gpu.MiB { return max(a.Sub(b), b.Sub(a)) }

// share compares what one container holds with what the ledger says it may.
func (c *comparer) share(s events.ReportShare) {
	task, known := c.view.Host.Task(s.TaskArn)
	subject := s.TaskArn
	switch {
	case !strings.HasPrefix(subject, "arn:"):
		return // of no task: told as a process
	case !known:
		if c.report.UptimeSeconds*float64(time.Second) > float64(c.policy.Grace) {
			c.add(ledger.TaskNotInLedger, ledger.Warning, subject, "container %q holds memory of %s and the ledger does not know the task: the next sweep asks ECS", s.Container, short(s.GPU))
		}
		return
	case task.Phase == ledger.PhaseStopped:
		if c.report.ObservedAt.After(task.StoppedAt.Add(c.policy.Grace)) {
			c.add(ledger.HeldAfterStop, ledger.Error, subject, "ECS says it stopped at %s, and container %q still holds %sof %s", task.StoppedAt.UTC().Format(time.RFC3339), s.Container, used(s.UsedMiB), short(s.GPU))
		}
		return
	}
	c.neighbours(s)
	for _, own := range task.Shares {
		if own.Container == s.Container && own.Need == ledger.NeedShare {
			c.limits(s, own)
		}
	}
}

// neighbours names a task on a card that another one holds whole.
func (c *comparer) neighbours(s events.ReportShare) {
	d, ok := c.cards[gpu.UUID(s.GPU)]
	if !ok || d.Mode != gpu.ModeDedicated {
		return
	}
	for _, own := range d.Shares {
		if own.TaskARN == s.TaskArn {
			return
		}
	}
	c.add(ledger.ModeMismatch, ledger.Error, s.GPU, "the ledger gives the card whole to another task, and %s is on it", short(s.TaskArn))
}

// limits compares what is in force in the container with what its definition says.
func (c *comparer) limits(s events.ReportShare, own ledger.TaskShare) {
	if s.LimitMiB == nil || own.Sized && gpu.MiB(*s.LimitMiB) > own.Memory {
		inForce := "no limit"
		if s.LimitMiB != nil {
			inForce = fmt.Sprintf("%d MiB", *s.LimitMiB)
		}
		c.add(ledger.LimitMismatch, ledger.Warning, s.TaskArn, "container %q declares %v and has %s in force", s.Container, own.Memory, inForce)
	}
	if own.Compute > 0 && own.Compute < gpu.FullCompute && (s.Percent == nil || gpu.Percent(*s.Percent) > own.Compute) {
		inForce := "no ceiling"
		if s.Percent != nil {
			inForce = fmt.Sprintf("%d%%", *s.Percent)
		}
		c.add(ledger.CeilingMismatch, ledger.Warning, s.TaskArn, "container %q declares a ceiling of %v and has %s in force", s.Container, own.Compute, inForce)
	}
	if s.UsedMiB != nil && own.Sized && own.Memory > 0 && gpu.MiB(*s.UsedMiB) > own.Memory {
		why := "ECS's limit binds what MPS allocates, not all that a process takes"
		if s.Processes > 1 {
			why = fmt.Sprintf("it runs %d processes, and each has the limit by itself", s.Processes)
		}
		c.add(ledger.OverShare, ledger.Warning, s.TaskArn, "container %q uses %d MiB of the %v it declares: %s", s.Container, *s.UsedMiB, own.Memory, why)
	}
}

// process names what holds a card beside MPS.
func (c *comparer) process(x events.ReportProcess) {
	switch x.Kind {
	case "bypass":
		c.add(ledger.MPSBypass, ledger.Error, x.TaskArn, "process %d of container %q holds %sof %s beside MPS: no limit binds it", x.PID, x.Container, used(x.UsedMiB), short(x.GPU))
	case "foreign":
		c.add(ledger.ForeignProcess, ledger.Warning, x.GPU, "process %d (%q) of no task holds %sof it", x.PID, x.Command, used(x.UsedMiB))
	}
}

// used says an amount that may not be known, with a space behind it.
func used(mib *int64) string {
	if mib == nil {
		return "memory "
	}
	return fmt.Sprintf("%d MiB ", *mib)
}

func short(id string) string {
	if u := gpu.UUID(id); u.Valid() {
		return u.Short()
	}
	return id[strings.LastIndexByte(id, '/')+1:]
}
