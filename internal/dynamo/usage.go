package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// Usage implements sizing.Store.
func (s *Store) Usage(ctx context.Context, cluster, ec2 string) (sizing.Usage, error) {
	item, err := s.get(ctx, usageKey(cluster, ec2))
	if err != nil {
		return sizing.Usage{}, err
	}
	return usageOf(item)
}

func usageOf(item map[string]types.AttributeValue) (sizing.Usage, error) {
	var u sizing.Usage
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &u); err != nil {
		return u, fmt.Errorf("usage %s: %w", textOf(item[attrSK]), err)
	}
	var err error
	if n, ok := item[attrRev].(*types.AttributeValueMemberN); ok {
		u.Revision, err = strconv.ParseInt(n.Value, 10, 64)
	}
	return u, err
}

// SaveUsage implements sizing.Store.
func (s *Store) SaveUsage(ctx context.Context, u sizing.Usage) (sizing.Usage, error) {
	next := u
	next.Revision++
	b, err := json.Marshal(next)
	if err != nil {
		return u, err
	}
	if len(b) > maxItem {
		return u, fmt.Errorf("usage of %s takes %d bytes: %w", u.EC2, len(b), ledger.ErrTooLarge)
	}
	item := usageKey(u.Cluster, u.EC2).item()
	item[attrRev], item[attrJ] = number(next.Revision), text(string(b))
	if !u.At.IsZero() {
		item[attrTTL] = number(u.At.AddDate(0, 0, sizing.UsageDays).Unix())
	}
	in := &dynamodb.PutItemInput{TableName: &s.table, Item: item}
	condition(u.Revision, &in.ConditionExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	if _, err := s.api.PutItem(ctx, in); err != nil {
		return u, wrap(err, "write usage of %s", u.EC2)
	}
	return next, nil
}

// Usages implements sizing.Store. One that cannot be read is an error: advice from
// half of the hosts would be too low without a word.
func (s *Store) Usages(ctx context.Context, cluster, after string) ([]sizing.Usage, string, error) {
	begin := usagePrefix
	if after != "" {
		begin = usagePrefix + after + "\x00"
	}
	out, err := s.api.Query(ctx, s.span(usagePK(cluster), begin, usagesEnd))
	if err != nil {
		return nil, "", wrap(err, "list usages of %s", cluster)
	}
	page := make([]sizing.Usage, 0, len(out.Items))
	for _, item := range out.Items {
		u, err := usageOf(item)
		if err != nil {
			return nil, "", err
		}
		page = append(page, u)
	}
	next := ""
	if out.LastEvaluatedKey != nil && len(page) > 0 {
		next = page[len(page)-1].EC2
	}
	return page, next, nil
}

var _ sizing.Store = (*Store)(nil)
