package cassandrastore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Several processes may write to one device at once, each from what it saw a moment ago. What they
// write merges by itself; what they concluded may be wrong: which entry is the first of the run,
// and that the device left a state. So whoever saw a change looks at the device again
// Options.Settle later, when everything that was under way with it has landed, and only then takes
// index rows away and marks the marks as settled. A process that ends before is no harm: a mark
// that is not settled is worked out by each reader, and the first to find the device quiet settles
// it.

// lookAt is a device that is to be looked at again.
type lookAt struct {
	tenant andon.TenantID
	device andon.DeviceID
	former andon.State // that it may have left; absent where it is not known
	due    time.Time
	// What the present run and incident began behind when the change was seen. Only marks for these
	// are settled; others have an entry of their own. quiet says that all of them may be.
	run, calm andon.EventKey
	quiet     bool
}

// lookAgain is what is to be looked at, first in first out.
type lookAgain struct {
	mu    sync.Mutex
	queue []lookAt
	quiet map[shared.DeviceKey]bool // what readers found, each once
}

// queued is how many devices wait at most. What comes on top is left to the readers.
const queued = 1 << 20

func newLookAgain() *lookAgain { return &lookAgain{quiet: map[shared.DeviceKey]bool{}} }

func (l *lookAgain) later(at lookAt) {
	// The device may be a part of a request.
	at.device = andon.DeviceID(strings.Clone(string(at.device)))
	l.mu.Lock()
	defer l.mu.Unlock()
	most := queued
	if at.quiet {
		most /= 2 // what was seen to change goes first
		if l.quiet[at.key()] {
			return
		}
	}
	if len(l.queue) >= most {
		return
	}
	l.queue = append(l.queue, at)
	if at.quiet {
		l.quiet[at.key()] = true
	}
}

func (at lookAt) key() shared.DeviceKey {
	return shared.DeviceKey{Tenant: string(at.tenant), Device: at.device}
}

// due takes out what is due at a time.
func (l *lookAgain) due(now time.Time) []lookAt {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && n < settleAtOnce && !l.queue[n].due.After(now) {
		n++
	}
	found := append([]lookAt(nil), l.queue[:n]...)
	l.queue = l.queue[n:]
	for _, at := range found {
		if at.quiet {
			delete(l.quiet, at.key())
		}
	}
	return found
}

const settleAtOnce = 256

// lookAgain settles devices as they are due.
func (s *Store) lookAgain(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for found := s.again.due(s.now()); len(found) > 0; found = s.again.due(s.now()) {
			err := shared.Parallel(ctx, len(found), func(ctx context.Context, i int) error {
				s.settleOrWait(ctx, found[i])
				return ctx.Err()
			})
			if err != nil {
				return
			}
		}
	}
}

func (s *Store) settleOrWait(ctx context.Context, at lookAt) {
	err := s.settle(ctx, at)
	if err == nil || andon.KindOf(err) == andon.NotFound || ctx.Err() != nil {
		return
	}
	s.options.Log.Debug("a device can't be looked at again", "device", at.device, "error", err)
	at.due = s.now().Add(s.options.Settle)
	s.again.later(at)
}

// settle looks at a device and puts right what lists and marks say of it.
func (s *Store) settle(ctx context.Context, at lookAt) error {
	t, err := s.tenant(ctx, at.tenant)
	if err != nil {
		return err
	}
	slots, err := s.take(ctx, t.key, at.device)
	if err != nil {
		return err
	}
	defer slots.Give()
	began := s.processes.now()
	v, err := s.look(ctx, t.key, at.device, true)
	if err != nil || v.newest(t.record.States) == nil {
		return err
	}
	if !v.alive(t.record.States) {
		return s.write(ctx, s.unlist(t, at.device, v))
	}
	at.quiet = at.quiet && s.quiet(v) // it may have been heard while this waited
	entered := !v.run.begins(t.generation(v), v.runBase(t.record.States))
	run, calm, err := s.beginnings(ctx, t, at.device, v, &at)
	if err != nil {
		return err
	}
	if entered {
		s.gathered.enter(t.key, at.device)
	}
	var index []mutation
	p := placeOf(t, at.device, v)
	for _, d := range s.working.Load().writes {
		if entered {
			index = append(index, d.enter(p))
		}
		if at.former != "" && at.former != p.state {
			left := p
			left.state, left.severity, left.at = at.former, 0, p.at-1
			index = append(index, d.leave(left)...)
		}
	}
	if err := s.write(ctx, index); err != nil {
		return err
	}
	if m := s.marks(t.key, at.device, run, calm); len(m) > 0 {
		err = s.write(ctx, []mutation{m})
	}
	slots.Slots[0].View, slots.Slots[0].Read = v, began
	return err
}

// unlist takes away the index rows of a retired device.
func (s *Store) unlist(t *tenant, device andon.DeviceID, v *view) (index []mutation) {
	p := placeOf(t, device, v)
	p.at = v.retired - 1
	for _, d := range s.working.Load().writes {
		index = append(index, d.retire(p, v.others(""))...)
	}
	return index
}

func placeOf(t *tenant, device andon.DeviceID, v *view) place {
	n := v.newest(t.record.States)
	return place{
		tenant: t.key, device: string(device), state: n.state,
		severity: t.record.States.Severity(n.state), at: n.time, gen: t.generation(v),
	}
}

// beginnings works the marks of a device out where they are not settled, and puts them into its
// view. It returns those that by settles, to be written; a reader, without by, settles none.
func (s *Store) beginnings(
	ctx context.Context, t *tenant, device andon.DeviceID, v *view, by *lookAt,
) (run, calm newMark, err error) {
	states, gen := t.record.States, t.generation(v)
	var at lookAt
	if by != nil {
		at = *by
	}
	found := map[andon.EventKey]andon.Time{}
	settle := func(m mark, base, ripe andon.EventKey, latest andon.Time) (newMark, error) {
		if m.begins(gen, base) && m.settled {
			return newMark{mark: m}, nil
		}
		first, ok := found[base]
		if !ok {
			var err error
			if first, err = s.first(ctx, t, device, base); err != nil {
				return newMark{}, err
			}
			found[base] = first
		}
		first = andon.Earlier(first, m.recalls(gen, base))
		// Where the log has expired, and nobody had written down where it began, it goes by what is
		// known: an incident is there since its last run.
		first = andon.Earlier(first, latest)
		settled := by != nil && (by.quiet || base == ripe)
		is := mark{gen: gen, base: base, first: first, settled: settled}
		return newMark{mark: is, write: settled || (by != nil && m.gen != gen)}, nil
	}
	if run, err = settle(v.run, v.runBase(states), at.run, v.newest(states).time); err != nil {
		return run, calm, err
	}
	v.run = run.mark
	base, open := v.incidentBase(states)
	if open {
		calm, err = settle(v.incident, base, at.calm, v.run.first)
		v.incident = calm.mark
	}
	return run, calm, err
}

// quiet reports whether nothing of a device can still be under way. When it was heard is when the
// request arrived, of which this device may have been the last.
func (s *Store) quiet(v *view) bool {
	return s.now().Sub(v.heard.Std()) > s.options.Settle+longestRequest
}

// longestRequest is longer than a request may take by any setting of sense.
const longestRequest = 5 * time.Minute
