// Package faults makes a DynamoDB client meet what production brings: throttles,
// replies lost after the write, connections lost before it. It hangs in the client
// as middleware, under the SDK's own retries, so it works over any DynamoDB or
// stand-in. No stand-in does any of this by itself.
package faults

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Fault is what happens to one attempt of one call.
type Fault uint8

// None lets the attempt through.
const (
	None      Fault = iota
	Throttle        // refused before any effect
	LostCall        // the connection broke before any effect
	LostReply       // the effect happened, the reply did not come
)

// Injector asks Next what shall happen to each attempt, in the order of the
// attempts. operation is the call's name, such as PutItem.
type Injector struct {
	Next func(operation string) Fault

	mu       sync.Mutex
	injected map[Fault]int
}

// Injected counts the faults so far.
func (i *Injector) Injected(f Fault) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.injected[f]
}

var errBroken = &smithyhttp.RequestSendError{Err: errors.New("connection reset by the fault injector")}

// Client adds the injector to a client.
func (i *Injector) Client(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Deserialize.Add(middleware.DeserializeMiddlewareFunc("faults", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, md middleware.Metadata, err error) {
			f := i.draw(middleware.GetOperationName(ctx))
			switch f {
			case Throttle:
				return out, md, &types.ProvisionedThroughputExceededException{}
			case LostCall:
				return out, md, errBroken
			}
			out, md, err = next.HandleDeserialize(ctx, in)
			if f == LostReply && err == nil {
				return middleware.DeserializeOutput{}, md, errBroken
			}
			return out, md, err
		}), middleware.Before)
	})
}

func (i *Injector) draw(operation string) Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	f := i.Next(operation)
	if i.injected == nil {
		i.injected = map[Fault]int{}
	}
	i.injected[f]++
	return f
}
