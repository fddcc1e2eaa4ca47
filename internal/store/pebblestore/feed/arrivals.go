package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// Arrivals are the entries in the order of their arrival: the rows of requests, which have that
// order. Nothing else needs the rows that the checkpoint holds: they are kept for their order
// alone. Which rows are kept changes with a flush, in the batch of its marker.
type Arrivals struct {
	// For and Bytes are for how long, and up to how many bytes, rows are kept, about.
	For   time.Duration
	Bytes int64

	mu      sync.Mutex
	first   uint64     // sequence of the oldest row; all before it are deleted
	flushed []segment  // the rows of each flush before the marker, the oldest first
	until   andon.Time // arrival of the newest write before the marker, or of the first at all
	latest  andon.Time // arrival of the newest write after the marker
}

func arrivalsKey() layout.Key { return layout.FixedKey("arrivals") }

// Open reads which rows are kept, once Arrived was called for the rows after the marker. next is
// the sequence of the next row.
func (a *Arrivals) Open(db *pebble.DB, next uint64) error {
	if err := engine.ReadJSON(db, arrivalsKey(), &a.flushed); err != nil {
		return fmt.Errorf("read which rows are kept: %w", err)
	}
	if n := len(a.flushed); n > 0 && a.flushed[n-1].Until != 0 {
		a.until = andon.Time(a.flushed[n-1].Until)
	}
	// A program that keeps no rows may have deleted some meanwhile.
	it, err := engine.NewIterator(context.Background(), db, layout.RowKey(0), layout.RowKey(next))
	if err != nil {
		return err
	}
	defer it.Release()
	if a.first = next; it.First() {
		a.first = layout.SequenceOf(it.Key())
	}
	return it.Error()
}

// Arrived notes when a write arrived, 0 where it was no message: a flush has to know how fast rows
// came.
func (a *Arrivals) Arrived(received andon.Time) {
	if received == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until, a.latest = cmp.Or(a.until, received), received
}

// leastKept is for how long rows are kept at least, or not at all. Where so much arrives that they
// would be deleted sooner, a flush deletes them before Pebble has written them into a table, which
// halves what is written.
const leastKept = 10 * time.Minute

// Flush puts into the batch of a marker which of the rows before it are kept, and deletes the
// others. The rows before flushedTo are in blocks, and bytes of them are new there; those before
// shown are in the checkpoint, and only those may be deleted. It returns how many of the bytes it
// deletes. The caller calls done once the batch is on the disk.
func (a *Arrivals) Flush(
	b *engine.Batch, flushedTo, shown uint64, bytes int64,
) (deleted int64, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := cmp.Or(a.latest, a.until)
	all := append(slices.Clip(a.flushed), segment{flushedTo, int64(until), bytes})
	fast := isFast(bytes, until.Sub(a.until), a.Bytes)
	left, first := dropped(all, a.first, func(oldest segment, total int64) bool {
		near := isNear(andon.Time(oldest.Until), until, a.For)
		return total <= a.Bytes && !fast && near || oldest.End > shown
	})
	if len(left) == 0 {
		deleted = bytes
	}
	value, err := json.Marshal(left)
	b.Keep(err)
	b.Put(arrivalsKey(), value)
	b.RemoveRange(layout.RowKey(0), layout.RowKey(first))
	return deleted, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.first, a.flushed, a.until = first, left, until
	}
}

// isFast reports whether rows that came within a time are so many that they would be deleted sooner
// than leastKept.
func isFast(bytes int64, within andon.Duration, most int64) bool {
	within = max(within, andon.DurationOf(time.Second))
	return float64(bytes)*float64(andon.DurationOf(leastKept)) > float64(most)*float64(within)
}

// isNear reports whether a time is within a duration of now. A clock that was wrong may have given
// times far ahead, too.
func isNear(t, now andon.Time, within time.Duration) bool {
	return max(now.Sub(t), t.Sub(now)) <= andon.DurationOf(within)
}

// First returns the sequence of the oldest row that is kept.
func (a *Arrivals) First() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first
}

// Show returns an entry of the device with a number as lists show it. It returns false where lists
// leave it out: its device was purged, or it was withdrawn.
type Show func(number uint32, e *eventlog.Entry) (andon.Event, bool, error)

// Read returns a part of the entries after a position. The caller passes the feed of the same
// store, whose positions these are.
func (a *Arrivals) Read(
	ctx context.Context, c *Changes, t *Tenant, q *andon.ArrivalQuery, show Show,
) (part andon.Arrived, err error) {
	end, after := c.Published(), uint64(0)
	if q.After != nil {
		after = q.After.Sequence
	}
	it, err := engine.NewIterator(ctx, c.DB, layout.RowKey(after), layout.RowKey(end))
	if err != nil {
		return part, err
	}
	defer it.Release()
	// After the iterator is open: rows that are deleted from now on are still there for it.
	first, skip := a.First(), 0
	if q.After == nil {
		after = first
	} else if skip = q.After.Entries(); after < first || !c.Gave(t, *q.After) {
		return part, feed.GoneEntries(c.Position(t, first))
	}
	r := reader{tenant: t, query: q, show: show, next: c.Position(t, after)}
	return r.read(it, end, skip)
}

// partBytes is how many bytes of rows are read at most for one part, also where few of their
// entries are selected, or they belong to other tenants.
const partBytes = 8 << 20

type reader struct {
	tenant *Tenant
	query  *andon.ArrivalQuery
	show   Show
	next   andon.Position // before the row
	part   andon.Arrived
	bytes  int // of rows, unpacked
}

func (r *reader) read(it *engine.Iterator, end uint64, skip int) (andon.Arrived, error) {
	for ok := it.First(); ok && !r.part.More; ok = it.Next() {
		sequence := layout.SequenceOf(it.Key())
		if sequence < r.next.Sequence {
			continue // it was deleted just after the iterator was opened
		}
		if r.bytes >= partBytes {
			r.part.More = true
			break
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return r.part, err
		}
		r.next.Sequence = sequence
		if err := r.add(value, skip); err != nil {
			return r.part, err
		}
		skip = 0
	}
	if !r.part.More {
		r.next.Sequence, r.next.Index = end, 0
		r.part.Next = r.next
	} else if r.part.Next == (andon.Position{}) {
		r.part.Next = r.next
	}
	return r.part, it.Error()
}

// add adds the entries of a row after the first few, unless it belongs to another tenant, and moves
// past the row.
func (r *reader) add(value []byte, skip int) error {
	row, err := layout.UnpackRow(nil, value)
	var of arrivalRow
	if err == nil {
		r.bytes += len(row)
		err = of.read(r.tenant, row)
	}
	if err != nil {
		return fmt.Errorf("read row: %w", err)
	}
	next := r.next
	next.Sequence++
	for i := skip; i < len(of.entries); i++ {
		e := &of.entries[i]
		if !r.query.Admits(e.Time, e.State) {
			continue
		}
		event, ok, err := r.show(of.numbers[i], e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if len(r.part.Items) == r.query.Limit {
			r.part.More, r.part.Next = true, r.part.Items[r.query.Limit-1].Position
			return nil
		}
		after := next
		if i+1 < len(of.entries) {
			after = r.next.AfterEntry(i + 1)
		}
		r.part.Items = append(r.part.Items, andon.Arrival{Event: event, Position: after})
	}
	r.next = next
	return nil
}

// arrivalRow is the entries of a row, and the number of the device of each; none of a row of
// another tenant.
type arrivalRow struct {
	layout.RowReader
	entries []eventlog.Entry
	numbers []uint32
}

func (a *arrivalRow) read(t *Tenant, row []byte) error {
	if err := a.Begin(row); err != nil || a.Tenant != t.Number {
		return err
	}
	return a.Devices(func(e eventlog.Entry) {
		a.entries, a.numbers = append(a.entries, e), append(a.numbers, a.Number)
	}, func() { a.SkipChange() })
}
