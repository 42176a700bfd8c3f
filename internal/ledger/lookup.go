package ledger

import "slices"

// Rank orders the registrations under which one EC2 instance, or one card, is
// known: one that lives before one that ended, then the one registered last. It is
// text, so that a store can keep and compare it.
func (h Host) Rank() string {
	live := "1"
	if h.Gone() {
		live = "0"
	}
	return live + "#" + h.Fixed.RegisteredAt.UTC().Format("2006-01-02T15:04:05.000Z") + "#" + h.ID.Instance
}

// SameLookup reports whether two states of a host are found by the same ids, at
// the same rank: then its entries in the index need no write.
func SameLookup(a, b Host) bool {
	return a.Fixed.EC2InstanceID == b.Fixed.EC2InstanceID && a.Rank() == b.Rank() && slices.Equal(a.Cards(), b.Cards())
}
