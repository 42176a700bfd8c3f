package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Index implements ledger.Store.
func (s *Store) Index(ctx context.Context, id ledger.HostID, ec2 string, cards []gpu.UUID) error {
	keys := make([]key, 0, len(cards)+1)
	if ec2 != "" {
		keys = append(keys, ec2Key(ec2))
	}
	for _, u := range cards {
		keys = append(keys, cardKey(u))
	}
	for _, k := range keys {
		item := k.item()
		item["cluster"], item["instance"] = text(id.Cluster), text(id.Instance)
		if err := s.put(ctx, item, "index %s", k.pk); err != nil {
			return err
		}
	}
	return nil
}

// HostOfInstance implements ledger.Store.
func (s *Store) HostOfInstance(ctx context.Context, ec2 string) (ledger.HostID, error) {
	return s.lookup(ctx, ec2Key(ec2))
}

// HostOfCard implements ledger.Store.
func (s *Store) HostOfCard(ctx context.Context, u gpu.UUID) (ledger.HostID, error) {
	return s.lookup(ctx, cardKey(u))
}

func (s *Store) lookup(ctx context.Context, k key) (ledger.HostID, error) {
	item, err := s.get(ctx, k)
	return ledger.HostID{Cluster: textOf(item["cluster"]), Instance: textOf(item["instance"])}, err
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
