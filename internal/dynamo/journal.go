package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// JournalDays is how long entries are kept.
const JournalDays = 90

// batchLimit is DynamoDB's own limit of a BatchWriteItem call.
const batchLimit = 25

// leftOverTries bounds how often what DynamoDB left unprocessed is brought again.
const leftOverTries = 8

// Record implements ledger.Store. An entry's key is its host, time and revision:
// recorded twice, it is there once.
func (s *Store) Record(ctx context.Context, entries []ledger.Entry) error {
	writes := make([]types.WriteRequest, 0, len(entries))
	place := map[key]int{}
	for _, e := range entries {
		k := journalKey(e)
		item := k.item()
		item[attrRev] = number(e.Revision)
		item[attrB] = &types.AttributeValueMemberB{Value: codec.Encode(e.Image)}
		item["cluster"] = text(e.Host.Cluster)
		item[attrTTL] = number(e.At.AddDate(0, 0, JournalDays).Unix())
		w := types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}
		if i, ok := place[k]; ok { // a batch may not name a key twice
			writes[i] = w
			continue
		}
		place[k] = len(writes)
		writes = append(writes, w)
	}
	for chunk := range slices.Chunk(writes, batchLimit) {
		if err := s.writeAll(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes a batch until nothing is left of it.
func (s *Store) writeAll(ctx context.Context, writes []types.WriteRequest) error {
	for try := 0; len(writes) > 0; try++ {
		if try == leftOverTries {
			return fmt.Errorf("journal: %d entries are left: %w", len(writes), ledger.ErrThrottled)
		}
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond << min(try, 6)):
			}
		}
		out, err := s.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.table: writes}})
		if err != nil {
			return wrap(err, "append %d journal entries", len(writes))
		}
		writes = out.UnprocessedItems[s.table]
	}
	return nil
}

// Journal implements ledger.Store.
func (s *Store) Journal(ctx context.Context, id ledger.HostID, from, to time.Time, after ledger.Cursor) ([]ledger.Entry, ledger.Cursor, error) {
	begin, err := behind(after, "", journalTime(from))
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(begin, hostPrefix) {
		return nil, "", ledger.ErrCursor
	}
	if begin > journalTime(to) {
		return nil, "", nil // DynamoDB refuses a range that ends before it begins
	}
	// The revision sorts behind "#", so a bare time is before every entry of it.
	out, err := s.api.Query(ctx, s.span(journalPK(id), begin, journalTime(to)))
	if err != nil {
		return nil, "", wrap(err, "read the journal of %s", id.Instance)
	}
	entries := make([]ledger.Entry, 0, len(out.Items))
	for _, item := range out.Items {
		e, err := entryOf(id, item)
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, e)
	}
	return entries, cursor(out.LastEvaluatedKey), nil
}

func entryOf(id ledger.HostID, item map[string]types.AttributeValue) (ledger.Entry, error) {
	e := ledger.Entry{Host: id}
	sk := textOf(item[attrSK])
	at, rev, _ := strings.Cut(sk, "#")
	var err error
	if e.At, err = time.Parse("2006-01-02T15:04:05.000000000Z", at); err != nil {
		return e, fmt.Errorf("journal entry %s: %w", sk, codec.ErrCorrupt)
	}
	if _, err := fmt.Sscanf(rev, "%d", &e.Revision); err != nil {
		return e, fmt.Errorf("journal entry %s: %w", sk, codec.ErrCorrupt)
	}
	blob, _ := item[attrB].(*types.AttributeValueMemberB)
	if blob == nil {
		return e, fmt.Errorf("journal entry %s: %w", sk, codec.ErrCorrupt)
	}
	if e.Image, _, err = codec.Decode(blob.Value); err != nil {
		return e, fmt.Errorf("journal entry %s: %w", sk, err)
	}
	e.Image.ID, e.Image.Revision = id, e.Revision
	return e, nil
}
