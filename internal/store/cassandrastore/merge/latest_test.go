package merge

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// table is what a database keeps of a device: a log, and parts that merge by themselves.
type table struct {
	states *andon.StateSet
	log    []andon.EventKey // in order
	parts  Latest
}

func (d *table) keep(e andon.EventKey) {
	if i, there := slices.BinarySearchFunc(d.log, e, andon.EventKey.Compare); !there {
		d.log = slices.Insert(d.log, i, e)
	}
	d.parts.Raise(Newest{State: e.State, Time: e.Time})
}

// first looks up the log.
func (d *table) first(base andon.EventKey) (andon.Time, error) {
	for _, e := range d.log {
		if e.Compare(base) > 0 {
			return e.Time, nil
		}
	}
	return 0, nil
}

// put merges a start: of the later base, of one base the earlier, of one entry the final one.
func put(into *Start, s NewStart) {
	if !s.Write {
		return
	}
	c := s.Base.Compare(into.Base)
	if into.First == 0 || c > 0 || (c == 0 && (s.First < into.First ||
		s.First == into.First && s.Final)) {
		*into = s.Start
	}
}

// writer is a process with a write under way.
type writer struct {
	seen          Latest
	event         andon.EventKey
	kept          bool
	run, incident NewStart
}

func (d *table) step(w *writer) (done bool) {
	if !w.kept {
		d.keep(w.event)
		w.kept = true
		return false
	}
	is := w.seen.Clone()
	is.Raise(Newest{State: w.event.State, Time: w.event.Time})
	first := func(base andon.EventKey) andon.Time {
		if w.event.Compare(base) > 0 {
			return w.event.Time
		}
		return 0
	}
	w.run, w.incident = is.Starts(&w.seen, 0, d.states, first)
	for _, s := range []*NewStart{&w.run, &w.incident} {
		if s.Seek {
			found, _ := d.first(s.Base)
			s.First = andon.Earlier(s.First, found)
			s.Write = s.First != 0
		}
	}
	put(&d.parts.Run, w.run)
	put(&d.parts.Incident, w.incident)
	return true
}

// told is what a device shows, folded from its log.
func (d *table) told(t *testing.T) current.Device {
	is := current.Device{ID: "d"}
	for _, e := range d.log {
		err := is.Apply(current.Entry{Time: e.Time, Severity: e.Severity, State: e.State},
			d.states, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	return is
}

// expired is a log that has nothing left.
func expired(andon.EventKey) (andon.Time, error) { return 0, nil }

func (d *table) check(
	t *testing.T, when string, first func(andon.EventKey) (andon.Time, error),
) {
	t.Helper()
	v := d.parts.Clone()
	if _, _, err := v.Resolve(0, d.states, nil, first); err != nil {
		t.Fatal(err)
	}
	folded, want := v.Device("d", d.states), d.told(t)
	if diff := cmp.Diff(want.Show(d.states), folded.Show(d.states)); diff != "" {
		t.Errorf("%s, log %v, parts %+v (-want +got):\n%s", when, d.log, d.parts, diff)
	}
}

// TestRandomWriters: several processes write entries of one device side by side, each from what it
// saw a moment ago. Whatever the order of their steps, what is kept shows at the end what folding
// the log shows: to a reader, and also without the log once the starts are final, or where the
// writes came one after the other.
func TestRandomWriters(t *testing.T) {
	states := andon.DefaultStates()
	many(t, func(t *testing.T, r *rand.Rand) {
		d, apart := &table{states: states}, r.IntN(2) == 0
		var under []*writer
		for left := 1 + r.IntN(8); left > 0 || len(under) > 0; {
			if left > 0 && (len(under) == 0 || !apart && r.IntN(2) == 0) {
				e := andon.Event{
					Time:  100 + andon.Time(r.IntN(6)),
					State: pickOne[andon.State](r, "NORMAL", "WARNING1", "WARNING2", "ODD"),
				}
				under = append(under, &writer{seen: d.parts.Clone(), event: e.Key(states)})
				left--
				continue
			}
			i := r.IntN(len(under))
			if d.step(under[i]) {
				under = slices.Delete(under, i, i+1)
			}
		}
		d.check(t, "before a review", d.first)
		if apart {
			d.check(t, "the log has expired before a review", expired)
		}
		run, incident, err := d.parts.Resolve(0, states, &Review{Quiet: true}, d.first)
		if err != nil || !run.Final || (incident.First != 0 && !incident.Final) {
			t.Errorf("the review leaves %+v and %+v, %v", run, incident, err)
		}
		d.check(t, "the log has expired after a review", expired)
	})
}

// TestRaise: of two deliveries of one entry the later counts, where both are known.
func TestRaise(t *testing.T) {
	at := func(time andon.Time, delivery int64) Newest {
		n := Newest{State: "NORMAL", Time: time, Known: delivery != 0}
		n.Delivery = delivery
		return n
	}
	for _, c := range []struct{ was, next, want Newest }{
		{at(5, 1), at(6, 2), at(6, 2)}, {at(6, 1), at(5, 2), at(6, 1)},
		{at(5, 1), at(5, 2), at(5, 2)}, {at(5, 2), at(5, 1), at(5, 2)},
		{at(5, 1), at(5, 0), at(5, 0)}, {at(5, 0), at(5, 1), at(5, 0)},
	} {
		var l Latest
		l.Raise(c.was)
		if l.Raise(c.next); len(l.States) != 1 || l.States[0] != c.want {
			t.Errorf("of %+v and %+v %+v is kept, want %+v", c.was, c.next, l.States, c.want)
		}
	}
}

// TestRetirementIsABase: a device that comes back starts again after its retirement.
func TestRetirementIsABase(t *testing.T) {
	states := andon.DefaultStates()
	l := Latest{Retired: 10, States: []Newest{
		{State: "WARNING1", Time: 9}, {State: "WARNING2", Time: 20},
	}}
	l.Assigned = andon.Assignment{Operator: "Liz", From: 3}
	if !l.Alive(states) {
		t.Error("it is not alive")
	}
	_, incident, err := l.Resolve(0, states, nil, func(base andon.EventKey) (andon.Time, error) {
		if base.Time != 10 || base.Severity != Retirement {
			t.Errorf("the base is %+v", base)
		}
		return 15, nil
	})
	folded := l.Device("d", states)
	d := folded.Show(states)
	if err != nil || incident.Write || d.Since != 15 || d.IncidentSince != 15 ||
		d.Operator != "Liz" || d.LastRetired != 10 {
		t.Errorf("it shows %+v, %v", d, err)
	}
	l.Retired = 20
	if folded := l.Device("d", states); l.Alive(states) || folded.Alive() {
		t.Error("it is alive at its retirement")
	}
}
