package remedy

import "github.com/cockroachdb/datadriven"

// task host=ID name=ARN [service=S] [protected] [daemon] [card] [stuck] [pids=(1,2)]
func verbTask(s *script, d *datadriven.TestData) string {
	h := s.named(d)
	t := &task{daemon: d.HasArg("daemon"), protected: d.HasArg("protected"), onCard: d.HasArg("card"), stuck: d.HasArg("stuck")}
	d.ScanArgs(s.t, "name", &t.arn)
	arg(s, d, "service", &t.service)
	if a, ok := d.Arg("pids"); ok {
		t.pids = make([]int, len(a.Vals))
		for i := range a.Vals {
			a.Scan(s.t, i, &t.pids[i])
		}
	}
	h.tasks = append(h.tasks, t)
	return "ok\n"
}
