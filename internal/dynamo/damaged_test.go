package dynamo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/truora/minidyn/server"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"net/http/httptest"
)

func opened(t *testing.T) *Store {
	t.Helper()
	srv := httptest.NewServer(server.NewServer())
	t.Cleanup(srv.Close)
	s := Open(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")}, Options{Table: "t", Endpoint: srv.URL})
	if err := s.CreateTable(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// overwrite puts other bytes in a host's item.
func overwrite(t *testing.T, s *Store, h ledger.Host, blob []byte) {
	t.Helper()
	item := hostKey(h.ID).item()
	item[attrRev], item[attrB] = number(h.Revision), &types.AttributeValueMemberB{Value: blob}
	if err := s.put(context.Background(), item, "overwrite"); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedItemHidesNoNeighbourAndIsFilledAgain(t *testing.T) {
	ctx := context.Background()
	s := opened(t)
	a, err := s.Commit(ctx, ledgertest.Full(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, ledgertest.Full(2, 1, 1)); err != nil {
		t.Fatal(err)
	}
	overwrite(t, s, a, []byte{0xff, 0xff})
	hosts, _, err := s.Hosts(ctx, ledgertest.Cluster, "", 0)
	if err != nil || len(hosts) != 2 || !hosts[0].Damaged || hosts[1].Damaged {
		t.Fatalf("%v, %d hosts", err, len(hosts))
	}
	if fs := ledger.Check(hosts[0].View(time.Now()), ledger.DefaultPolicy(), time.Now()); len(fs) != 1 || fs[0].Kind != ledger.ItemDamaged {
		t.Errorf("findings %+v", fs)
	}
	again := ledgertest.Full(1, 1, 1)
	again.Revision = hosts[0].Revision
	if again, err = s.Commit(ctx, again); err != nil || again.Damaged {
		t.Errorf("it cannot be written again: %v", err)
	}
}

func TestAnItemOfANewerReleaseIsReadAndNeverWrittenOver(t *testing.T) {
	ctx := context.Background()
	s := opened(t)
	h, err := s.Commit(ctx, ledgertest.Full(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	blob := protowire.AppendTag(codec.Encode(h), 1, protowire.VarintType)
	overwrite(t, s, h, protowire.AppendVarint(blob, protowire.EncodeZigZag(codec.Schema+1)))
	got, err := s.Host(ctx, h.ID)
	if err != nil || len(got.Tasks) != 1 {
		t.Fatalf("%v, %d tasks: readers are tolerant", err, len(got.Tasks))
	}
	if _, err := s.Commit(ctx, got); !errors.Is(err, ledger.ErrNewerSchema) {
		t.Errorf("written over: %v", err)
	}
	if err := s.Remove(ctx, got); !errors.Is(err, ledger.ErrNewerSchema) {
		t.Errorf("removed: %v", err)
	}
}

// A later release may write a form that this one cannot decode at all: that is no
// damage to write over.
func TestAnItemOfANewerReleaseThatCannotBeDecodedIsNotWrittenOver(t *testing.T) {
	ctx := context.Background()
	s := opened(t)
	h, err := s.Commit(ctx, ledgertest.Full(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	blob := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeZigZag(codec.Schema+1))
	overwrite(t, s, h, append(blob, codec.Encode(h)[:40]...))
	got, err := s.Host(ctx, h.ID)
	if err != nil || !got.Damaged {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := s.Commit(ctx, got); !errors.Is(err, ledger.ErrNewerSchema) {
		t.Errorf("written over: %v", err)
	}
}

func TestTheStreamGivesBothImagesAndLeavesOtherItemsOut(t *testing.T) {
	a, b := ledgertest.Full(1, 1, 1), ledgertest.Full(1, 1, 2)
	a.Revision, b.Revision = 4, 5
	image := func(h ledger.Host) map[string]events.DynamoDBAttributeValue {
		k := hostKey(h.ID)
		return map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(k.pk), "sk": events.NewStringAttribute(k.sk),
			"rev": events.NewNumberAttribute(number(h.Revision).(*types.AttributeValueMemberN).Value), "b": events.NewBinaryAttribute(codec.Encode(h))}
	}
	keys := func(sk string) map[string]events.DynamoDBAttributeValue {
		return map[string]events.DynamoDBAttributeValue{"sk": events.NewStringAttribute(sk)}
	}
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	record := func(sk string, old, cur map[string]events.DynamoDBAttributeValue) events.DynamoDBEventRecord {
		return events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{Keys: keys(sk), OldImage: old, NewImage: cur, ApproximateCreationDateTime: events.SecondsEpochTime{Time: at}}}
	}
	got, err := Images(events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{record("host#a", image(a), image(b)), record("definition", nil, nil), record("host#b", image(b), nil)}})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %d images", err, len(got))
	}
	if got[0].Before.Revision != 4 || got[0].After.Revision != 5 || len(got[0].After.Tasks) != 2 || !got[0].At.Equal(at) || got[1].After.Revision != 0 {
		t.Errorf("%+v", got)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s := Open(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")}, Options{Table: "nowhere", Endpoint: opened(t).endpoint()})
	_, err := s.Host(context.Background(), ledgertest.HostID(1))
	if err == nil || errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a table that is not there: %v", err)
	}
}

func (s *Store) endpoint() string { return *s.api.Options().BaseEndpoint }
