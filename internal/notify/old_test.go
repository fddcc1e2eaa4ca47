package notify_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
)

const day = 24 * 60 * 60 * second

// TestDevicesAreCountedOnce: a device counts for the severest of its incidents, and each of them as
// it was told last.
func TestDevicesAreCountedOnce(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	var all []notify.Notice
	for round, state := range []andon.State{"WARNING1", "FAILURE"} {
		for d := range 30 {
			n := w.notice(d, 3)
			n.Key = fmt.Sprint(round, d)
			n.Incident.State = state
			all = append(all, n)
		}
	}
	for i, is := range []people.Incident{
		{Device: "d3", Kind: "silent", Severity: 3}, {Device: "d4", Kind: "silent", Severity: 2},
		{Device: "d5", Kind: "state", State: "WARNING1", Severity: 1},
	} {
		is.ID = fmt.Sprintf("i%d", 105-i*50) // of d5 it is the one above
		all = append(all, notify.Notice{
			Key: fmt.Sprint("last", i), To: "Liz", Due: w.now, Incident: &is,
		})
	}
	for _, n := range all {
		if err := w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{n}); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.pass(t, 5)
	m := w.to.all[0]
	want := map[andon.State]int{"FAILURE": 28, "silent": 1, "WARNING1": 1}
	if m.Count != 30 || !maps.Equal(m.States, want) {
		t.Errorf("%d devices, %v", m.Count, m.States)
	}
}

// TestTooOld: what was not told for a day is dropped, however far it came.
func TestTooOld(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	tell := func(n int) {
		t.Helper()
		if err := w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{
			w.notice(n, 3),
		}); err != nil {
			t.Fatal(err)
		}
	}
	tell(1) // nothing sends for a day
	w.now += day + 10*second
	_ = w.pass(t, 5)
	late := w.notice(2, 3)
	late.Due -= day + second
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{late})
	_ = w.pass(t, 5)
	if len(w.to.all) != 0 {
		t.Fatalf("sent %+v", w.to.all)
	}
	w.to.fails = errors.New("out of reach")
	tell(3)
	_ = w.pass(t, 3) // one attempt
	w.now += day + second
	_ = w.pass(t, 5)
	tell(4)
	w.to.fails = nil
	_ = w.pass(t, 5)
	if len(w.to.all) != 2 || w.to.all[1].Worst[0].Incident != "i4" {
		t.Errorf("sent %+v", w.to.all)
	}
}

// TestSerialRareInList: a list ends early only where it says where it goes on.
func TestSerialRareInList(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	w.liz.Contacts = nil
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
	_ = w.pass(t, 5)
	w.liz.Contacts = []people.Contact{{Channel: "c"}}
	for n := range 30 {
		for range 700 {
			if _, err := w.Test(t.Context(), andon.DefaultTenant, "Liz"); err != nil {
				t.Fatal(err)
			}
		}
		w.now += second * andon.Time(n)
	}
	pages, found, wanted := 1, 0, notify.Wanted{Status: notify.GivenUp}
	for after := "?"; after != ""; pages++ {
		after = ""
		wanted.Stopped = func(key string) { after = key }
		for _, err := range w.List(t.Context(), andon.DefaultTenant, wanted) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		wanted.After = after
	}
	if pages < 3 || found != 1 {
		t.Errorf("%d pages, %d found", pages-1, found)
	}
}

// waiting is a channel that answers after a while, or not at all.
type waiting struct{ after time.Duration }

func (waiting) Check(string) error { return nil }
func (waiting) Follows() bool      { return false }
func (waiting) Reminds() bool      { return false }
func (w waiting) Send(ctx context.Context, _ *notify.Message) (string, error) {
	select {
	case <-time.After(w.after):
		return "at last", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestTestIsBounded: all contacts are tried at once, and none for more than half a minute.
func TestTestIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		w := newWorld(store)
		w.Channels["slow"], w.Channels["dead"] = waiting{20 * time.Second}, waiting{time.Hour}
		w.liz.Contacts = nil
		for _, c := range []string{"slow", "dead", "none", "c", "c", "slow"} {
			w.liz.Contacts = append(w.liz.Contacts, people.Contact{Channel: c})
		}
		began := time.Now()
		all, err := w.Test(t.Context(), andon.DefaultTenant, "Liz")
		if took := time.Since(began); err != nil || took != 30*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		got := ""
		for _, one := range all {
			got += fmt.Sprintln(one.Channel, one.Status, one.Answer)
		}
		want := `slow delivered at last
dead given-up there was no answer within 30s
none given-up there is no channel "none" in the settings
c delivered ok
c delivered ok
slow delivered at last
`
		if got != want {
			t.Error(got)
		}
	})
}

// TestClockSetBack: what a clock was that is right again keeps nobody from being told, and gives
// nothing up.
func TestClockSetBack(t *testing.T) {
	for _, ahead := range []andon.Duration{second * 3600, day + 3600*second} {
		store := memstore.New()
		defer store.Close()
		w := newWorld(store)
		tell := func(n int, severity uint8) {
			t.Helper()
			err := w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{
				w.notice(n, severity),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		sent := func(what string, want int) {
			t.Helper()
			if got := len(w.to.all); got != want {
				t.Fatalf("ahead by %s: %d messages, not %d, after %s", ahead, got, want, what)
			}
			w.to.all = nil
		}
		w.to.fails = errors.New("out of reach")
		tell(100, 64)
		_ = w.pass(t, 20)
		sent("three attempts", 3)
		w.set(ahead)
		_ = w.pass(t, 2)
		w.set(-ahead)
		w.to.fails, w.to.all = nil, nil
		_ = w.pass(t, 30)
		sent("the message that waited", 1)

		w.set(ahead)
		for n := range 30 {
			tell(n, 64)
		}
		_ = w.pass(t, 5)
		sent("a flood", 1)
		tell(200, 80) // gathers when the clock is set back
		w.set(-ahead)
		_ = w.pass(t, 5)
		sent("what was gathered", 1)
		for n := range 3 {
			_ = w.pass(t, 600)
			tell(300+n, 64)
		}
		_ = w.pass(t, 10)
		sent("three more", 3)

		w.liz.Zone, w.liz.Quiet, w.liz.QuietSeverity = "UTC", "22:00-23:00", 100
		w.set(andon.Duration(day - w.now%day - 90*60*second)) // 22:30
		w.set(ahead - ahead%day + 15*60*second)
		tell(400, 64)
		w.set(-(ahead - ahead%day + 15*60*second))
		_ = w.pass(t, 40*60)
		sent("what was held", 1)

		o := newWorld(store) // a process that sends nothing
		o.Channels, o.now, w.liz.Quiet = nil, w.now, ""
		o.set(ahead)
		if err := o.Notify(t.Context(), "default", []notify.Notice{o.notice(500, 64)}); err != nil {
			t.Fatal(err)
		}
		_ = o.pass(t, 1)
		o.set(-ahead)
		_ = o.pass(t, 1)
		_ = w.pass(t, 7)
		sent("what a process without channels gathered", 1)
	}
}
