package records_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

const hour = 3_600_000_000

// TestPast: what the fleet has in a span, page by page and for figures: incidents that were seen,
// late ones of devices that are there and of a retired one, and some that began long before it, one
// of them the silence of a gateway that never sent anything.
func TestPast(t *testing.T) {
	onDisk, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]andon.Store{"memory": memstore.New(), "pebble": onDisk} {
		t.Run(name, func(t *testing.T) { past(t, store) })
	}
}

func past(t *testing.T, store andon.Store) {
	defer store.Close()
	now := begin
	in := records.NewIncidents(store, func() andon.Time { return now })
	h := opened(t, store, in, "d1")
	opened(t, store, in, "d0") // at the same instant
	s := &people.Setting{Known: &people.Known{}, Now: begin}
	h.Close(s, "")
	if err := in.Put(t.Context(), andon.DefaultTenant, h); err != nil {
		t.Fatal(err)
	}
	now = begin + 99*hour
	for _, e := range []struct {
		device andon.DeviceID
		at     andon.Time
		state  andon.State
	}{
		{"d1", 1, "NORMAL"}, {"d1", 50, "WARNING1"}, {"d1", 51, "NORMAL"},
		{"d2", 0, "NORMAL"}, {"d2", 1, "WARNING4"}, {"d2", 60, "NORMAL"},
		{"gone", 50, "WARNING1"}, {"gone", 52, "NORMAL"}, {"early", 1, "WARNING1"},
		{"early", 2, "NORMAL"}, {"well", 3, "NORMAL"},
	} {
		entered(t, store, e.device, begin+e.at*hour, e.state)
	}
	if _, err := store.Retire(t.Context(), "default", "gone", now); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 2, 3, 100} {
		got := pages(t, in, size)
		rest := slices.Sorted(slices.Values(got[min(4, len(got)):])) // at one instant
		is := strings.Join(append(got[:min(4, len(got))], rest...), ", ")
		if is != "d1 50-51, gone 50-52, d2 1-60, early 1-2, d0 0-0, d1 0-1" {
			t.Errorf("by pages of %d: %s", size, is)
		}
	}
	silent(t, in, "well", 3, 52)
	silent(t, in, "gateway", 4, 50)
	silent(t, in, "early", 3, 49)
	returned := opened(t, store, in, "d3") // and was acknowledged days later
	entered(t, store, "d3", begin+1*hour, "NORMAL")
	entered(t, store, "d3", begin+53*hour, "WARNING1")
	entered(t, store, "d3", begin+54*hour, "NORMAL")
	s.Now = begin + 52*hour
	returned.Close(s, "")
	if err := in.Put(t.Context(), andon.DefaultTenant, returned); err != nil {
		t.Fatal(err)
	}
	for at, state := range []andon.State{"NORMAL", "WARNING1"} {
		entered(t, store, "lost", begin+andon.Time(at)*hour, state)
	}
	if _, err := store.Retire(t.Context(), "default", "lost", begin+70*hour); err != nil {
		t.Fatal(err)
	}
	var during []string
	span := andon.Span{From: begin + 50*hour, To: begin + 55*hour}
	retired, err := in.During(t.Context(), andon.DefaultTenant, span, everyone,
		func(some []people.Incident) error {
			for i := range some {
				during = append(during, text(&some[i]))
			}
			return nil
		})
	slices.Sort(during)
	want := "d0 0-0, d1 50-51, d2 1-60, d3 53-54, gateway 4-50, gone 50-52, lost 1-70, " +
		"well 3-52"
	if got := strings.Join(during, ", "); err != nil || got != want {
		t.Errorf("from 50 to 55 there are %s, not %s: %v", got, want, err)
	}
	if slices.Sort(retired); !slices.Equal(retired, []andon.Time{begin + 70*hour, now}) {
		t.Errorf("devices were retired at %v", retired)
	}
}

// TestBefore: an incident that was shelved while its device was normal for a while held twice, in
// the figures of a span before the second time, too. Lists have it when it began last.
func TestBefore(t *testing.T) {
	store := memstore.New()
	now := begin + 99*hour
	in := records.NewIncidents(store, func() andon.Time { return now })
	h := opened(t, store, in, "d1")
	for at, state := range []andon.State{"NORMAL", "WARNING2", "NORMAL"} {
		entered(t, store, "d1", begin+andon.Time(at+1)*10*hour, state)
	}
	h.From, h.Entry.Time = begin, begin+20*hour
	h.Close(&people.Setting{Known: &people.Known{}, Now: begin + 31*hour}, "")
	if err := in.Put(t.Context(), andon.DefaultTenant, h); err != nil {
		t.Fatal(err)
	}
	span := andon.Span{From: begin + 2*hour, To: begin + 12*hour}
	_, err := in.During(t.Context(), andon.DefaultTenant, span, everyone,
		func(some []people.Incident) error {
			if len(some) != 1 || text(&some[0]) != "d1 20-30" || len(some[0].Before) != 1 ||
				some[0].Before[0].Since != begin || some[0].Before[0].Until != begin+10*hour {
				t.Errorf("%+v", some)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
	if all, err := in.OfDevice(t.Context(), "default", "d1", span, 9); len(all) > 0 || err != nil {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestOtherSeverities: an incident of several states, of which one is normal by now, in spans that
// have only a part of it.
func TestOtherSeverities(t *testing.T) {
	store := memstore.New()
	now := begin + 99*hour
	in := records.NewIncidents(store, func() andon.Time { return now })
	h := opened(t, store, in, "d1")
	for at, state := range map[andon.Time]andon.State{6: "WARNING1", 10: "WARNING2", 12: "NORMAL"} {
		entered(t, store, "d1", begin+at*hour, state)
	}
	h.Entry.Time = begin + 10*hour
	h.Close(&people.Setting{Known: &people.Known{}, Now: begin + 13*hour}, "")
	if err := in.Put(t.Context(), andon.DefaultTenant, h); err != nil {
		t.Fatal(err)
	}
	for normal, want := range map[andon.State]string{
		"NORMAL":   "0-12, 0-12, 0-12, 0-12",
		"WARNING1": "0-6 late, , 10-12, 10-12",
		"WARNING2": ", 6-10, 6-10, 6-10",
	} {
		set := andon.DefaultStates().Defs()
		for i := range set {
			if set[i].Name == normal {
				set[i].Severity = 0
			}
		}
		states, err := andon.NewStateSet(set)
		if err != nil {
			t.Fatal(err)
		}
		tenant, err := store.Tenant(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		tenant.States = states
		if _, err := store.PutTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, from := range []andon.Time{2, 7, 11, 13} {
			span := andon.Span{From: begin + from*hour, To: begin + (from+1)*hour}
			all, err := in.OfDevice(t.Context(), "default", "d1", span, 9)
			if err != nil {
				t.Fatal(err)
			}
			some := []string{}
			for i := range all {
				is := strings.TrimPrefix(text(&all[i]), "d1 ")
				if all[i].Late {
					is += " late"
				}
				some = append(some, is)
			}
			got = append(got, strings.Join(some, "+"))
		}
		if is := strings.Join(got, ", "); is != want {
			t.Errorf("where %s is normal: %s, want %s", normal, is, want)
		}
	}
}

// silent stores that a device was silent, in hours.
func silent(t *testing.T, in *records.Incidents, device andon.DeviceID, from, to andon.Time) {
	t.Helper()
	from, to = begin+from*hour, begin+to*hour
	s := &people.Setting{Known: &people.Known{}, Now: from}
	id := records.IDOf(from, records.Place(device, people.SilentKind))
	is := people.Open(s, id, device, people.SilentKind, &people.Observation{
		Holds: true, Since: from, Entry: andon.EntryRef{Time: from, State: "NORMAL"},
	})
	s.Now = to
	is.Close(s, "")
	if err := in.Put(t.Context(), "default", &records.Held{Incident: is}); err != nil {
		t.Fatal(err)
	}
}

func everyone(andon.DeviceID) bool { return true }

func text(i *people.Incident) string {
	return fmt.Sprintf("%s %d-%d", i.Device, i.Since.Sub(begin)/hour,
		max(0, i.Until.Sub(begin)/hour))
}

// pages reads all incidents, page by page.
func pages(t *testing.T, in *records.Incidents, size int) (got []string) {
	t.Helper()
	q := records.PastQuery{Limit: size, Only: everyone}
	for {
		page, err := in.Past(t.Context(), andon.DefaultTenant, q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			got = append(got, text(&page[i]))
			q.After = records.PositionOf(&page[i])
		}
		if len(page) < size {
			return got
		}
	}
}

// slowly is a store on which each record is looked at once it is put.
type slowly struct {
	andon.Store
	look func()
}

func (s *slowly) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	r, err := s.Store.PutRecord(ctx, r)
	s.look()
	return r, err
}

// TestMoving: while a closed incident is moved, figures have it once the device has it.
func TestMoving(t *testing.T) {
	s := &slowly{Store: memstore.New()}
	in := records.NewIncidents(s, func() andon.Time { return begin + 99*hour })
	span, looks := andon.Span{From: begin, To: begin + 9*hour}, 0
	s.look = func() {
		looks++
		all, err := in.OfDevice(t.Context(), "default", "d1", span, 9)
		n := 0
		if err == nil {
			_, err = in.During(t.Context(), "default", span, everyone,
				func(some []people.Incident) error { n += len(some); return nil })
		}
		if err != nil || n != len(all) {
			t.Errorf("after %d records the device has %d, figures %d: %v", looks, len(all), n, err)
		}
	}
	if silent(t, in, "d1", 1, 5); looks < 4 {
		t.Errorf("looked %d times", looks)
	}
}

// TestLate: what is found in the log alone has the operator that it would have if it had been seen:
// that of its newest entry, or of the one that ended it. It has its beginning, also where entries
// expire.
func TestLate(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	tenant, err := store.Tenant(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	tenant.Events = 1000 * hour
	if _, err := store.PutTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	in := records.NewIncidents(store, func() andon.Time { return begin + 99*hour })
	for _, e := range []andon.Event{
		{Device: "d1", Time: 1, State: "WARNING1", Operator: "Liz"},
		{Device: "d1", Time: 2, State: "NORMAL", Operator: "Liz"},
		{Device: "d1", Time: 3, State: "NORMAL", Operator: "Eve"},
		{Device: "d1", Time: 4, State: "WARNING1", Operator: "Liz"},
		{Device: "d1", Time: 5, State: "WARNING2", Operator: "Bob"},
		{Device: "d1", Time: 6, State: "NORMAL", Operator: "Ann"},
		{Device: "d2", Time: 4, State: "WARNING1", Operator: "Liz"}, // then it was retired
		{Device: "d3", Time: 4, State: "WARNING1", Operator: "Liz"},
		{Device: "d3", Time: 6, State: "NORMAL"},
	} {
		e.Time = begin + e.Time*hour
		if err := store.Append(t.Context(), "default", e.Time, []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Retire(t.Context(), "default", "d2", begin+9*hour); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, device := range []andon.DeviceID{"d1", "d2", "d3"} {
		all, err := in.OfDevice(t.Context(), "default", device, andon.Span{}, 9)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			got = append(got, text(&all[i])+" "+string(all[i].Operator))
		}
	}
	if is := strings.Join(got, ", "); is != "d1 4-6 Ann, d1 1-2 Liz, d2 4-9 Liz, d3 4-6 Liz" {
		t.Error(is)
	}
}
