// Package local runs Bulkhead in one process, with no AWS and no GPU: the store,
// the real use cases and the API on loopback, over a simulated fleet.
//
//	sim.Fleet ──events──▶ Ingest ──▶ store ──▶ Outbox ──▶ journal
//	    │  ▲                           ▲
//	    │  └─wire──◀── SDK client ◀── Sweep
//	    └─what agents see──▶ Reports ──┘
//
// The fleet packs as ECS does, by GPU memory alone; its services scale with the
// hours, are deployed anew, and things fail now and then. So what one sees is what
// sharing GPUs on ECS looks like. Nothing shown is made here: it comes from the
// real handlers, which know the fleet only by its events, its ECS API and its
// agents' reports. A fault can be injected while it runs.
package local
