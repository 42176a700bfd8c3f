package fleet

import (
	"context"
	"errors"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// orphans is the cluster under which notices about EC2 instances wait whose host
// nobody has told of yet. Without it an instance's end that is told before its
// registration would be forgotten, and order would matter.
const orphans = "orphans"

func orphanID(ec2 string) ledger.HostID { return ledger.HostID{Cluster: orphans, Instance: ec2} }

// IsOrphanage reports whether a cluster name is the waiting room and no cluster.
func IsOrphanage(cluster string) bool { return cluster == orphans }

// adopt joins what waited for the host's EC2 instance into the host. The orphan
// stays where it is until the sweep drops it: joining twice changes nothing.
func adopt(ctx context.Context, s ledger.Store, h ledger.Host) (ledger.Host, error) {
	if h.Fixed.EC2InstanceID == "" || strings.EqualFold(h.ID.Cluster, orphans) {
		return h, nil
	}
	o, err := s.Host(ctx, orphanID(h.Fixed.EC2InstanceID))
	if errors.Is(err, ledger.ErrNotFound) {
		return h, nil
	}
	if err != nil {
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
