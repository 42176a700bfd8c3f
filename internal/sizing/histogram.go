package sizing

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// MaxPeak is the largest peak that is believed: sixteen tebibytes is beyond any card.
const MaxPeak gpu.MiB = 16 << 20

// Peaks is a distribution of windowed memory peaks, weighted by the seconds that
// each window stood for. It merges without loss, and a quantile errs upwards only,
// by at most one part in 32: a size too low is what must not happen.
type Peaks struct {
	Buckets []Bucket `json:"buckets,omitempty"` // ordered by Index, none empty
	Max     gpu.MiB  `json:"max"`
}

// Bucket is the seconds spent at peaks of one size.
type Bucket struct {
	Index   int   `json:"i"`
	Seconds int64 `json:"s"`
}

const (
	subBits    = 5 // 32 buckets an octave
	maxSeconds = 1 << 40
)

// Add counts a peak for so many seconds. A peak that is not in (0, MaxPeak] or has
// no weight is refused with false.
func (p Peaks) Add(peak gpu.MiB, seconds int64) (Peaks, bool) {
	if peak <= 0 || peak > MaxPeak || seconds <= 0 {
		return p, false
	}
	return p.Merge(Peaks{Max: peak, Buckets: []Bucket{{Index: bucketOf(peak), Seconds: seconds}}}), true
}

// Merge is the distribution of both.
func (p Peaks) Merge(q Peaks) Peaks {
	out := Peaks{Max: max(p.Max, q.Max), Buckets: slices.Clone(p.Buckets)}
	for _, b := range q.Buckets {
		i, found := slices.BinarySearchFunc(out.Buckets, b, func(x, y Bucket) int { return cmp.Compare(x.Index, y.Index) })
		if found {
			out.Buckets[i].Seconds = min(out.Buckets[i].Seconds+b.Seconds, maxSeconds)
			continue
		}
		out.Buckets = slices.Insert(out.Buckets, i, b)
	}
	return out
}

// Seconds is how long was watched.
func (p Peaks) Seconds() int64 {
	var n int64
	for _, b := range p.Buckets {
		n += b.Seconds
	}
	return n
}

// Quantile is the least bucket's upper edge under which the peaks stood for the
// given part per thousand of the time, never above Max; zero without peaks.
func (p Peaks) Quantile(perMille int64) gpu.MiB {
	total := p.Seconds()
	if total == 0 {
		return 0
	}
	var seen int64
	for _, b := range p.Buckets {
		if seen += b.Seconds; seen*1000 >= total*perMille {
			return min(edge(b.Index), p.Max)
		}
	}
	return p.Max
}

// bucketOf numbers the bucket of a peak: exact below 32 MiB, above it 32 an octave.
func bucketOf(m gpu.MiB) int {
	exp := bits.Len64(uint64(m)) - 1 - subBits
	if exp <= 0 {
		return int(m)
	}
	return exp<<subBits + int(m>>exp)
}

// edge is the largest peak of a bucket.
func edge(i int) gpu.MiB {
	if i < 2<<subBits {
		return gpu.MiB(i)
	}
	exp := i>>subBits - 1
	return gpu.MiB(i-exp<<subBits+1)<<exp - 1
}
