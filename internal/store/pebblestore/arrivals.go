package pebblestore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// The entries in the order of their arrival are the rows of requests, which have it. No one else
// needs the rows that the checkpoint holds: they stay for their order alone, for as long as they
// are kept.

// arrivals is which rows are kept behind those that a round has settled. It changes with a round,
// in the batch of its marker.
type arrivals struct {
	mu     sync.Mutex
	first  uint64     // sequence of the oldest row; all before it are gone
	rounds []settled  // of the rows before the marker, the oldest first
	until  andon.Time // arrival of the newest write before the marker, or of the first at all
	latest andon.Time // arrival of the newest write behind the marker
}

// settled are the rows of one round. It is stored.
type settled struct {
	Behind uint64 `json:"behind"` // the sequence behind them
	Until  int64  `json:"until"`  // when the last of them came: an andon.Time, 0 where none has one
	Bytes  int64  `json:"bytes"`
}

// openArrivals finds the oldest row: a program that keeps none may have deleted some meanwhile.
// When the rows behind the marker came rebuild has found out: the next round has to know how fast.
func (s *Store) openArrivals(context.Context) error {
	if err := s.fixedJSON(fixedArrivals, &s.arrivals.rounds); err != nil {
		return fmt.Errorf("read which rows are kept: %w", err)
	}
	if n := len(s.arrivals.rounds); n > 0 && s.arrivals.rounds[n-1].Until != 0 {
		s.arrivals.until = andon.Time(s.arrivals.rounds[n-1].Until)
	}
	s.arrivals.first = s.order.next
	for k := range s.rows(layout.Key{layout.TableRow}) {
		s.arrivals.first = layout.SequenceOf(k)
		break
	}
	return nil
}

// arrived notes when a write came.
func (a *arrivals) arrived(at andon.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at == 0 {
		return // it was no message
	}
	a.until, a.latest = cmp.Or(a.until, at), at
}

// leastKept is for how long rows are kept at least, or not at all. Where so much arrives that they
// would go sooner, a round deletes them before the engine has written them into a table, which
// halves what is written.
const leastKept = 10 * time.Minute

// settle is what a round does with the settled rows, of which it has settled so many bytes: it puts
// into the batch which are kept, those that the checkpoint does not hold among them, and deletes
// the others. It returns how many bytes of those that it has settled it deletes. done is told once
// the batch is on the disk.
func (a *arrivals) settle(
	b *engine.Batch, o *Options, m marker, bytes int64,
) (deleted int64, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := cmp.Or(a.latest, a.until)
	rounds := append(slices.Clip(a.rounds), settled{m.settled, int64(until), bytes})
	first, fast := a.first, isFast(bytes, until.Sub(a.until), o.ArrivalsBytes)
	for total := bytesOf(rounds); len(rounds) > 0; rounds = rounds[1:] {
		oldest := rounds[0]
		near := isNear(andon.Time(oldest.Until), until, o.ArrivalsFor)
		if wanted := total <= o.ArrivalsBytes && near && !fast; wanted || oldest.Behind > m.shown {
			break
		}
		first, total = oldest.Behind, total-oldest.Bytes
	}
	if len(rounds) == 0 {
		deleted = bytes
	}
	value, err := json.Marshal(rounds)
	b.Keep(err)
	b.Put(layout.FixedKey(fixedArrivals), value)
	b.RemoveRange(layout.RowKey(0), layout.RowKey(first))
	return deleted, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.first, a.rounds, a.until = first, rounds, until
	}
}

// isFast reports whether rows that came within a time are so many that they would go sooner than
// leastKept.
func isFast(bytes int64, within andon.Duration, most int64) bool {
	within = max(within, andon.DurationOf(time.Second))
	return float64(bytes)*float64(andon.DurationOf(leastKept)) > float64(most)*float64(within)
}

func bytesOf(all []settled) (n int64) {
	for _, s := range all {
		n += s.Bytes
	}
	return n
}

// isNear reports whether a time is within a while of now. A clock that was wrong may have given
// times far ahead, too.
func isNear(at, now andon.Time, within time.Duration) bool {
	return max(now.Sub(at), at.Sub(now)) <= andon.DurationOf(within)
}

// keptFrom returns the sequence at which a query begins. What was deleted before the caller's
// iterator was made is not there any more: it asks behind that.
func (s *Store) keptFrom(t *tenant, after *andon.Position) (from uint64, skip int, err error) {
	published := s.published()
	s.arrivals.mu.Lock()
	first := s.arrivals.first
	s.arrivals.mu.Unlock()
	if after == nil {
		return first, 0, nil
	}
	s.feed.Lock()
	defer s.feed.Unlock()
	if !s.feed.gave(t, *after, published) || after.Sequence < first {
		return 0, 0, feed.GoneEntries(s.feed.position(t, first))
	}
	return after.Sequence, after.Entries(), nil
}

// Arrivals is of andon.Feed.
func (s *Store) Arrivals(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery,
) (part andon.Arrived, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return part, err
	}
	end := s.published()
	from := uint64(0)
	if q.After != nil {
		from = q.After.Sequence
	}
	it, err := engine.NewIterator(ctx, s.db, layout.RowKey(from), layout.RowKey(end))
	if err != nil {
		return part, err
	}
	defer it.Release()
	from, skip, err := s.keptFrom(t, q.After)
	if err != nil {
		return part, err
	}
	s.feed.Lock()
	r := arrivalReader{
		eventReader: newEventReader(ctx, s, t), query: &q, at: s.feed.position(t, from),
	}
	s.feed.Unlock()
	defer r.close()
	return r.read(it, end, skip)
}

// arrivalBytes is how many bytes of rows are read at most for one part, also where few of their
// entries are selected, or they are another tenant's.
const arrivalBytes = 8 << 20

// arrivalReader reads rows for one part of an answer.
type arrivalReader struct {
	*eventReader
	query *andon.ArrivalQuery
	at    andon.Position // before the row
	part  andon.Arrived
	bytes int // of rows, as they are unpacked
}

func (r *arrivalReader) read(it *engine.Iterator, end uint64, skip int) (andon.Arrived, error) {
	for ok := it.First(); ok && !r.part.More; ok = it.Next() {
		sequence := layout.SequenceOf(it.Key())
		if sequence < r.at.Sequence {
			continue // it was deleted just behind the iterator
		}
		if r.bytes >= arrivalBytes {
			r.part.More = true
			break
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return r.part, fmt.Errorf("read row: %w", err)
		}
		r.at.Sequence = sequence
		if err := r.add(value, skip); err != nil {
			return r.part, err
		}
		skip = 0
	}
	if !r.part.More {
		r.at.Sequence, r.at.Index = end, 0
		r.part.Next = r.at
	} else if r.part.Next == (andon.Position{}) {
		r.part.Next = r.at
	}
	return r.part, it.Error()
}

// add adds the entries of a row behind the first few, unless it is another tenant's, and goes
// behind it.
func (r *arrivalReader) add(row []byte, skip int) error {
	of, err := r.entries(row)
	if err != nil {
		return fmt.Errorf("read row: %w", err)
	}
	next := r.at
	next.Sequence++
	for i := skip; i < len(of.entries); i++ {
		hit, ok := r.hit(&of.entries[i], of.numbers[i])
		if !ok {
			continue
		}
		if len(r.part.Items) == r.query.Limit {
			r.part.More, r.part.Next = true, r.part.Items[r.query.Limit-1].Position
			return nil
		}
		if err := r.escalate(hit[0].event.Device, hit); err != nil {
			return err
		}
		at := next
		if i+1 < len(of.entries) {
			at = r.at.BehindEntry(i + 1)
		}
		r.part.Items = append(r.part.Items, andon.Arrival{Event: hit[0].event, Position: at})
	}
	r.at = next
	return nil
}

// entries reads the entries of a row, and the number of the device of each; none of a row of
// another tenant.
func (r *arrivalReader) entries(value []byte) (c arrivalRow, err error) {
	row, err := layout.UnpackRow(nil, value)
	if err != nil {
		return c, err
	}
	r.bytes += len(row)
	c.tenant = r.tenant.number
	return c, layout.NewRowReader(&c).Read(row)
}

// arrivalRow is the entries of a row of a tenant.
type arrivalRow struct {
	tenant  uint32
	entries []eventlog.Entry
	numbers []uint32
}

func (c *arrivalRow) Begin(tenant uint32, _ andon.Time) bool { return tenant == c.tenant }

func (c *arrivalRow) Entry(number uint32, e eventlog.Entry) {
	c.entries, c.numbers = append(c.entries, e), append(c.numbers, number)
}

func (*arrivalRow) Change(w *layout.Reader, _ uint32, base andon.Time) { w.SkipDeviceChange(base) }

// hit returns the entry as one hit, unless it is left out. A device without a place was purged.
func (r *arrivalReader) hit(e *eventlog.Entry, number uint32) (one []hit, ok bool) {
	if !r.query.Admits(e.Time, e.State) {
		return nil, false
	}
	s := r.store
	s.mu.RLock()
	if r.tenant.fleet.At(number) == nil {
		s.mu.RUnlock()
		return nil, false
	}
	id := r.tenant.fleet.ID(number)
	s.mu.RUnlock()
	d := r.numbered(id, number)
	one = r.take(nil, &d, e, 0, &andon.EventQuery{})
	return one, len(one) > 0
}

// keepNumbers puts into the batch of a purge that no number is given again.
func keepNumbers(b *engine.Batch, t *tenant) {
	b.Put(layout.NumbersKey(t.number), layout.Key(nil).Number(t.fleet.Numbers()))
}

// reserveNumbers leaves out the numbers of devices that were purged.
func (s *Store) reserveNumbers(t *tenant) error {
	value, err := s.get(layout.NumbersKey(t.number))
	if err != nil || value == nil {
		return err
	}
	count, _, ok := layout.TakeNumber(value)
	if !ok || count > layout.MostDevices {
		return layout.ErrDamaged
	}
	t.fleet.Reserve(count)
	return nil
}
