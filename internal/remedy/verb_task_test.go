package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// task host=ID name=ARN [service=S] [protected] [daemon] [card] [stuck] [pids=(1,2)] [many=N]
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
	many := 1
	arg(s, d, "many", &many)
	for i := range many {
		one := *t
		if many > 1 {
			one.arn = fmt.Sprint(t.arn, "-", i+1)
		}
		h.tasks = append(h.tasks, &one)
	}
	return "ok\n"
}
