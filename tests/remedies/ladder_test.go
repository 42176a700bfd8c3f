package remedies

import (
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func TestXid79DrainsWithinTenSecondsAndAVerifiedNewcomerServes(t *testing.T) {
	w := newWorld(t, setup{hosts: 5, tasks: 6})
	h := w.hosts()[1]
	w.xid(h, 79)
	seen := w.f.Now()
	w.run(10*time.Second, 5*time.Second)
	if h.Status != "DRAINING" || h.Attributes["bulkhead.cordon"] == "" {
		t.Fatalf("%s after the Xid: %s %v\n%s", w.f.Now().Sub(seen), h.Status, h.Attributes, w.trail())
	}
	w.run(6*time.Minute, 10*time.Second)
	c := w.all()
	if len(c) != 1 || c[0].Outcome != remedy.Replaced {
		t.Fatalf("%s", w.trail())
	}
	if got := len(w.hosts()); got != 5 {
		t.Errorf("%d hosts run, 5 are desired", got)
	}
	t.Logf("Xid 79 to a newcomer that serves: %s of fleet time", c[0].MTTR())
}

func TestADeadDaemonIsQuarantinedWithinTenSecondsAndRestarted(t *testing.T) {
	w := newWorld(t, setup{hosts: 5})
	h := w.hosts()[1]
	w.server.Do(func(f *sim.Fleet) {
		if err := f.Inject(sim.Fault{Kind: "mps-dead", Host: h.EC2}); err != nil {
			t.Fatal(err)
		}
	})
	w.run(10*time.Second, 5*time.Second)
	if h.Attributes["bulkhead.cordon"] == "" {
		t.Fatalf("not quarantined\n%s", w.trail())
	}
	w.run(5*time.Minute, 10*time.Second)
	c := w.all()
	if len(c) != 1 || c[0].Outcome != remedy.Recovered || len(w.ran) != 1 || h.Attributes["bulkhead.cordon"] != "" {
		t.Fatalf("ran %v, attributes %v\n%s", w.ran, h.Attributes, w.trail())
	}
	t.Logf("dead daemon to service: %s of fleet time", c[0].MTTR())
}
