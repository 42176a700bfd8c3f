// Package remedy decides what is done about a sick GPU host, step by step, and
// does nothing itself.
//
// A Case is one fault of one host, from Open to Closed. Next takes a case, the
// world as it is now, the policy and the time, and returns the case moved on and
// the Steps to take. The caller stores the case first, asks Confirm about each
// step with a fresh view of the world right before acting, acts, and tells the
// case what came of it with Record. A crash anywhere between these four loses
// nothing: Next is called again with what the table holds, and asks again, under
// the same idempotency key, for whatever effect the world does not show.
//
// Consider opens cases from verdicts, Budget and Breaker hold them back, and
// Cancel, Hold and Release are the words of people. README.md draws the states
// and defines the words.
//
// What must stay true, and is tested over a small random world:
//
//   - in observe mode no step touches anything;
//   - never more hosts in repair than the budget, never fewer serving than
//     min-healthy because of us;
//   - never twice for one fault, never on one witness of silence;
//   - a cordon that a person made is never undone, and a cancelled case touches
//     nothing afterwards;
//   - every case ends, or says what it waits for.
package remedy
