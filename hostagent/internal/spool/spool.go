package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits bound the spool.
type Limits struct {
	Bytes   int64         // of all segments; at least two segments are kept
	Segment int64         // a segment is closed when it is this long
	Age     time.Duration // 0: no bound
}

// DefaultLimits hold hours of an API outage even while a card storms.
func DefaultLimits() Limits {
	return Limits{Bytes: 16 << 20, Segment: 1 << 20, Age: 72 * time.Hour}
}

// Errors of the spool.
var (
	// ErrLocked: another process owns the directory. Stop it first.
	ErrLocked = errors.New("spool is in use by another process")
	// ErrTooLarge: the record is above MaxRecordBytes. Cut it.
	ErrTooLarge = errors.New("record is too large for the spool")
	// ErrWrite: the disk took no record even after the oldest were dropped. What
	// was not written is the caller's to keep.
	ErrWrite = errors.New("spool cannot be written")
)

// Drops counts what was lost, since Open.
type Drops struct {
	Records uint64 // dropped by bytes, age or a full disk
	Corrupt uint64 // bytes that were no record
}

// segment is one file. Its records from offset on are not yet acknowledged.
type segment struct {
	id      uint64
	size    int64
	offset  int64
	records int   // from offset on
	newest  int64 // Unix seconds of the last record
}

// Spool is the queue. It is safe for concurrent use.
type Spool struct {
	dir    string
	limits Limits
	boot   string

	mu    sync.Mutex
	lock  *os.File
	file  *os.File // the last segment, open for append
	segs  []segment
	seq   uint64 // last given in this boot
	drops Drops
	write func(*os.File, []byte) (int, error) // os.File.Write, but for tests of a full disk
}

// Open takes the spool of dir for this boot, creating it where it is not there.
// floor is the least sequence to begin after, for a spool whose memory was lost: a
// figure that no earlier life of this boot can have passed, or 0.
func Open(dir, boot string, limits Limits, floor uint64) (*Spool, error) {
	if boot == "" || len(boot) > maxBoot {
		return nil, fmt.Errorf("open spool: boot id has %d bytes, want 1 to %d", len(boot), maxBoot)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("open spool %s: %w", dir, ErrLocked)
	}
	s := &Spool{dir: dir, limits: limits, boot: boot, lock: lock, write: (*os.File).Write}
	if err := s.load(floor); err != nil {
		s.Close()
		return nil, fmt.Errorf("open spool: %w", err)
	}
	return s, nil
}

func (s *Spool) path(id uint64) string { return filepath.Join(s.dir, fmt.Sprintf("%016x.seg", id)) }

// load reads what an earlier life left behind.
func (s *Spool) load(floor uint64) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var ids []uint64
	for _, e := range entries {
		name, isSeg := strings.CutSuffix(e.Name(), ".seg")
		if id, err := strconv.ParseUint(name, 16, 64); isSeg && err == nil && e.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	had, known := readMark(s.dir)
	if known && had.boot == s.boot {
		s.seq = had.seq
	}
	if !known {
		s.seq = floor
	}
	for _, id := range ids {
		if err := s.loadSegment(id, had); err != nil {
			return err
		}
	}
	s.reap()
	if !known {
		// From here on this directory has a memory, and the floor is not needed again.
		return writeMark(s.dir, mark{boot: s.boot, seq: s.seq})
	}
	return nil
}

func (s *Spool) loadSegment(id uint64, mark mark) error {
	b, err := os.ReadFile(s.path(id))
	if err != nil {
		return err
	}
	g := segment{id: id, size: int64(len(b))}
	if id < mark.segment {
		g.offset = g.size
	} else if id == mark.segment {
		g.offset = min(mark.offset, g.size)
	}
	for at := 0; at < len(b); {
		r, n, skipped, ok := decode(b[at:])
		s.drops.Corrupt += uint64(skipped)
		at += n
		if !ok {
			break
		}
		if r.Boot == s.boot {
			s.seq = max(s.seq, r.Seq)
		}
		g.newest = r.At
		if int64(at) > g.offset {
			g.records++
		}
	}
	s.segs = append(s.segs, g)
	return nil
}

// Drops returns what was lost so far.
func (s *Spool) Drops() Drops { s.mu.Lock(); defer s.mu.Unlock(); return s.drops }

// Len is how many records wait.
func (s *Spool) Len() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segs {
		n += g.records
	}
	return n
}

// Append numbers a record, lets encode make its payload of the number, and
// writes it. After an error the number was not used, and nothing was kept.
func (s *Spool) Append(now time.Time, payload func(seq uint64) ([]byte, error)) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := s.seq + 1
	p, err := payload(seq)
	if err != nil {
		return 0, err
	}
	if len(p) > MaxRecordBytes {
		return 0, fmt.Errorf("%w: %d bytes, above %d", ErrTooLarge, len(p), MaxRecordBytes)
	}
	b := encode(nil, Record{Seq: seq, At: now.Unix(), Boot: s.boot, Payload: p})
	s.makeRoom(int64(len(b)), now)
	for {
		if err = s.put(b, now); err == nil {
			break
		}
		if !s.dropOldest() {
			return 0, fmt.Errorf("%w: %w", ErrWrite, err)
		}
	}
	s.seq = seq
	return seq, nil
}

// put writes whole or leaves the file as it was.
func (s *Spool) put(b []byte, now time.Time) error {
	if s.file == nil || s.last().size >= s.limits.Segment {
		if err := s.roll(); err != nil {
			return err
		}
	}
	g := s.last()
	if n, err := s.write(s.file, b); err != nil {
		if n > 0 && s.file.Truncate(g.size) != nil {
			g.size += int64(n) // the torn bytes stay; reading passes them by
		}
		return err
	}
	g.size += int64(len(b))
	g.records++
	g.newest = now.Unix()
	return nil
}

func (s *Spool) last() *segment { return &s.segs[len(s.segs)-1] }

// roll begins a new segment. An earlier life's last segment is never appended to,
// so a torn tail stays a tail.
func (s *Spool) roll() error {
	id := uint64(1)
	if len(s.segs) > 0 {
		id = s.last().id + 1
	}
	if m, ok := readMark(s.dir); ok && m.segment >= id {
		id = m.segment + 1
	}
	f, err := os.OpenFile(s.path(id), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if s.file != nil {
		_ = s.file.Sync()
		s.file.Close()
	}
	s.file = f
	s.segs = append(s.segs, segment{id: id})
	return syncDir(s.dir)
}

// makeRoom drops the oldest segments until need fits, and those too old. A clock
// that leapt makes all records old at once; then age does not count.
func (s *Spool) makeRoom(need int64, now time.Time) {
	for s.total()+need > s.limits.Bytes && s.dropOldest() {
	}
	if s.limits.Age <= 0 || len(s.segs) == 0 {
		return
	}
	old := now.Add(-s.limits.Age).Unix()
	if s.last().newest < old {
		return
	}
	for len(s.segs) > 1 && s.segs[0].newest < old && s.dropOldest() {
	}
}

func (s *Spool) total() (n int64) {
	for _, g := range s.segs {
		n += g.size
	}
	return n
}

// dropOldest gives up the oldest segment. The one being written stays.
func (s *Spool) dropOldest() bool {
	if len(s.segs) == 0 || len(s.segs) == 1 && s.file != nil {
		return false
	}
	if os.Remove(s.path(s.segs[0].id)) != nil {
		return false
	}
	s.drops.Records += uint64(s.segs[0].records)
	if s.segs = s.segs[1:]; len(s.segs) == 0 {
		// The numbers given must outlive their records. Should this fail too, the
		// floor of the next Open is the last line.
		_ = writeMark(s.dir, mark{boot: s.boot, seq: s.seq})
	}
	return true
}

// Position is where a record lies, for Ack.
type Position struct {
	segment uint64
	end     int64
	seq     uint64
	boot    string
}

// Peek returns the oldest record that waits; ok is false when none does.
func (s *Spool) Peek() (r Record, p Position, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.segs {
		g := &s.segs[i]
		for g.records > 0 {
			r, end, err := s.readAt(g)
			if err != nil {
				return Record{}, Position{}, false, err
			}
			if end == 0 { // what stood here at Open is gone
				s.drops.Corrupt += uint64(g.size - g.offset)
				s.drops.Records += uint64(g.records)
				g.offset, g.records = g.size, 0
				break
			}
			return r, Position{segment: g.id, end: end, seq: r.Seq, boot: r.Boot}, true, nil
		}
	}
	return Record{}, Position{}, false, nil
}

// readAt reads the first record of g from its offset. end is 0 when there is none.
func (s *Spool) readAt(g *segment) (Record, int64, error) {
	f, err := os.Open(s.path(g.id))
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, 0, nil
	}
	if err != nil {
		return Record{}, 0, err
	}
	defer f.Close()
	// A small read first: most records are a few KB, and the whole tail of a
	// segment is read only past a torn record or for a large one.
	for _, n := range []int64{16 << 10, g.size - g.offset} {
		b := make([]byte, min(n, g.size-g.offset))
		k, err := f.ReadAt(b, g.offset)
		if k == 0 && err != nil {
			return Record{}, 0, nil
		}
		if r, size, _, ok := decode(b[:k]); ok {
			return r, g.offset + int64(size), nil
		}
	}
	return Record{}, 0, nil
}

// Ack says that the record at p has arrived: it is not handed out again, by this
// process or a later one. A position that was dropped meanwhile is no error.
func (s *Spool) Ack(p Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := mark{segment: p.segment, offset: p.end, boot: s.boot, seq: s.seq}
	if err := writeMark(s.dir, m); err != nil {
		// The record may be sent again after a crash; its number makes that harmless.
		err = fmt.Errorf("acknowledge in spool: %w", err)
		s.advance(p)
		return err
	}
	s.advance(p)
	s.reap()
	return nil
}

func (s *Spool) advance(p Position) {
	for i := range s.segs {
		if g := &s.segs[i]; g.id == p.segment && p.end > g.offset {
			g.offset = p.end
			g.records--
		}
	}
}

// reap removes segments of which all has arrived, but the one being written.
func (s *Spool) reap() {
	for len(s.segs) > 0 && s.segs[0].records <= 0 {
		if len(s.segs) == 1 && s.file != nil {
			if s.segs[0].size < s.limits.Segment {
				return
			}
			s.file.Close()
			s.file = nil
		}
		if os.Remove(s.path(s.segs[0].id)) != nil {
			return
		}
		s.segs = s.segs[1:]
	}
}

// Sync brings what was appended to the disk.
func (s *Spool) Sync() error {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("sync spool: %w", err)
	}
	return nil
}

// Close lets the directory go.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.file != nil {
		err = errors.Join(s.file.Sync(), s.file.Close())
		s.file = nil
	}
	return errors.Join(err, s.lock.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
