// Package engine has what every package of the embedded store needs of Pebble: iterators, batches,
// errors, jobs in the background, and their pace. It must not know what is stored, but for the
// codecs of package layout, and it holds no state of a store.
//
// Iterators. Pebble's own iterator forgets its error at the next seek. An Iterator keeps the first
// error, and the end of its context, and stops there for good: a loop ends as at the last row, and
// Error says why. So a query that works through several spans with one iterator checks Error once.
// It reports what it read to the plan of its context (andon.WithPlan).
//
// Batches. A Batch keeps its first error, which Write returns without having changed anything.
//
// Errors. What Pebble reports as corruption becomes andon.Damaged, with the name of the file
// (ReadError).
//
// Pace. Flushes and compactions would each keep a processor busy for as long as they have work.
// Where requests need most of the processors, they would queue up meanwhile. So background work
// takes a part of the time and rests between, unless it is late and requests would soon have to
// wait for it. All background work of a store has one Pacing, which also ends its rests when the
// store closes.
package engine
