package fleet

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// SchemaVersion of the events that Bulkhead publishes.
const SchemaVersion = 1

// Event writes a change as one of Bulkhead's own events: its detail-type and its
// detail. events/schemas describes them.
func Event(p Published) (detailType string, detail []byte, err error) {
	head := events.OwnHead{Schema: SchemaVersion, ID: p.ID, At: p.At, ClusterArn: p.Host.Cluster, ContainerInstanceArn: p.Host.Instance, EC2InstanceID: p.EC2}
	var doc any
	switch c := p.Change; c.Kind {
	case ledger.ShareChanged:
		share := events.ShareChange{OwnHead: head, GPU: string(c.Share.Device), TaskArn: c.Share.TaskARN, Reservation: c.Share.Reservation,
			Container: c.Share.Container, Before: string(c.Before), After: string(c.After), ComputePercent: int32(c.Compute), Tier: string(c.Tier)}
		if c.Sized {
			m := int64(c.Memory)
			share.MemoryMiB = &m
		}
		detailType, doc = events.TypeShare, share
	case ledger.HostChanged:
		detailType, doc = events.TypeHost, events.HostChange{OwnHead: head, What: c.What, Before: c.Was, After: c.Is}
	case ledger.FindingOpened, ledger.FindingClosed:
		state := "open"
		if c.Kind == ledger.FindingClosed {
			state = "closed"
		}
		detailType, doc = events.TypeFinding, events.FindingChange{OwnHead: head, Kind: string(c.Finding.Kind), Severity: string(c.Finding.Severity),
			Subject: c.Finding.Subject, Reason: c.Finding.Reason, State: state}
	default:
		return "", nil, fmt.Errorf("change of unknown kind %q", c.Kind)
	}
	detail, err = json.Marshal(doc)
	return detailType, detail, err
}
