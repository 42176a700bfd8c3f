// Package health turns what was seen of a GPU host into a verdict.
//
// A Signal is one thing one witness said about one card or one host. Assess
// folds signals into the State kept for the host and answers with a Verdict: a
// level for the host and for each card, with every reason that stands, when it
// was first seen, when it was last seen, and what it asks for. Nothing here acts;
// internal/remedy decides what a verdict leads to.
//
// The knowledge is data. xid.yaml holds one row for each Xid code of the driver
// (meaning, class, default action, rules, sources); conditions.yaml one row for
// each other kind of signal (debounce, clearing, witnesses). Both are read by
// Parse, checked as a whole, and can be overridden per cluster with Override.
// README.md defines the words and draws the path from signal to verdict.
//
// What must stay true, and is tested:
//
//   - The same signals in one batch give the same state in any order, and a
//     signal delivered twice counts once.
//   - FirstSeen of a standing reason never moves; LastSeen does.
//   - Every alarm has an all-clear: reads, quiet, a new boot, a cancelling code,
//     a state that outranks the event, or a person's set-healthy.
//   - An application's Xid never asks for the card or the host to go, unless the
//     same code came from different families on the same card.
//   - An unknown code alerts and does nothing else.
//   - Silence never condemns a host by one witness, nor by two with one fate.
package health
