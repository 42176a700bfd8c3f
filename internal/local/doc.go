// Package local runs Bulkhead in one process, with no AWS and no GPU: the store,
// the real use cases and the API on loopback, over a day in the life of a small
// fleet. The day packs as ECS does, by GPU memory alone, so what one sees is what
// sharing GPUs on ECS looks like: cards that are full, cards whose compute is
// promised twice, tasks that stop slowly, an instance that goes.
package local
