package records_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

const begin andon.Time = 1_700_000_000_000_000

// opened stores an open incident of a device, and the entry that it is of.
func opened(
	t *testing.T, store andon.Store, in *records.Incidents, device andon.DeviceID,
) *records.Held {
	t.Helper()
	entered(t, store, device, begin, "WARNING2")
	place := records.Place(device, people.StateKind)
	s := &people.Setting{Known: &people.Known{}, Now: begin}
	h := &records.Held{Incident: people.Open(s, records.IDOf(begin, place), device,
		people.StateKind, &people.Observation{
			Holds: true, Since: begin, Severity: 48,
			Entry: andon.EntryRef{Time: begin, State: "WARNING2"},
		})}
	if err := in.Put(t.Context(), andon.DefaultTenant, h); err != nil {
		t.Fatal(err)
	}
	return h
}

func entered(
	t *testing.T, store andon.Store, device andon.DeviceID, at andon.Time, state andon.State,
) {
	t.Helper()
	e := andon.Event{Device: device, Time: at, State: state}
	if err := store.Append(t.Context(), "default", at, []andon.Event{e}); err != nil {
		t.Fatal(err)
	}
}

// TestManyTake: of 64 people who take one incident at once one has it, the others are told who.
func TestManyTake(t *testing.T) {
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return begin })
	h := opened(t, store, in, "d1")
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			a := people.Action{Do: people.Take, By: andon.PersonID(fmt.Sprint("p", i))}
			_, err := in.Act(t.Context(), andon.DefaultTenant, h.ID, a)
			first, lost := errors.AsType[*people.FirstError](err)
			switch {
			case err == nil:
				won.Add(1)
			case !lost || first.By == "" || andon.KindOf(err) != andon.Conflict:
				t.Error(err)
			}
		})
	}
	all.Wait()
	is, err := in.Get(t.Context(), andon.DefaultTenant, h.ID)
	if err != nil || won.Load() != 1 || is.TakenBy == "" || len(is.Steps) != 2 {
		t.Errorf("%d have it: %+v, %v", won.Load(), is, err)
	}
}

// TestDecideFrom: where what is known is not what is stored, the decision is made about that.
func TestDecideFrom(t *testing.T) {
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return begin })
	h := opened(t, store, in, "d1")
	old := &records.Held{Incident: h.Clone(), Version: h.Version}
	a := people.Action{Do: people.Take, By: "Liz"}
	if _, err := in.Act(t.Context(), andon.DefaultTenant, h.ID, a); err != nil {
		t.Fatal(err)
	}
	for _, known := range []*records.Held{old, {}} {
		var seen []string
		got, err := in.DecideFrom(t.Context(), andon.DefaultTenant,
			records.Place("d1", people.StateKind), known,
			func(h *records.Held) (bool, error) {
				if h.Incident == nil { // as one that opens
					h.Incident = old.Clone()
				}
				seen = append(seen, string(h.TakenBy))
				h.Message += "x"
				return true, nil
			})
		if err != nil || !slices.Equal(seen, []string{"", "Liz"}) || got.TakenBy != "Liz" {
			t.Errorf("decided about one of %q, %v: %+v", seen, err, got)
		}
	}
}

// TestClosed: what returned to normal and is acknowledged is closed, and found as that.
func TestClosed(t *testing.T) {
	now := begin
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return now })
	h := opened(t, store, in, "d1")
	other := opened(t, store, in, "d2")
	entered(t, store, "d1", begin+4, "NORMAL")
	s := &people.Setting{Known: &people.Known{}, Now: begin + 5}
	_, err := in.Decide(t.Context(), andon.DefaultTenant, records.Place("d1", people.StateKind),
		func(h *records.Held) (bool, error) {
			entry := andon.EntryRef{Time: begin + 4, State: "NORMAL"}
			return h.Observe(s, &people.Observation{Entry: entry}), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	now = begin + 10
	for range 2 { // the second time it is done already
		is, err := in.Act(t.Context(), andon.DefaultTenant, h.ID,
			people.Action{Do: people.Acknowledge, By: "Liz"})
		if err != nil || is.Status() != people.Closed || is.Until != begin+4 || len(is.Steps) != 4 {
			t.Errorf("%+v, %v", is, err)
		}
	}
	open, err := in.Open(t.Context(), andon.DefaultTenant)
	if err != nil || len(open) != 1 || open[0].ID != other.ID {
		t.Errorf("%v are open, %v", open, err)
	}
	n := 0
	past, err := in.Past(t.Context(), andon.DefaultTenant, records.PastQuery{
		Only: func(d andon.DeviceID) bool { return d == "d1" }, Limit: 9,
	})
	for _, is := range past {
		if n++; is.ID != h.ID {
			t.Errorf("%+v", is)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Act(t.Context(), andon.DefaultTenant, h.ID,
		people.Action{Do: people.Take, By: "Tom"}); andon.KindOf(err) != andon.Conflict {
		t.Errorf("a closed one was taken: %v", err)
	}
	of, err := in.OfDevice(t.Context(), andon.DefaultTenant, "d1", andon.Span{}, 9)
	if err != nil || n != 1 || len(of) != 1 || of[0].ID != h.ID {
		t.Errorf("%d, %+v, %v", n, of, err)
	}
}

// TestExpire: closed incidents that ended before a time are removed with all that names them, and
// so are those of a device that is forgotten.
func TestExpire(t *testing.T) {
	now := begin
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return now })
	for i := range 3 {
		h := opened(t, store, in, andon.DeviceID(fmt.Sprint("d", i)))
		h.Close(&people.Setting{Known: &people.Known{}, Now: begin + andon.Time(10*i)}, "")
		if err := in.Put(t.Context(), andon.DefaultTenant, h); err != nil {
			t.Fatal(err)
		}
	}
	silent(t, in, "d0", -2, -1)
	silent(t, in, "d1", -2, 1)
	if err := in.Expire(t.Context(), andon.DefaultTenant, begin+10); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 2, 1} {
		of, err := in.OfDevice(t.Context(), andon.DefaultTenant,
			andon.DeviceID(fmt.Sprint("d", i)), andon.Span{}, 9)
		if err != nil || len(of) != want {
			t.Errorf("d%d has %v, %v", i, of, err)
		}
	}
	for _, want := range []string{"incident_closed 3", "incident_of 3", "incident_ended 1"} {
		if got := stored(t, store, want); got != want {
			t.Errorf("there are %s, not %s", got, want)
		}
	}
	if err := in.Forget(t.Context(), "default", "d1", andon.Position{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"incident_closed 1", "incident_of 1", "incident_ended 0"} {
		if got := stored(t, store, want); got != want {
			t.Errorf("once d1 is forgotten there are %s, not %s", got, want)
		}
	}
}

// stored is a kind and how many records there are of it, of a text like that.
func stored(t *testing.T, store andon.Store, text string) string {
	t.Helper()
	kind, _, _ := strings.Cut(text, " ")
	n := 0
	for _, err := range store.Records(t.Context(), "default", andon.RecordKind(kind),
		andon.RecordQuery{Limit: 9}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(kind, " ", n)
}

// TestFollow: of one of 1,500 entries 1,000 are counted, and its end is found all the same. What
// the log has no more is as it was stored.
func TestFollow(t *testing.T) {
	now := begin + 100_000_000
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return now })
	h := opened(t, store, in, "d1")
	for i := andon.Time(1); i < 1499; i++ {
		entered(t, store, "d1", begin+i, "WARNING1")
	}
	entered(t, store, "d1", begin+2000, "NORMAL")
	gone := *h.Incident
	gone.Entry.Time, gone.Since, gone.Count = begin-50, begin-60, 7
	all := []people.Incident{*h.Incident, gone}
	if err := in.Follow(t.Context(), "default", all); err != nil {
		t.Fatal(err)
	}
	if i := all[0]; i.Since != begin || i.Until != begin+2000 || i.Count != 1000 || i.Worst != 48 {
		t.Errorf("%+v", i)
	}
	if i := all[1]; i.Since != gone.Since || i.Until != 0 || i.Count != 7 {
		t.Errorf("%+v", i)
	}
	is, err := in.Get(t.Context(), "default", people.LateID("d1", begin+1))
	if err != nil || is.ID != h.ID || is.Count != 1000 {
		t.Errorf("%+v, %v", is, err)
	}
	_, err = in.Get(t.Context(), "default", people.LateID("d1", begin+2000))
	if andon.KindOf(err) != andon.NotFound || err == nil {
		t.Errorf("got %v", err)
	}
}

// TestFaultyLog: an incident whose log is damaged is as it was stored, and a person decides whether
// it needs a reset. What can't be read for now is read again later.
func TestFaultyLog(t *testing.T) {
	var faults wrap.Faults
	store := wrap.Around(memstore.New(), faults.Hook)
	in := records.NewIncidents(store, func() andon.Time { return begin + 5 })
	h := opened(t, store, in, "d1")
	defs := andon.DefaultStates().Defs()
	defs[len(defs)-1].Reset = true
	states, err := andon.NewStateSet(defs)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []andon.Kind{andon.Damaged, andon.Unavailable} {
		faults.Set(wrap.Fail(andon.Errorf(kind, "no log")), "DeviceEvents")
		damaged := kind == andon.Damaged
		is, err := in.Get(t.Context(), "default", h.ID)
		if (err == nil) != damaged || damaged && is.State != "WARNING2" {
			t.Errorf("%s: it is %+v, %v", kind, is, err)
		}
		asks, err := in.Resets(t.Context(), "default", states, h.Incident)
		if (err == nil) != damaged || asks != damaged {
			t.Errorf("%s: it asks for a reset: %t, %v", kind, asks, err)
		}
	}
}

// slow answers a writer late whose change is stored, once.
type slow struct {
	andon.Store
	stored, answer chan struct{}
	was            atomic.Bool
}

func (s *slow) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	kept, err := s.Store.PutRecord(ctx, r)
	if !s.was.Swap(true) {
		close(s.stored)
		<-s.answer
	}
	return kept, err
}

// TestChanged: who asks which incidents have changed gets each once, as the last change left it,
// and one that another process has closed as gone.
func TestChanged(t *testing.T) {
	store, now := memstore.New(), begin
	clock := func() andon.Time { return now }
	in, other := records.NewIncidents(store, clock), records.NewIncidents(store, clock)
	first := opened(t, store, in, "d1")
	changed := func(after uint64) records.IncidentChanges {
		t.Helper()
		c, err := in.Changed(t.Context(), "default", after)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	n := changed(math.MaxUint64).Number
	if c := changed(n); c.Number != n || len(c.Recent) > 0 || c.More {
		t.Errorf("without a change there is %+v", c)
	}
	for _, note := range []string{"a", "b"} {
		a := people.Action{Do: people.Comment, By: "Liz", Note: note}
		if _, err := in.Act(t.Context(), "default", first.ID, a); err != nil {
			t.Fatal(err)
		}
	}
	c := changed(n)
	if c.Number != n+2 || len(c.Recent) != 1 || c.Recent[0].Steps[0].Note != "b" {
		t.Errorf("two comments are %+v", c)
	}
	elsewhere, err := other.Read(t.Context(), "default", records.Place("d1", first.Kind))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.Until, elsewhere.Ended = now, now
	if err := other.Put(t.Context(), "default", elsewhere); err != nil {
		t.Fatal(err)
	}
	now += 2_000_000
	c = changed(n + 2)
	if len(c.Recent) != 1 || !c.Recent[0].Gone || c.Recent[0].ID != first.ID {
		t.Errorf("what another process closed is %+v", c)
	}
	for i := range 200 {
		opened(t, store, in, andon.DeviceID("more-"+strconv.Itoa(i)))
	}
	if c = changed(n + 3); !c.More || len(c.Recent) > 0 || c.Number != n+203 {
		t.Errorf("many changes are %+v", c)
	}
	if c = changed(c.Number - 5); len(c.Recent) != 5 || c.More {
		t.Errorf("the last five are %+v", c)
	}
}

// TestOlderVersion: of two changes of an incident the second one stays in memory, although the
// first one is taken note of later.
func TestOlderVersion(t *testing.T) {
	store := memstore.New()
	h := opened(t, store, records.NewIncidents(store, func() andon.Time { return begin }), "d1")
	s := &slow{Store: store, stored: make(chan struct{}), answer: make(chan struct{})}
	in := records.NewIncidents(s, func() andon.Time { return begin }) // nothing is read again
	if all, err := in.Open(t.Context(), "default"); len(all) != 1 || err != nil {
		t.Fatal(all, err)
	}
	comment := func(by andon.PersonID) {
		a := people.Action{Do: people.Comment, By: by, Note: "seen"}
		if _, err := in.Act(t.Context(), "default", h.ID, a); err != nil {
			t.Error(err)
		}
	}
	var first sync.WaitGroup
	first.Go(func() { comment("Liz") })
	<-s.stored
	comment("Tom")
	close(s.answer)
	first.Wait()
	all, err := in.Open(t.Context(), "default")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if steps := all[0].Steps; len(steps) != 1 || steps[0].By != "Tom" {
		t.Errorf("in memory is the last note of %+v", steps)
	}
}
