package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// table, with an override document: the cluster's own word on some Xids.
func verbTable(s *script, d *datadriven.TestData) string {
	table, diffs, err := s.fleet.judge.Xids.Override([]byte(d.Input))
	if err != nil {
		return err.Error() + "\n"
	}
	s.fleet.judge.Xids = table
	return list(len(diffs), func(i int) string {
		return fmt.Sprintf("%v %s: %v -> %v (%s)", diffs[i].Codes, diffs[i].Name, diffs[i].From, diffs[i].To, diffs[i].Peers)
	})
}
