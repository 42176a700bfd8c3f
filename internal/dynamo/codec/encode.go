package codec

import (
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// encoder writes the body and gathers the words that it refers to.
type encoder struct {
	body  []byte
	words map[string]uint64
	list  []string
}

func (e *encoder) finish() []byte {
	var out []byte
	out = protowire.AppendTag(out, fSchema, protowire.VarintType)
	out = protowire.AppendVarint(out, protowire.EncodeZigZag(Schema))
	for _, w := range e.list {
		out = protowire.AppendTag(out, fWord, protowire.BytesType)
		out = protowire.AppendBytes(out, pack(w))
	}
	return append(out, e.body...)
}

// int writes a number; zero is left out.
func (e *encoder) int(n protowire.Number, v int64) {
	if v != 0 {
		e.number(n, protowire.EncodeZigZag(v))
	}
}

func (e *encoder) number(n protowire.Number, v uint64) {
	e.body = protowire.AppendTag(e.body, n, protowire.VarintType)
	e.body = protowire.AppendVarint(e.body, v)
}

func (e *encoder) bool(n protowire.Number, v bool) {
	if v {
		e.number(n, 1)
	}
}

// time writes milliseconds since the epoch, plus one so that the epoch itself is
// not the zero time.
func (e *encoder) time(n protowire.Number, t time.Time) {
	if !t.IsZero() {
		e.number(n, protowire.EncodeZigZag(t.UnixMilli()+1))
	}
}

// word writes a reference into the table; the empty word is left out.
func (e *encoder) word(n protowire.Number, w string) {
	if w != "" {
		e.number(n, e.intern(w))
	}
}

// present writes a reference even for the empty word, where its place in a list
// counts.
func (e *encoder) present(n protowire.Number, w string) { e.number(n, e.intern(w)) }

func (e *encoder) intern(w string) uint64 {
	if i := slices.Index(common, w); i >= 0 {
		return uint64(i)
	}
	i, ok := e.words[w]
	if !ok {
		i = uint64(len(common) + len(e.list))
		e.words[w] = i
		e.list = append(e.list, w)
	}
	return i
}

// message writes a nested message, or nothing when it is empty.
func (e *encoder) message(n protowire.Number, f func()) { e.nested(n, f, false) }

// element writes a nested message of a list, empty or not.
func (e *encoder) element(n protowire.Number, f func()) { e.nested(n, f, true) }

func (e *encoder) nested(n protowire.Number, f func(), always bool) {
	outer := e.body
	e.body = nil
	f()
	inner := e.body
	e.body = outer
	if len(inner) > 0 || always {
		e.body = protowire.AppendTag(e.body, n, protowire.BytesType)
		e.body = protowire.AppendBytes(e.body, inner)
	}
}

func (e *encoder) fixed(f ledger.Fixed) {
	e.word(1, f.EC2InstanceID)
	e.word(2, f.InstanceType)
	e.word(3, f.Zone)
	e.word(4, f.AMI)
	e.word(5, f.CapacityProvider)
	e.word(6, string(f.CapacityType))
	e.time(7, f.RegisteredAt)
}

func (e *encoder) registration(r ledger.Registration) {
	e.int(1, r.Version)
	e.time(2, r.At)
	e.word(3, r.Status)
	e.bool(4, r.AgentConnected)
	e.word(5, r.AgentVersion)
	e.bool(6, r.SharingCapable)
}

func (e *encoder) task(t ledger.Task) {
	e.arn(1, 2, t.ARN)
	e.int(3, t.Version)
	e.time(4, t.At)
	e.int(5, int64(t.Phase))
	e.word(6, t.LastStatus)
	e.split(7, 20, t.Definition)
	e.word(8, t.Group)
	e.word(9, t.StartedBy)
	e.word(10, string(t.Tier))
	e.word(11, string(t.Capacity))
	e.time(12, t.Heard)
	e.time(13, t.StoppingAt)
	e.time(14, t.StoppedAt)
	e.int(15, t.StopTimeout.Milliseconds())
	e.word(16, t.StopCode)
	e.word(17, t.StopReason)
	for _, s := range t.Shares {
		e.element(18, func() { e.share(s) })
	}
	e.int(19, t.Revived)
	if k := t.Kept; k != nil {
		e.element(21, func() { e.kept(*k) })
	}
}

func (e *encoder) kept(k ledger.Kept) {
	for _, s := range k.Own {
		e.element(1, func() { e.share(s) })
	}
	e.int(2, int64(k.Naming.Phase))
	e.int(3, k.Naming.Version)
	e.time(4, k.Naming.At)
	for _, s := range k.Naming.Shares {
		e.element(5, func() { e.share(s) })
	}
}

func (e *encoder) share(s ledger.TaskShare) {
	e.word(1, s.Container)
	e.int(2, int64(s.Need))
	e.bool(3, s.Sized)
	e.int(4, int64(s.Memory))
	e.int(5, int64(s.Compute))
	for _, u := range s.GPUs {
		e.present(6, string(u))
	}
	for _, b := range s.Bad {
		e.present(7, b)
	}
}

func (e *encoder) reservation(r ledger.Reservation) {
	e.word(1, r.ID)
	e.word(2, r.Definition)
	e.word(3, string(r.Tier))
	e.time(4, r.MadeAt)
	e.time(5, r.LeaseUntil)
	for _, c := range r.Containers {
		e.element(6, func() { e.need(c) })
	}
}

func (e *encoder) need(c ledger.ContainerNeed) {
	e.word(1, c.Name)
	e.int(2, int64(c.Need))
	e.int(3, int64(c.Memory))
	e.int(4, int64(c.Compute))
	e.int(5, int64(c.Count))
}

// split writes an ARN as two words: many share a head, and some a last part too.
func (e *encoder) split(head, last protowire.Number, arn string) {
	h, l := splitARN(arn)
	e.word(head, h)
	e.word(last, l)
}

// arn writes an ARN as its head, which repeats, and its last part, which does not.
func (e *encoder) arn(head, last protowire.Number, arn string) {
	h, l := splitARN(arn)
	e.word(head, h)
	if l != "" {
		e.body = protowire.AppendTag(e.body, last, protowire.BytesType)
		e.body = protowire.AppendBytes(e.body, pack(l))
	}
}
