// Package meter counts what a DynamoDB client would be billed, call by call, over
// any DynamoDB or stand-in: none of the stand-ins bills.
//
// The rules, from AWS's pricing of on-demand tables: a write costs one unit for
// each KB, begun, of the larger of the old and the new item; a failed condition
// costs the same; a write inside a transaction costs double, cancelled or not; a
// strongly consistent read costs one unit for each 4 KB, an eventually consistent
// one half. A query costs by the sum of its items.
package meter

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Meter counts. Give Client to the client's options.
type Meter struct {
	mu    sync.Mutex
	units Units
	sizes map[string]int // of items, by key, as last written
}

// Units are what was used.
type Units struct {
	Writes, Reads float64
	Calls         int
}

// Used returns the units so far.
func (m *Meter) Used() Units {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.units
}

// Client adds the meter to a client. Every attempt is counted, as it is billed.
func (m *Meter) Client(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		if err := s.Initialize.Add(middleware.InitializeMiddlewareFunc("meterInput", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(middleware.WithStackValue(ctx, inputKey{}, in.Parameters), in)
		}), middleware.Before); err != nil {
			return err
		}
		return s.Deserialize.Add(middleware.DeserializeMiddlewareFunc("meter", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, md, err := next.HandleDeserialize(ctx, in)
			m.count(middleware.GetStackValue(ctx, inputKey{}), out.Result, err == nil)
			return out, md, err
		}), middleware.Before)
	})
}

type inputKey struct{}

func (m *Meter) count(in, out any, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units.Calls++
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		m.write(in.Item, 1, done)
	case *dynamodb.DeleteItemInput:
		m.write(in.Key, 1, done)
	case *dynamodb.BatchWriteItemInput:
		for _, ws := range in.RequestItems {
			for _, w := range ws {
				if w.PutRequest != nil {
					m.write(w.PutRequest.Item, 1, done)
				}
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, w := range in.TransactItems {
			if w.Put != nil {
				m.write(w.Put.Item, 2, done)
			}
			if w.Delete != nil {
				m.write(w.Delete.Key, 2, done)
			}
		}
	case *dynamodb.GetItemInput:
		size := 0
		if o, ok := out.(*dynamodb.GetItemOutput); ok {
			size = Size(o.Item)
		}
		m.read(size, in.ConsistentRead != nil && *in.ConsistentRead)
	case *dynamodb.QueryInput:
		size := 0
		if o, ok := out.(*dynamodb.QueryOutput); ok {
			for _, item := range o.Items {
				size += Size(item)
			}
		}
		m.read(size, in.ConsistentRead != nil && *in.ConsistentRead)
	}
}

func (m *Meter) write(item map[string]types.AttributeValue, factor float64, done bool) {
	k, size := keyOf(item), Size(item)
	m.units.Writes += factor * float64(max(1, (max(size, m.sizes[k])+1023)/1024))
	if done {
		if m.sizes == nil {
			m.sizes = map[string]int{}
		}
		m.sizes[k] = size
	}
}

func (m *Meter) read(size int, strong bool) {
	units := float64(max(1, (size+4095)/4096))
	if !strong {
		units /= 2
	}
	m.units.Reads += units
}

func keyOf(item map[string]types.AttributeValue) string {
	var k string
	for _, name := range []string{"pk", "sk"} {
		if s, ok := item[name].(*types.AttributeValueMemberS); ok {
			k += s.Value + "\x00"
		}
	}
	return k
}

// Size is an item's size in bytes as DynamoDB counts it: names and values in
// UTF-8, numbers by their digits.
func Size(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return (len(v.Value)+1)/2 + 1
	case *types.AttributeValueMemberL:
		n := 3
		for _, x := range v.Value {
			n += 1 + valueSize(x)
		}
		return n
	case *types.AttributeValueMemberM:
		n := 3
		for name, x := range v.Value {
			n += 1 + len(name) + valueSize(x)
		}
		return n
	case *types.AttributeValueMemberSS:
		n := 3
		for _, x := range v.Value {
			n += len(x)
		}
		return n
	}
	return 1
}
