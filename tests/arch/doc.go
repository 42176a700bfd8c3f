// Package arch holds the rule that keeps the house in order: which package may
// import which, and that the deciding levels touch no clock, chance, disk,
// network, log or goroutine. Its test reads the source of the whole module; a
// second test reads a broken sample and must find every fault planted there, so
// that the rule cannot rot into one that passes everything.
package arch
