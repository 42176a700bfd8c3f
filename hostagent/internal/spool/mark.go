package spool

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
)

// mark is how far records have arrived, and the last number given: it outlives
// the segments, which go when they are empty.
type mark struct {
	segment uint64
	offset  int64
	seq     uint64
	boot    string
}

const markName = "mark"

// readMark returns the stored mark; known is false where there is none or it
// cannot be believed. Then all is sent again, which the numbers make harmless.
func readMark(dir string) (m mark, known bool) {
	b, err := os.ReadFile(filepath.Join(dir, markName))
	if err != nil || len(b) < 28 || len(b) > 28+maxBoot || crc32.Checksum(b[4:], castagnoli) != binary.LittleEndian.Uint32(b) {
		return mark{}, false
	}
	return mark{
		segment: binary.LittleEndian.Uint64(b[4:]), offset: int64(binary.LittleEndian.Uint64(b[12:])),
		seq: binary.LittleEndian.Uint64(b[20:]), boot: string(b[28:]),
	}, true
}

// writeMark replaces the mark whole: a crash leaves the old one or the new one.
func writeMark(dir string, m mark) error {
	b := make([]byte, 4, 28+len(m.boot))
	b = binary.LittleEndian.AppendUint64(b, m.segment)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.offset))
	b = binary.LittleEndian.AppendUint64(b, m.seq)
	b = append(b, m.boot...)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	tmp := filepath.Join(dir, markName+".new")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, markName))
}
