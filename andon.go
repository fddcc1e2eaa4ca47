// Package andon is the domain of Andon: the state of every device of a fleet, what it is now, what
// it was, and who answers for it.
//
// It holds the words (devices, states, events, readings, assignments, escalations, tenants), the
// rules that are the same everywhere (order, time, limits, retention), the queries that can be
// asked, and the contracts that a store fulfils. It knows no engine, no transport and no clock, and
// imports the standard library only.
package andon
