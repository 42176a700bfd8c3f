package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable makes the table with the keys that template.yaml declares, for tests
// and local runs, and waits until it is there. One that exists already is fine. The
// stream, the expiry and the protection of the deployed table are the template's.
func (s *Store) CreateTable(ctx context.Context) error {
	_, err := s.api.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: &s.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrPK), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrSK), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(attrPK), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrSK), KeyType: types.KeyTypeRange}}})
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return wrap(err, "create table %s", s.table)
	}
	return s.waitActive(ctx)
}

// waitActive waits while the table says that it is being made. A stand-in says
// nothing of the kind: its tables are there at once.
func (s *Store) waitActive(ctx context.Context) error {
	for {
		out, err := s.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
		if err != nil || out.Table == nil || out.Table.TableStatus != types.TableStatusCreating {
			return wrap(err, "describe table %s", s.table)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// DeleteTable drops a table that CreateTable made.
func (s *Store) DeleteTable(ctx context.Context) error {
	_, err := s.api.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.table})
	return wrap(err, "delete table %s", s.table)
}
