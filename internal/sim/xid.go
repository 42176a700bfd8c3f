package sim

import "slices"

// xid notes an Xid of a card and does what it does: an application's fault takes the
// clients of the card, a contained error one of them, and a broken card all of them
// and every newcomer until the host boots on other hardware. Other Xids are only
// noted. Source of the kinds: NVIDIA's catalog of Xid errors.
func (f *Fleet) xid(h *Host, c *Card, code int) {
	c.Xids = append(c.Xids, code)
	switch {
	case slices.Contains([]int{13, 31, 43, 45}, code):
		f.fault(h, c)
	case code == 94:
		for _, t := range h.tasks {
			if t.Desired != "STOPPED" && slices.Contains(t.Cards, c) && len(t.Processes) > 0 {
				f.exit(t, "CUDA_ERROR_ECC_UNCORRECTABLE")
				break
			}
		}
	case slices.Contains([]int{48, 62, 79, 95, 109, 119, 120, 140}, code):
		c.Lost = true
		for _, t := range slices.Clone(h.tasks) {
			if slices.Contains(t.Cards, c) && len(t.Processes) > 0 {
				f.exit(t, "CUDA_ERROR_ECC_UNCORRECTABLE")
			}
		}
	}
	f.repair(h, code)
}
