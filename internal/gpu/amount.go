package gpu

import (
	"fmt"
	"math"
)

// MiB is an amount of GPU memory in mebibytes, the unit of ECS's
// NvidiaMpsAllocation.memory and of GpuDevice.totalMemoryInMiB.
//
// Arithmetic saturates: a hostile or corrupt figure can make a sum absurdly
// large, and then it stays absurdly large instead of wrapping to something that
// seems to fit.
type MiB int64

// Percent is a share of one GPU's streaming multiprocessors, the unit of
// NvidiaMpsAllocation.maxComputePercent. It is a ceiling, never a reservation;
// sums of ceilings on one device may exceed 100.
type Percent int32

// FullCompute is what a share counts when it declares no ceiling: MPS then lets
// it use the whole card.
const FullCompute Percent = 100

// DeclaredZero is a ceiling that was declared as 0, which is out of range. It is
// not the zero Percent: that one says that no ceiling was declared.
const DeclaredZero Percent = math.MinInt32

// Add returns m+n, saturated.
func (m MiB) Add(n MiB) MiB {
	s := m + n
	switch {
	case n > 0 && s < m:
		return math.MaxInt64
	case n < 0 && s > m:
		return math.MinInt64
	}
	return s
}

// Sub returns m-n, saturated. A negative result is kept: held beyond the total
// is a fact to report, not to hide.
func (m MiB) Sub(n MiB) MiB {
	if n == math.MinInt64 {
		if m >= 0 {
			return math.MaxInt64
		}
		return m - n
	}
	return m.Add(-n)
}

// Fits reports whether m more fits under total when held is in use already.
// Nothing fits on a card whose total is unknown (zero) and no share of zero or
// less fits anywhere.
func (m MiB) Fits(held, total MiB) bool {
	return m > 0 && total > 0 && held >= 0 && held.Add(m) <= total
}

// String writes the amount as people read it: "4096 MiB".
func (m MiB) String() string { return fmt.Sprintf("%d MiB", int64(m)) }

// Add returns p+q, saturated.
func (p Percent) Add(q Percent) Percent {
	s := int64(p) + int64(q)
	switch {
	case s > math.MaxInt32:
		return math.MaxInt32
	case s < math.MinInt32:
		return math.MinInt32
	}
	return Percent(s)
}

// OrFull is the ceiling that counts: an unset one (zero), and one at or below
// zero, which bounds nothing, weigh as a whole card.
func (p Percent) OrFull() Percent {
	if p <= 0 {
		return FullCompute
	}
	return p
}

// String writes the percent as people read it: "40%".
func (p Percent) String() string {
	if p == DeclaredZero {
		return "0%"
	}
	return fmt.Sprintf("%d%%", int32(p))
}
