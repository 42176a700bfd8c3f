package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// The fleets make much garbage and keep little: collecting it less often is a
// third of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
