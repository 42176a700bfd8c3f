package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Health implements vitals.Store.
func (s *Store) Health(ctx context.Context, ec2 string) (vitals.Record, error) {
	var r vitals.Record
	item, err := s.get(ctx, healthKey(ec2))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &r); err != nil {
		return r, fmt.Errorf("health of %s: %w", ec2, err)
	}
	if n, ok := item[attrRev].(*types.AttributeValueMemberN); ok {
		r.Revision, err = strconv.ParseInt(n.Value, 10, 64)
	}
	return r, err
}

// SaveHealth implements vitals.Store. A record that does not fit in an item
// goes without the report's long lists: the verdict must not be lost for them.
func (s *Store) SaveHealth(ctx context.Context, r vitals.Record) (vitals.Record, error) {
	next := r
	next.Revision++
	b, err := json.Marshal(next)
	if err != nil {
		return r, err
	}
	if len(b) > maxItem {
		next.Report.Shares, next.Report.Processes = nil, nil
		if b, err = json.Marshal(next); err != nil {
			return r, err
		}
	}
	if len(b) > maxItem {
		return r, fmt.Errorf("health of %s takes %d bytes: %w", r.EC2, len(b), ledger.ErrTooLarge)
	}
	item := healthKey(r.EC2).item()
	item[attrRev], item[attrJ] = number(next.Revision), text(string(b))
	in := &dynamodb.PutItemInput{TableName: &s.table, Item: item}
	condition(r.Revision, &in.ConditionExpression, &in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	if _, err := s.api.PutItem(ctx, in); err != nil {
		return r, wrap(err, "write health of %s", r.EC2)
	}
	return next, nil
}

var _ vitals.Store = (*Store)(nil)
