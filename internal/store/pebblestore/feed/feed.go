// Package feed serves what the embedded store has in the order in which it happened: the changes of
// what devices show, and the entries in the order of their arrival.
//
// Both are rows that other parts of the store write. A write puts a row of changes and rows of
// entries into its batch, under the sequence of the request. So the sequence is the position of a
// reader, there is one order for all tenants, and a reader that was away continues where it was
// without any state here. This package decides what the adapter can't know from a row alone: which
// positions are valid, where a reader continues, which rows are still kept, and when the oldest are
// deleted.
//
// Contract:
//
//   - A position names the opening of the store in which it was given (Opening). A directory that
//     is restored from a copy begins an opening of its own. So a position given after the moment of
//     the copy is Gone there, although its sequence comes again.
//   - A position is Gone where changes after it were deleted. It is not Gone where only changes of
//     other tenants were: the reader of a quiet tenant waits at its last change, however much
//     others change (Tenant.lost).
//   - A reader sees published changes only, each exactly once, in order. It reads a part at a time
//     and keeps nothing from being deleted meanwhile: a reader that is too slow gets Gone.
//   - Await returns once there is a change at a position or after it. It never blocks a writer.
//   - Trimming follows the arrival of changes, not a clock: time advances by at most the span of a
//     segment with each change. So no single arrival under a wrong clock empties the feed.
//   - Deleting waits for no disk. After a crash there is too much rather than too little. An error
//     changes nothing, and the next change tries again.
//
// Locks: Changes.mu, Arrivals.mu and the lock of a Wakeup are the last ones that a goroutine takes,
// but for one case: trimming lists the tenants with Changes.mu held. So the function for that, and
// the one for what is published, must not call this package.
//
// The package knows rows, sequences and times of arrival. It does not know what devices show now,
// nor how an entry is found or shown: the caller passes a function for that. It knows no clock.
package feed

import (
	"math/rand/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
)

// Tenant is what the feed has in memory of one tenant.
type Tenant struct {
	ID     andon.TenantID
	Number uint32
	feed.Wakeup

	// lost is the sequence after the newest change of the tenant that was deleted, or that may have
	// been made in an earlier opening. Changes.mu guards it.
	lost uint64
}

// segment is a part of what is kept, the unit in which it is deleted. It is stored.
type segment struct {
	End   uint64 `json:"end"`   // the sequence after it
	Until int64  `json:"until"` // when the last of it arrived: an andon.Time, 0 where nothing did
	Bytes int64  `json:"bytes"`
}

// dropped drops the oldest segments, which begin at a sequence, until the oldest that is left is to
// be kept. It returns where what is left begins. keep gets the bytes of all that is left.
func dropped(
	all []segment, first uint64, keep func(oldest segment, bytes int64) bool,
) ([]segment, uint64) {
	bytes := int64(0)
	for _, s := range all {
		bytes += s.Bytes
	}
	for len(all) > 0 && !keep(all[0], bytes) {
		first, bytes, all = all[0].End, bytes-all[0].Bytes, all[1:]
	}
	return all, first
}

// Opening is one opening of the store, from a sequence on.
type Opening struct {
	ID   uint64 `json:"id"`
	From uint64 `json:"from"`
}

// mostOpenings is how many openings are remembered.
const mostOpenings = 1000

// begin adds an opening, and forgets those of which no row is left.
func begin(openings []Opening, first, next uint64) []Opening {
	openings = append(openings, Opening{rand.Uint64(), next})
	openings = openings[max(0, len(openings)-mostOpenings):]
	for len(openings) > 1 && openings[1].From < first {
		openings = openings[1:]
	}
	return openings
}

// feedID names the feed of a tenant: a tenant of the same name that is made later has another
// number.
func (o Opening) feedID(t *Tenant) uint64 {
	const spread = 0x9e3779b97f4a7c15 // odd, so no two numbers meet
	return o.ID + uint64(t.Number)*spread
}
