package dynamo

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Every key of the table is built in this file.

// Names of attributes.
const (
	attrPK  = "pk"
	attrSK  = "sk"
	attrRev = "rev"
	attrB   = "b"   // the encoded host
	attrJ   = "j"   // JSON, of small items
	attrTTL = "ttl" // epoch seconds
)

const (
	hostPrefix   = "host#"
	hostsEnd     = "host$" // behind every key with the prefix
	clustersPK   = "clusters"
	bookmarksPK  = "bookmarks"
	definitionSK = "definition"
	healthSK     = "health"
	admissionSK  = "admission"
	usagePrefix  = "usage#"
	usagesEnd    = "usage$"
)

type key struct{ pk, sk string }

func hostKey(id ledger.HostID) key      { return key{id.Cluster, hostPrefix + id.Instance} }
func clusterKey(cluster string) key     { return key{clustersPK, cluster} }
func ec2PK(ec2 string) string           { return "ec2#" + ec2 }
func cardPK(u gpu.UUID) string          { return "card#" + string(u) }
func definitionKey(arn string) key      { return key{"definition#" + arn, definitionSK} }
func admissionKey(arn string) key       { return key{"admission#" + arn, admissionSK} }
func bookmarkKey(name string) key       { return key{bookmarksPK, name} }
func usageKey(cluster, ec2 string) key  { return key{usagePK(cluster), usagePrefix + ec2} }
func healthKey(ec2 string) key          { return key{"health#" + ec2, healthSK} }
func usagePK(cluster string) string     { return "usages#" + cluster }
func journalPK(id ledger.HostID) string { return "journal#" + id.Instance }

// lookupKey is a registration's own entry under an id that it is known by.
func lookupKey(pk string, id ledger.HostID) key { return key{pk, hostPrefix + id.Instance} }

func journalKey(e ledger.Entry) key {
	return key{journalPK(e.Host), fmt.Sprintf("%s#%019d", journalTime(e.At), e.Revision)}
}

// journalTime is a time of fixed width, so that text order is time order.
func journalTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func (k key) item() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrPK: text(k.pk), attrSK: text(k.sk)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// cursor names the last element given, so that it stays right while others come
// and go.
func cursor(last map[string]types.AttributeValue) ledger.Cursor {
	if last == nil {
		return ""
	}
	sk, _ := last[attrSK].(*types.AttributeValueMemberS)
	if sk == nil {
		return ""
	}
	return ledger.Cursor(base64.RawURLEncoding.EncodeToString([]byte("d1:" + sk.Value)))
}

// behind is the least sort key behind a cursor, or from when there is none. It
// bounds the range instead of naming a start key: the element that a cursor names
// may be gone by then, and not every DynamoDB stand-in goes on behind one that is.
func behind(c ledger.Cursor, prefix, from string) (string, error) {
	if c == "" {
		return from, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	sk, ok := strings.CutPrefix(string(b), "d1:")
	if err != nil || !ok || !strings.HasPrefix(sk, prefix) || sk == "" {
		return "", ledger.ErrCursor
	}
	return sk + "\x00", nil
}
