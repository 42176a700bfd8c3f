package dynamo

import (
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Images reads the changes of hosts out of the table's stream, in its order.
// Records of other items are left out.
func Images(ev events.DynamoDBEvent) ([]fleet.Image, error) {
	var out []fleet.Image
	for _, r := range ev.Records {
		if sk, ok := stringOf(r.Change.Keys, attrSK); !ok || !strings.HasPrefix(sk, hostPrefix) {
			continue
		}
		im := fleet.Image{At: r.Change.ApproximateCreationDateTime.UTC()}
		var err error
		if im.Before, err = image(r.Change.OldImage); err != nil {
			return nil, fmt.Errorf("stream record %s: %w", r.EventID, err)
		}
		if im.After, err = image(r.Change.NewImage); err != nil {
			return nil, fmt.Errorf("stream record %s: %w", r.EventID, err)
		}
		out = append(out, im)
	}
	return out, nil
}

// image decodes one image; none is the zero host.
func image(m map[string]events.DynamoDBAttributeValue) (ledger.Host, error) {
	if len(m) == 0 {
		return ledger.Host{}, nil
	}
	pk, _ := stringOf(m, attrPK)
	sk, _ := stringOf(m, attrSK)
	rev, blob := m[attrRev], m[attrB]
	if rev.DataType() != events.DataTypeNumber || blob.DataType() != events.DataTypeBinary {
		return ledger.Host{}, fmt.Errorf("item %s has no host in it", sk)
	}
	return decodeHost(pk, sk, rev.Number(), blob.Binary())
}

func stringOf(m map[string]events.DynamoDBAttributeValue, name string) (string, bool) {
	v, ok := m[name]
	if !ok || v.DataType() != events.DataTypeString {
		return "", false
	}
	return v.String(), true
}
