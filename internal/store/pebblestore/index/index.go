// Package index reads the index rows of the embedded store: in which hours which devices may have
// entries of an operator (postings), and which entries were ever escalated to a supervisor.
//
// An index row only says where to look. A row that is out of date is never shown: the caller checks
// each hit against the truth, that is the entry or its newest escalation. A row that should have
// been deleted is harmless, and the index can be built again. What may never happen is that a row
// is missing; package verify looks for that.
//
// Operators. A posting has the devices of an hour, and of each the milliseconds of its oldest and
// its newest entry in that hour. So the end of a page is known before an entry is read: Devices
// gives out the devices of an hour in the order in which their first entries come, and First says
// how many of them a page needs and up to when no other device has entries. Work follows the
// answer, not the number of devices. Entries that are not flushed yet have no posting: the caller
// passes what is in memory (Memory). It must have looked at memory before it calls Hours, which
// opens an iterator. A flush that ends in between then shows a device twice and not never.
//
// Contract:
//
//   - Sequences end at their first error, and with the context.
//   - Hours come in the order of the query, each once, and only where a device may have entries.
//   - Devices gives out each device once: at the place of the first of its records.
//   - Supervised yields keys in the order of the query, those of one instant in the order of
//     entries.
//
// The package knows keys and postings. It does not know entries, blocks, what devices show, or who
// reads a block: numbers go out, and the caller finds the devices.
package index

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Supervised yields the entries that were ever escalated to a supervisor and that the query admits.
// Index rows are in the order of time; those of one instant are put into the order of entries here,
// which follows severities.
func Supervised(
	ctx context.Context, db pebble.Reader, tenant uint32, supervisor andon.PersonID,
	q *andon.EventQuery, severity func(andon.State) uint8,
) iter.Seq2[andon.EventKey, error] {
	prefix := layout.NewKey(layout.TableSupervisor, tenant).Text(string(supervisor))
	span := q.Rest()
	from, end := layout.Key(bytes.Clone(prefix.Time(span.From))), prefix.End()
	if span.To != 0 {
		end = prefix.Time(span.To + 1)
	}
	return seq.Of(func(yield func(andon.EventKey) bool) error {
		var instant []andon.EventKey
		flush := func() bool {
			slices.SortFunc(instant, compare(q.Order))
			for _, k := range instant {
				if !yield(k) {
					return false
				}
			}
			instant = instant[:0]
			return true
		}
		for it, err := range engine.RowsBetween(ctx, db, from, end, q.Order) {
			if err != nil {
				return err
			}
			k, ok := layout.SplitSupervisor(it.Key()[len(prefix):])
			if !ok {
				return layout.ErrDamaged
			}
			k.Severity = severity(k.State)
			if len(instant) > 0 && instant[0].Time != k.Time && !flush() {
				return nil
			}
			if q.Admits(k) {
				instant = append(instant, k)
			}
		}
		flush()
		return nil
	})
}

// compare compares entries in an order.
func compare(order andon.Order) func(a, b andon.EventKey) int {
	if order == andon.Asc {
		return andon.EventKey.Compare
	}
	return func(a, b andon.EventKey) int { return b.Compare(a) }
}
