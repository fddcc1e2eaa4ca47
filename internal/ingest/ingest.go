// Package ingest has what the decoders of all formats share. Each format has a package below it:
// bytes in, events or readings out. Decoders are pure: they know no clock, no tenant, no transport
// and no store. Package intake decides later whether an entry is admitted.
package ingest

import "github.com/andonhq/andon"

// Item is one entry that could be read, and its place in the request.
type Item[T any] struct {
	Value T
	Index int // entries are counted from 0
	Line  int // lines are counted from 1; 0 where the format has none
}

// Batch is one request as it was read: what could be read, by index, and what could not.
// len(Items)+len(Rejected) is the number of entries of the request.
type Batch[T any] struct {
	Items    []Item[T]
	Rejected []andon.Rejection
	// Single says that the request was one object alone, which is refused as a whole or not at all.
	Single bool
}
