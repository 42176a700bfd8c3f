// Package signals turns what the host's cards, kernel and driver say into the
// signals of internal/health. It is pure: Evaluate takes the state it returned
// last, one Input and the time.
//
// Every kind has a way down as well as up. A state is told bad or well by each
// fresh sample; the first few readings after a turn are told one by one, so that
// health can count them, and later ones are folded into one signal a minute (bad)
// or each five minutes (well), with their number and span. What a card does not
// have is told as not supported and what could not be read as unreadable: neither
// is bad, and neither is well. A stale sample says nothing of the cards.
//
//	GPU lost, reset required, ECC, SRAM, remap, retired pages  from the sample
//	throttle, power brake, NVLink, PCIe                        from the sample and the ones before
//	count, driver mismatch, persistence, NVML, D state, fabric of the host
//	Xid                                                        XidSignal, event by event
package signals
