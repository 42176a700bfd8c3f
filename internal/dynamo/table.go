package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable makes the table as template.yaml declares it, for tests and local
// runs. One that exists already is fine.
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
	return wrap(err, "create table %s", s.table)
}
