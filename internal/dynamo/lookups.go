package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Index implements ledger.Store. Each registration writes entries of its own, so
// none needs a condition.
func (s *Store) Index(ctx context.Context, h ledger.Host) error {
	rank := h.Rank()
	for _, k := range entries(h) {
		item := k.item()
		item["cluster"], item["instance"], item["rank"] = text(h.ID.Cluster), text(h.ID.Instance), text(rank)
		if err := s.put(ctx, item, "index %s", k.pk); err != nil {
			return err
		}
	}
	return nil
}

// entries are the keys of a host in the index.
func entries(h ledger.Host) []key {
	var keys []key
	if ec2 := h.Fixed.EC2InstanceID; ec2 != "" {
		keys = append(keys, lookupKey(ec2PK(ec2), h.ID))
	}
	for _, u := range h.Cards() {
		keys = append(keys, lookupKey(cardPK(u), h.ID))
	}
	return keys
}

// HostsOfInstance implements ledger.Store.
func (s *Store) HostsOfInstance(ctx context.Context, ec2 string) ([]ledger.HostID, error) {
	return s.lookup(ctx, ec2PK(ec2))
}

// HostOfInstance implements ledger.Store.
func (s *Store) HostOfInstance(ctx context.Context, ec2 string) (ledger.HostID, error) {
	return s.first(ctx, ec2PK(ec2))
}

// HostOfCard implements ledger.Store.
func (s *Store) HostOfCard(ctx context.Context, u gpu.UUID) (ledger.HostID, error) {
	return s.first(ctx, cardPK(u))
}

func (s *Store) first(ctx context.Context, pk string) (ledger.HostID, error) {
	ids, err := s.lookup(ctx, pk)
	if err != nil {
		return ledger.HostID{}, err
	}
	if len(ids) == 0 {
		return ledger.HostID{}, fmt.Errorf("%s: %w", pk, ledger.ErrNotFound)
	}
	return ids[0], nil
}

// lookup reads the registrations that are known by an id, the first by rank
// first. It is a strong read: who writes an entry and then looks for a notice, and
// who writes a notice and then looks for an entry, must not miss each other.
func (s *Store) lookup(ctx context.Context, pk string) ([]ledger.HostID, error) {
	type entry struct {
		id   ledger.HostID
		rank string
	}
	var found []entry
	in := s.span(pk, hostPrefix, hostsEnd)
	in.ConsistentRead = aws.Bool(true)
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return nil, wrap(err, "look up %s", pk)
		}
		for _, item := range out.Items {
			found = append(found, entry{ledger.HostID{Cluster: textOf(item["cluster"]), Instance: textOf(item["instance"])}, textOf(item["rank"])})
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(b.rank, a.rank) })
	ids := make([]ledger.HostID, 0, len(found))
	for _, e := range found {
		ids = append(ids, e.id)
	}
	return ids, nil
}

// Definition implements ledger.Store.
func (s *Store) Definition(ctx context.Context, arn string) (ledger.Definition, error) {
	var d ledger.Definition
	item, err := s.get(ctx, definitionKey(arn))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &d); err != nil {
		return d, fmt.Errorf("definition %s: %w", arn, err)
	}
	return d, nil
}

// SaveDefinition implements ledger.Store.
func (s *Store) SaveDefinition(ctx context.Context, d ledger.Definition) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	item := definitionKey(d.ARN).item()
	item[attrJ] = text(string(b))
	return s.put(ctx, item, "save definition %s", d.ARN)
}

// Bookmark reads where a sweep stopped; empty when there is none.
func (s *Store) Bookmark(ctx context.Context, name string) (string, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: bookmarkKey(name).item()})
	if err != nil {
		return "", wrap(err, "read bookmark %s", name)
	}
	return textOf(out.Item[attrJ]), nil
}

// SaveBookmark writes it.
func (s *Store) SaveBookmark(ctx context.Context, name, value string) error {
	item := bookmarkKey(name).item()
	item[attrJ] = text(value)
	return s.put(ctx, item, "save bookmark %s", name)
}

// get reads one small item; not found is ledger.ErrNotFound.
func (s *Store) get(ctx context.Context, k key) (map[string]types.AttributeValue, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: k.item()})
	if err != nil {
		return nil, wrap(err, "read %s", k.pk)
	}
	if out.Item == nil {
		return nil, fmt.Errorf("%s: %w", k.pk, ledger.ErrNotFound)
	}
	return out.Item, nil
}

func (s *Store) put(ctx context.Context, item map[string]types.AttributeValue, format string, args ...any) error {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: item})
	return wrap(err, format, args...)
}
