package codec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Hosts().Draw(t, "host")
		got, schema, err := Decode(Encode(h))
		if err != nil || schema != Schema {
			t.Fatal(schema, err)
		}
		h.ID, h.Revision = ledger.HostID{}, 0
		if !cmp.Equal(got, h, cmpopts.EquateEmpty()) {
			t.Fatal(cmp.Diff(h, got, cmpopts.EquateEmpty()))
		}
	})
}

func TestAnotherReleasesFieldsAreSkippedAndItsSchemaIsTold(t *testing.T) {
	b := Encode(ledgertest.Full(1, 1, 1))
	b = protowire.AppendTag(b, 900, protowire.BytesType)
	b = protowire.AppendBytes(b, []byte("something new"))
	b = protowire.AppendTag(b, 901, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, 7)
	if _, schema, err := Decode(b); err != nil || schema != Schema {
		t.Errorf("unknown fields: schema %v, %v", schema, err)
	}
	b = protowire.AppendTag(b, fSchema, protowire.VarintType)
	b = protowire.AppendVarint(b, protowire.EncodeZigZag(Schema+1))
	if _, schema, err := Decode(b); err != nil || schema != Schema+1 {
		t.Errorf("a newer schema: %v, %v", schema, err)
	}
}

// A field told again must replace, never grow: bytes in, bounded memory out.
func TestRepeatedFieldsDoNotGrow(t *testing.T) {
	var task []byte
	for range 5000 {
		task = protowire.AppendTag(task, 7, protowire.VarintType)
		task = protowire.AppendVarint(task, uint64(len(common)))
		task = protowire.AppendTag(task, 20, protowire.VarintType)
		task = protowire.AppendVarint(task, uint64(len(common)))
	}
	b := protowire.AppendTag(nil, fSchema, protowire.VarintType)
	b = protowire.AppendVarint(b, protowire.EncodeZigZag(Schema))
	b = protowire.AppendTag(b, fWord, protowire.BytesType)
	b = protowire.AppendBytes(b, pack(strings.Repeat("x", 1000)))
	b = protowire.AppendTag(b, fTask, protowire.BytesType)
	b = protowire.AppendBytes(b, task)
	h, _, err := Decode(b)
	if err != nil || len(h.Tasks[0].Definition) > 2000 {
		t.Errorf("%v, a definition of %d bytes", err, len(h.Tasks[0].Definition))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(Encode(ledger.Host{}))
	f.Add(Encode(ledgertest.Full(1, 2, 3)))
	f.Add(bytes.Repeat([]byte{0x8a}, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := Decode(b)
		if err != nil {
			return
		}
		again, _, err := Decode(Encode(h))
		if err != nil || !cmp.Equal(h, again, cmpopts.EquateEmpty()) {
			t.Fatalf("%v\n%s", err, cmp.Diff(h, again, cmpopts.EquateEmpty()))
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for name, h := range map[string]ledger.Host{"1 card 6 shares": ledgertest.Full(1, 1, 6), "8 cards 48 shares": ledgertest.Full(1, 8, 48)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Encode(h)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, h := range map[string]ledger.Host{"1 card 6 shares": ledgertest.Full(1, 1, 6), "8 cards 48 shares": ledgertest.Full(1, 8, 48)} {
		raw := Encode(h)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
