// Package gpu is the vocabulary of shared GPUs: how much memory, how much
// compute, which card, which mode, how critical.
//
// Capacity is a type here, never a bare int, because the three classic faults of
// such ledgers (a sum that wraps, a release below zero that passes unseen, a
// percent added to a size) are then either impossible or one named method.
// The package knows nothing of ECS, AWS or time; everything above it speaks
// these words.
package gpu
