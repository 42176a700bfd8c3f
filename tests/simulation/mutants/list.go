package main

// mutant is one deliberate fault: a place in a file, and what stands there instead.
type mutant struct{ name, file, old, new string }

const (
	observe     = "internal/ledger/observe.go"
	observeHost = "internal/ledger/observehost.go"
	view        = "internal/ledger/view.go"
	reserve     = "internal/ledger/reserve.go"
	ingest      = "internal/fleet/ingest.go"
	heal        = "internal/fleet/heal.go"
	truth       = "internal/fleet/truth.go"
	orphan      = "internal/fleet/orphan.go"
	reports     = "internal/fleet/reports.go"
)

// list holds the faults that such systems have had, and those that are easy to make.
var list = []mutant{
	{"an older event wins", observe, "c := t.compare(old)\n", "c := 1\n"},
	{"STOPPED is not final", "internal/ledger/task.go", "if c := cmp.Compare(boolRank(a.Phase == PhaseStopped), boolRank(b.Phase == PhaseStopped)); c != 0 {", "if c := 0; c != 0 {"},
	{"stopping counts as free", view, "\tcase t.Phase == PhaseStopping:\n\t\treturn StateReleasing", "\tcase t.Phase == PhaseStopping:\n\t\treturn StateReleased"},
	{"a stopped task still holds", view, "\tcase t.Phase == PhaseStopped:\n\t\treturn StateReleased", "\tcase t.Phase == PhaseStopped:\n\t\treturn StateBound"},
	{"a slice written in place", observe, "\t\th.Tasks = slices.Clone(h.Tasks)\n", ""},
	{"a task keeps its reservation", observe, "h.Reservations = dropReservation(h.Reservations, t.StartedBy)", "_ = dropReservation"},
	{"a registration by arrival", observeHost, "if newer > 0 {", "if newer != 0 {"},
	{"cards by arrival", observeHost, "h.Listed = max(h.Listed, s.Registration.Version+1)", "h.Listed = s.Registration.Version + 1"},
	{"a vanished card stays", observeHost, "func (h Host) vanished(d DeviceFacts) bool { return d.Registered > 0 && d.Registered < h.Listed }", "func (h Host) vanished(DeviceFacts) bool { return false }"},
	{"the index is never written", orphan, "if !ledger.SameLookup(before, h) {", "if false {"},
	{"a reservation never ends", reserve, "return now.Before(r.LeaseUntil.Add(p.ReservationGrace)) })", "return true })"},
	{"tombstones dropped at once", reserve, "cut := now.Add(-p.TombstoneWindow)", "cut := now.Add(p.TombstoneWindow)"},
	{"a contradicted tombstone is dropped", reserve, "!laterOf(t.endedAt(), t.Heard).Before(cut)", "!t.endedAt().Before(cut)"},
	{"waiting reservations weigh nothing", reserve, "w.memory = w.memory.Add(s.Memory)", "_ = s.Memory"},
	{"tiers are not looked at", reserve, "if s.State.Holds() && !p.compatible(s.Tier, r.Tier) {", "if false {"},
	{"clients are not counted", reserve, "case clients+len(r.Containers) > p.MaxClients:", "case false:"},
	{"a leaving host is promised", reserve, "case len(h.Leaving) > 0:", "case false:"},
	{"a lost race is forgotten", "internal/fleet/fit.go", "\t_, err := s.Commit(ctx, h)\n", "\t_, err := s.Commit(ctx, h)\n\tif errors.Is(err, ledger.ErrConflict) {\n\t\terr = nil\n\t}\n"},
	{"a failed message is acknowledged", ingest, "r.Outcome, r.Err, r.Text = Failed, res.err, res.err.Error()", "r.Text = res.err.Error()"},
	{"an old event is believed", ingest, "if !known && in.Oracle != nil && in.Policy.TooOldToBelieve(w.cmd.At, now) {", "if false {"},
	{"an orphan is not adopted", orphan, "for _, l := range o.Leaving {", "for _, l := range o.Leaving[:0] {"},
	{"the sweep frees nothing", heal, "if task.Phase == ledger.PhaseStopped || !t.gone[task.ARN] {", "if true {"},
	{"the sweep sees no ghosts", heal, "if !had && (len(task.Shares) == 0 || task.Phase == ledger.PhaseStopped) {", "if !had {"},
	{"the sweep forgets stopping tasks", truth, `for _, desired := range []string{"RUNNING", "STOPPED"} {`, `for _, desired := range []string{"RUNNING"} {`},
	{"the young are called missing", truth, "task.Phase != ledger.PhaseStopped && !task.Heard.After(young) {", "task.Phase != ledger.PhaseStopped {"},
	{"a list's silence is proof", truth, "\t\tfor _, x := range found {\n\t\t\tt.addTask(x)\n\t\t}\n\t\tfor _, arn := range missing {\n\t\t\tt.gone[arn] = true\n\t\t}", "\t\tfor _, arn := range append(missing, batch...) {\n\t\t\tt.gone[arn] = true\n\t\t}\n\t\t_ = found"},
	{"the sweep keeps dead hosts", heal, "case h.Gone() && len(h.Tasks) == 0 && h.Revision > 0 && !t.saved:", "case false:"},
	{"containers by position", "internal/ingest/size.go", "func(c ContainerGPUs) bool { return c.Name == need.Name }); i >= 0 {", "func(ContainerGPUs) bool { return true }); i >= 0 {"},
	{"a task's shares by its first", "internal/ingest/size.go", "s.GPUs, s.Bad = splitIDs(containers[i].IDs)", "if len(out) == 0 {\n\t\t\t\t\ts.GPUs, s.Bad = splitIDs(containers[i].IDs)\n\t\t\t\t}"},
	{"the journal skips", "internal/fleet/outbox.go", "\t\tlast[h.ID] = len(entries)\n\t\tentries = append(entries, e)", "\t\tif len(entries) == 0 {\n\t\t\tentries = append(entries, e)\n\t\t}"},
	{"desired STOPPED is not heard", "internal/ingest/task.go", "if desired == \"STOPPED\" {", "if false {"},
	{"a notice reaches one registration", ingest, "\tfor _, id := range ids {\n", "\tfor _, id := range ids[:min(1, len(ids))] {\n"},
	{"a named card is forgotten", observe, "next = keepCards(next, old, t)", "_ = keepCards"},
	{"the last saying wins", truth, "task = ledger.Newer(task, sizeSeen(x, t.defs[x.Task.Definition], tiers))", "task = sizeSeen(x, t.defs[x.Task.Definition], tiers)"},
	{"a report counts twice", reports, "rep.Sequence <= rec.Sequence {", "rep.Sequence < rec.Sequence {"},
	{"a lying clock is believed", reports, "case skew > MaxSkew:", "case skew < 0:"},
	{"a foreign event is believed", "internal/ingest/scope.go", "if len(s.Accounts) > 0 && !slices.Contains(s.Accounts, account) {", "if len(s.Accounts) > 99 && !slices.Contains(s.Accounts, account) {"},
	{"a reply that was lost is done again", "internal/fleet/fit.go", "_, err := s.Commit(ctx, h)\n", "_, err := s.Commit(ctx, h)\n\tif errors.Is(err, ledger.ErrThrottled) {\n\t\terr = nil\n\t}\n"},
	{"a share below zero makes room", view, "d.Held = d.Held.Add(max(0, s.Memory))", "d.Held = d.Held.Add(s.Memory - 1)"},
}
