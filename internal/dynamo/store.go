package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Options of a store.
type Options struct {
	Table string
	// Endpoint overrides DynamoDB's address, for tests and local runs.
	Endpoint string
	// Client options, such as a meter or a fault injector.
	Client []func(*dynamodb.Options)
}

// Store is a ledger.Store in a DynamoDB table.
type Store struct {
	api   *dynamodb.Client
	table string
}

// attempts bounds the SDK's own retries of a throttled or broken call.
const attempts = 5

// maxItem is DynamoDB's limit of an item, less room for keys and numbers.
const maxItem = 400<<10 - 2048

// Open opens a table with an AWS configuration. Nothing is asked yet.
func Open(cfg aws.Config, o Options) *Store {
	opts := append([]func(*dynamodb.Options){func(d *dynamodb.Options) {
		d.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff = attempts, 2*time.Second
		})
		if o.Endpoint != "" {
			d.BaseEndpoint = &o.Endpoint
			d.DisableValidateResponseChecksum = true // stand-ins send none
		}
	}}, o.Client...)
	return &Store{api: dynamodb.NewFromConfig(cfg, opts...), table: o.Table}
}

// Host implements ledger.Store.
func (s *Store) Host(ctx context.Context, id ledger.HostID) (ledger.Host, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: hostKey(id).item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return ledger.Host{}, wrap(err, "read host %s", id.Instance)
	}
	if out.Item == nil {
		return ledger.Host{}, fmt.Errorf("host %s: %w", id.Instance, ledger.ErrNotFound)
	}
	return hostOf(out.Item)
}

// Commit implements ledger.Store.
func (s *Store) Commit(ctx context.Context, h ledger.Host) (ledger.Host, error) {
	if h.Schema > codec.Schema {
		return h, fmt.Errorf("host %s: %w", h.ID.Instance, ledger.ErrNewerSchema)
	}
	if h.Revision == 0 {
		// First, so that no host is in a cluster that is not listed.
		if err := s.put(ctx, clusterKey(h.ID.Cluster).item(), "note cluster %s", h.ID.Cluster); err != nil {
			return h, err
		}
	}
	next := h
	next.Revision++
	next.Schema, next.Damaged = 0, false
	item := hostKey(h.ID).item()
	item[attrRev] = number(next.Revision)
	item[attrB] = &types.AttributeValueMemberB{Value: codec.Encode(next)}
	if ttl, ok := expiry(h); ok {
		item[attrTTL] = number(ttl)
	}
	if n := len(item[attrB].(*types.AttributeValueMemberB).Value); n > maxItem {
		return h, fmt.Errorf("host %s takes %d bytes: %w", h.ID.Instance, n, ledger.ErrTooLarge)
	}
	in := &dynamodb.PutItemInput{TableName: &s.table, Item: item}
	condition(h.Revision, &in.ConditionExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	if _, err := s.api.PutItem(ctx, in); err != nil {
		return h, wrap(err, "write host %s at revision %d", h.ID.Instance, h.Revision)
	}
	return next, nil
}

// Remove implements ledger.Store.
func (s *Store) Remove(ctx context.Context, h ledger.Host) error {
	if h.Revision == 0 {
		return fmt.Errorf("remove host %s, which no store holds: %w", h.ID.Instance, ledger.ErrConflict)
	}
	if h.Schema > codec.Schema {
		return fmt.Errorf("remove host %s: %w", h.ID.Instance, ledger.ErrNewerSchema)
	}
	in := &dynamodb.DeleteItemInput{TableName: &s.table, Key: hostKey(h.ID).item()}
	condition(h.Revision, &in.ConditionExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	if _, err := s.api.DeleteItem(ctx, in); err != nil {
		return wrap(err, "remove host %s", h.ID.Instance)
	}
	// Behind the host: an entry that is left by a crash here points to nothing.
	for _, k := range entries(h) {
		if _, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: k.item()}); err != nil {
			return wrap(err, "drop %s from the index", k.pk)
		}
	}
	return nil
}

// condition is the fence: the stored revision is the one that was read.
func condition(rev int64, expr **string, names *map[string]string, values *map[string]types.AttributeValue) {
	if rev == 0 {
		*expr, *names = aws.String("attribute_not_exists(#pk)"), map[string]string{"#pk": attrPK}
		return
	}
	*expr, *names = aws.String("#rev = :rev"), map[string]string{"#rev": attrRev}
	*values = map[string]types.AttributeValue{":rev": number(rev)}
}

// orphanDays is how long a notice about an instance without a host waits.
const orphanDays = 2

// expiry is when an item may vanish by itself; only orphans do.
func expiry(h ledger.Host) (int64, bool) {
	var at time.Time
	if h.ID.Cluster != "orphans" {
		return 0, false
	}
	at = h.EC2.At
	for _, l := range h.Leaving {
		if l.At.After(at) {
			at = l.At
		}
	}
	return at.AddDate(0, 0, orphanDays).Unix(), true
}

// Hosts implements ledger.Store.
func (s *Store) Hosts(ctx context.Context, cluster string, after ledger.Cursor, limit int) ([]ledger.Host, ledger.Cursor, error) {
	from, err := behind(after, hostPrefix, hostPrefix)
	if err != nil {
		return nil, "", err
	}
	in := s.span(cluster, from, hostsEnd)
	if limit > 0 {
		in.Limit = aws.Int32(int32(min(limit, 1000)))
	}
	out, err := s.api.Query(ctx, in)
	if err != nil {
		return nil, "", wrap(err, "list hosts of %s", cluster)
	}
	hosts := make([]ledger.Host, 0, len(out.Items))
	for _, item := range out.Items {
		h, err := hostOf(item)
		if err != nil {
			return nil, "", err
		}
		hosts = append(hosts, h)
	}
	return hosts, cursor(out.LastEvaluatedKey), nil
}

// span reads the items of a partition whose sort key is from..to, both included.
func (s *Store) span(pk, from, to string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: &s.table, KeyConditionExpression: aws.String("#pk = :pk AND #sk BETWEEN :from AND :to"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#sk": attrSK},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": text(pk), ":from": text(from), ":to": text(to)}}
}

// Clusters implements ledger.Store.
func (s *Store) Clusters(ctx context.Context) ([]string, error) {
	var out []string
	in := &dynamodb.QueryInput{TableName: &s.table, KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames: map[string]string{"#pk": attrPK}, ExpressionAttributeValues: map[string]types.AttributeValue{":pk": text(clustersPK)}}
	for {
		page, err := s.api.Query(ctx, in)
		if err != nil {
			return nil, wrap(err, "list clusters")
		}
		for _, item := range page.Items {
			out = append(out, textOf(item[attrSK]))
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return out, nil
		}
	}
}

// hostOf reads a host item.
func hostOf(item map[string]types.AttributeValue) (ledger.Host, error) {
	var blob []byte
	rev := ""
	if b, ok := item[attrB].(*types.AttributeValueMemberB); ok {
		blob = b.Value
	}
	if n, ok := item[attrRev].(*types.AttributeValueMemberN); ok {
		rev = n.Value
	}
	return decodeHost(textOf(item[attrPK]), textOf(item[attrSK]), rev, blob)
}

// decodeHost reads a host. One whose bytes are damaged comes back empty and marked
// so, at its revision: it must not keep a listing from its neighbours, and the next
// sweep fills it from ECS. Without a revision nothing could be written, so that is
// an error.
func decodeHost(pk, sk, rev string, blob []byte) (ledger.Host, error) {
	id := ledger.HostID{Cluster: pk, Instance: strings.TrimPrefix(sk, hostPrefix)}
	n, err := strconv.ParseInt(rev, 10, 64)
	if err != nil {
		return ledger.Host{}, fmt.Errorf("item %s has revision %q: %w", sk, rev, codec.ErrCorrupt)
	}
	h, schema, err := codec.Decode(blob)
	if err != nil {
		h = ledger.Host{Damaged: true} // told by the mark, see above
	}
	h.ID, h.Revision = id, n
	if schema > codec.Schema { // also of one that cannot be decoded: it is a later release's, and whole to it
		h.Schema = schema
	}
	return h, nil
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

var _ ledger.Store = (*Store)(nil)
