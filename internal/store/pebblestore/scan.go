package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
)

// rows returns the rows whose keys begin with a prefix, in ascending order: the rest of the key,
// and the value. Both are valid until the next one. It is for load, which the panic of a row that
// can't be read ends.
func (s *Store) rows(prefix key) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()})
		if err != nil {
			panic(unreadable{fmt.Errorf("read store: %w", err)})
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				panic(unreadable{fmt.Errorf("read store: %w", err)})
			}
			if !yield(it.Key()[len(prefix):], value) {
				return
			}
		}
		if err := it.Error(); err != nil {
			panic(unreadable{fmt.Errorf("read store: %w", err)})
		}
	}
}

// scan reads the events of a tenant: one iterator, moved by seeks to wherever a device, day and
// state have rows, so that it touches nothing else.
type scan struct {
	it     *iterator
	tenant *tenant
	states *andon.StateSet
	all    bool // withdrawn entries, too
	key    key  // room for the keys that it seeks
}

func newScan(ctx context.Context, r pebble.Reader, t *tenant) (*scan, error) {
	k := newKey(tableEvent, t.number)
	it, err := newIterator(ctx, r, k, k.end())
	if err != nil {
		return nil, err
	}
	return &scan{it: it, tenant: t, states: t.states(), key: newKey(tableEvent, t.number)}, nil
}

func (s *scan) close() { s.it.close() }

// hit is an event that was found, and where it stands.
type hit struct {
	key       andon.EventKey
	event     andon.Event
	escalated andon.Time // when its newest escalation was made; only where read newest first
}

// day appends to hits the events of a device and day that the query admits: of each state those
// that come first in the query's order, at most most of them. They are not sorted across states.
// Once there are enough, only what comes before the last of them is read: one more state costs a
// seek or two, not a page.
func (s *scan) day(
	hits []hit, device andon.DeviceID, day uint32, q *andon.EventQuery, most int,
) ([]hit, error) {
	prefix := s.key.begin(tableEvent, s.tenant.number).number(day).text(string(device))
	if names := q.States.Names(); len(names) > 0 {
		for _, name := range names {
			var err error
			hits, err = s.run(hits, prefix.text(string(name)), device, name, q, most)
			if err != nil {
				return hits, err
			}
		}
		return hits, nil
	}
	at := append(prefix, q.States.Prefix()...)
	within := *q // narrows down to what can still be among the first
	for s.it.SeekGE(at) && bytes.HasPrefix(s.it.Key(), prefix) {
		name, _, _, ok := splitState(s.it.Key()[len(prefix):])
		if !ok {
			return hits, errDamaged
		}
		state := andon.State(name)
		if !q.States.Match(state) {
			return hits, nil // behind the prefix that is asked for
		}
		var err error
		hits, err = s.run(hits, prefix.text(string(state)), device, state, &within, most)
		if err != nil {
			return hits, err
		}
		if len(hits)/2 >= most {
			hits = sortHits(hits, q.Order, most)
			within.Span = upTo(within.Span, hits[most-1].key.Time, q.Order)
		}
		at = append(append(prefix, state...), behindText)
	}
	return hits, s.it.Error()
}

// run appends the events of one device, day and state. prefix ends with the state.
func (s *scan) run(
	hits []hit, prefix key, device andon.DeviceID, state andon.State, q *andon.EventQuery, most int,
) ([]hit, error) {
	r := run{
		hits: hits, most: most, query: q,
		severity: s.states.Severity(state), device: device, state: state,
	}
	if !s.all {
		r.gone = s.tenant.withdrawn.of(device)
	}
	span := q.Rest().Since(1).Until(andon.MaxTime)
	if span.Empty() {
		return hits, nil
	}
	newest := bytes.Clone(prefix.invertedTime(span.To))
	behind := bytes.Clone(prefix.invertedTime(span.From - 1))
	step, move, ok := r.forward, s.it.Next, false
	if q.Order == andon.Desc {
		ok = s.it.SeekGE(newest)
	} else {
		step, move, ok = r.backward, s.it.Prev, s.it.SeekLT(behind)
	}
	for ; ok && s.within(newest, behind); ok = move() {
		if done, err := step(s.it, len(prefix)); done || err != nil {
			return r.hits, err
		}
	}
	return r.hits, s.it.Error()
}

func (s *scan) within(from, behind []byte) bool {
	k := s.it.Key()
	return bytes.Compare(k, from) >= 0 && bytes.Compare(k, behind) < 0
}

// run collects what is found in one device, day and state.
type run struct {
	hits     []hit
	most     int
	query    *andon.EventQuery
	severity uint8
	device   andon.DeviceID
	state    andon.State
	gone     []andon.EntryRef // of the device

	taken   int
	entry   andon.Time // the entry last met
	kept    bool       // whether it is the last of hits
	decided bool       // whether its newest escalation was met
	to      andon.PersonID
}

// forward meets rows newest first: an entry, then its escalations, the newest first.
func (r *run) forward(it *iterator, n int) (done bool, err error) {
	at, escalated, to, err := splitTimes(it.Key()[n:])
	if err != nil {
		return false, err
	}
	if escalated == 0 {
		if r.taken == r.most {
			return true, nil
		}
		r.decided, r.entry = false, at
		return false, r.take(it, at, "")
	}
	if r.decided || !r.kept || at != r.entry {
		return false, nil
	}
	r.decided = true
	last := &r.hits[len(r.hits)-1]
	last.event.EscalatedTo, last.escalated = andon.PersonID(to), escalated
	return false, nil
}

// backward meets rows oldest first: the escalations of an entry, the newest last, then the entry.
func (r *run) backward(it *iterator, n int) (done bool, err error) {
	at, escalated, to, err := splitTimes(it.Key()[n:])
	if err != nil {
		return false, err
	}
	if escalated != 0 {
		r.entry, r.to = at, andon.PersonID(to)
		return false, nil
	}
	if r.entry != at {
		r.to = ""
	}
	err = r.take(it, at, r.to)
	r.to = ""
	return r.taken == r.most, err
}

func (r *run) take(it *iterator, at andon.Time, to andon.PersonID) error {
	k := andon.EventKey{Time: at, Severity: r.severity, State: r.state, Device: r.device}
	withdrawn := slices.Contains(r.gone, andon.EntryRef{Time: at, State: r.state})
	if r.kept = r.query.Admits(k) && !withdrawn; !r.kept {
		return nil
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	h := hit{key: k, event: andon.Event{
		Device: r.device, Time: at, State: r.state, EscalatedTo: to,
	}}
	if err := readEvent(&h.event, value); err != nil {
		return err
	}
	r.taken++
	r.hits = append(r.hits, h)
	return nil
}

// splitTimes takes apart what follows the state in a key: the entry's time, and for an escalation
// when it was made and to whom.
func splitTimes(rest []byte) (at, escalated andon.Time, to []byte, err error) {
	at, rest, ok := takeInvertedTime(rest)
	if !ok {
		return 0, 0, nil, errDamaged
	}
	if len(rest) == 0 {
		return at, 0, nil, nil
	}
	if escalated, to, ok = takeInvertedTime(rest); !ok {
		return 0, 0, nil, errDamaged
	}
	return at, escalated, to, nil
}

// sortHits puts hits into an order and cuts them to the first most.
func sortHits(hits []hit, order andon.Order, most int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		if order == andon.Desc {
			a, b = b, a
		}
		return a.key.Compare(b.key)
	})
	return hits[:min(len(hits), most)]
}

// directory reads on which days devices have rows.
type directory struct {
	it    *iterator
	table byte
	of    *tenant
}

func newDirectory(
	ctx context.Context, r pebble.Reader, t *tenant, table byte,
) (*directory, error) {
	k := newKey(table, t.number)
	it, err := newIterator(ctx, r, k, k.end())
	if err != nil {
		return nil, err
	}
	return &directory{it: it, table: table, of: t}, nil
}

func (d *directory) close() { d.it.close() }

// days returns the days of a device that a span and an order allow, in that order. It reads no more
// of them than are asked for.
func (d *directory) days(
	device andon.DeviceID, span andon.Span, order andon.Order,
) iter.Seq2[uint32, error] {
	prefix := newKey(d.table, d.of.number).text(string(device))
	first, last := span.From.Day(), andon.Earlier(span.To, andon.MaxTime).Day()
	return func(yield func(uint32, error) bool) {
		ok, move := false, d.it.Next
		if order == andon.Desc {
			ok = d.it.SeekGE(prefix.inverted(last))
		} else {
			move = d.it.Prev
			ok = d.it.SeekLT(append(prefix.inverted(first), behindText))
		}
		for ; ok && bytes.HasPrefix(d.it.Key(), prefix); ok = move() {
			n, _, ok := takeNumber(d.it.Key()[len(prefix):])
			if !ok {
				yield(0, errDamaged)
				return
			}
			if day := ^n; day < first || day > last || !yield(day, nil) {
				return
			}
		}
		if err := d.it.Error(); err != nil {
			yield(0, err)
		}
	}
}
