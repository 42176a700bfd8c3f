package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// wrap says what was being done, and turns DynamoDB's errors into the ledger's.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var conflict *types.ConditionalCheckFailedException
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &conflict):
		return fmt.Errorf("%s: %w", what, ledger.ErrConflict)
	case throttled(err):
		return fmt.Errorf("%s: %w (%w)", what, ledger.ErrThrottled, err)
	case errors.As(err, &gone):
		return fmt.Errorf("%s: the table does not exist: check BULKHEAD_TABLE and the Region (%w)", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// throttled reports whether DynamoDB refused for now.
func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException",
		"TransactionConflictException", "InternalServerError", "ServiceUnavailable":
		return true
	}
	return false
}
