package fleet

import (
	"context"
	"errors"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// orphans is the cluster under which notices about EC2 instances are kept. They
// are kept also while a host of the instance is known: another registration of it
// may still come, or be told of late, and order must not matter.
const orphans = "orphans"

func orphanID(ec2 string) ledger.HostID { return ledger.HostID{Cluster: orphans, Instance: ec2} }

// IsOrphanage reports whether a cluster name is the waiting room and no cluster.
func IsOrphanage(cluster string) bool { return cluster == orphans }

// isAbout reports whether a notice about an instance is one about this host.
func isAbout(h ledger.Host, ec2 string) bool {
	return h.ID == orphanID(ec2) || h.Fixed.EC2InstanceID == ec2
}

// find makes a host findable by what it is known by now, and joins the notices
// about its instance where that changed. The index goes before the commit: an
// entry that points to nothing heals by itself, a host that cannot be found does
// not.
func find(ctx context.Context, s ledger.Store, before, h ledger.Host) (ledger.Host, error) {
	if IsOrphanage(h.ID.Cluster) {
		return h, nil
	}
	if !ledger.SameLookup(before, h) {
		if err := s.Index(ctx, h); err != nil {
			return h, err
		}
	}
	if h.Fixed.EC2InstanceID == before.Fixed.EC2InstanceID {
		return h, nil
	}
	h.EC2, h.Leaving = ledger.EC2State{}, nil // of the instance it was thought to be
	o, err := s.Host(ctx, orphanID(h.Fixed.EC2InstanceID))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return h, nil
	case err != nil:
		return h, err
	}
	if o.EC2.State != "" {
		h, _ = ledger.ObserveEC2(h, o.EC2)
	}
	for _, l := range o.Leaving {
		h, _ = ledger.ObserveLeaving(h, l)
	}
	return h, nil
}
