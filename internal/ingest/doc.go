// Package ingest turns wire events into commands for the ledger.
//
// It is the one place that judges what an event means: which host it is about,
// whether it is ours at all, which phase a task is in, which size its shares
// have. Its answer is a [Command] (apply this), an ignore (nothing of ours, with
// a token) or a reject (not believable, with a token and a sentence). It is pure;
// what it needs from elsewhere, a task definition, is named in the command and
// brought by the caller.
package ingest
