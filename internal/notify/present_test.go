package notify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
)

// told is a world in which somebody was told of an incident that is stored.
func told(t *testing.T) *world {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	w := newWorld(store)
	w.tell(t, 1)
	return w
}

func (w *world) tell(t *testing.T, n int) {
	t.Helper()
	one := w.notice(n, 48)
	w.changed[one.Incident.ID] = *one.Incident
	if err := w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{one}); err != nil {
		t.Fatal(err)
	}
}

// TestSentAsItIs: a message says what is so as it is sent.
func TestSentAsItIs(t *testing.T) {
	for want, change := range map[string]func(*world, *people.Incident){
		"Andon: d1 FAILURE, over":         (*world).over,
		"Andon: d1 FAILURE, acknowledged": (*world).acknowledged,
		"Andon: d1 WARNING1": func(_ *world, in *people.Incident) {
			in.State, in.Severity = "WARNING1", 16
		},
	} {
		w := told(t)
		w.become(1, func(in *people.Incident) { change(w, in) })
		_ = w.pass(t, 5)
		m := w.to.all[0]
		if m.Subject() != want || (m.Acknowledge == "") != (want != "Andon: d1 WARNING1") {
			t.Errorf("%s, to acknowledge at %q; want %s", m.Subject(), m.Acknowledge, want)
		}
	}
}

// TestTriedAgainAsItIs: what could not be delivered until it was over or acknowledged is not sent
// any more, but for a channel that may have shown it, and ends it.
func TestTriedAgainAsItIs(t *testing.T) {
	for _, follows := range []bool{false, true} {
		for _, change := range []func(*world, *people.Incident){
			(*world).over, (*world).acknowledged,
		} {
			w := told(t)
			w.to.follows, w.to.fails = follows, errors.New("out of reach")
			_ = w.pass(t, 5)
			w.become(1, func(in *people.Incident) { change(w, in) })
			w.to.fails, w.to.all = nil, nil
			_ = w.pass(t, 25)
			if sent := len(w.to.all); sent > 0 != follows {
				t.Errorf("sent %d times, where it follows: %v", sent, follows)
			}
			for one := range w.List(t.Context(), andon.DefaultTenant, notify.Wanted{}) {
				if !follows && (one.Status != notify.Listed || one.NextAt != 0) {
					t.Errorf("listed: %+v", one)
				}
				break
			}
		}
	}
}

// TestQuietHoursAreChanged: what is held waits for the quiet hours of now.
func TestQuietHoursAreChanged(t *testing.T) {
	for quiet, seconds := range map[string]int{ // until it is sent; it is 22:13:20
		"tue 22:00-22:15": 102, "": 32, "tue 22:00-22:14": 42, "tue 22:00-22:20": 402,
	} {
		w := holding(t, 2)
		_ = w.pass(t, 2)
		w.liz.Quiet = quiet
		if _ = w.pass(t, min(seconds, 370)-33); quiet != "" && len(w.to.all) != 0 {
			t.Errorf("%q: it is sent at once", quiet)
		}
		for n := range w.List(t.Context(), andon.DefaultTenant, notify.Wanted{}) {
			if quiet == "tue 22:00-22:20" && n.NextAt != 1_700_000_400*second {
				t.Errorf("%q: held until %s", quiet, n.NextAt)
			}
		}
		if _ = w.pass(t, 66); len(w.to.all) != 1 {
			t.Errorf("%q: %d are sent after %d s", quiet, len(w.to.all), seconds)
		}
	}
	w := holding(t, 2)
	w.liz.QuietSeverity = 48 // which they are not below
	if _ = w.pass(t, 40); len(w.to.all) != 1 {
		t.Errorf("%d are sent as the severity of quiet hours is lower", len(w.to.all))
	}
}

// faultyTenant is a store that can't write records of one tenant.
type faultyTenant struct{ andon.Store }

func (f faultyTenant) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if r.Tenant == "plant" {
		return r, errFault
	}
	return f.Store.PutRecord(ctx, r)
}

// TestClockSetBackBeforeTheStart: a process that starts looks again at what waits, and what it
// can't store of a tenant holds up no other.
func TestClockSetBackBeforeTheStart(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	if _, err := store.PutTenant(t.Context(), andon.NewTenant("plant")); err != nil {
		t.Fatal(err)
	}
	w := newWorld(store)
	w.to.fails = errors.New("out of reach")
	w.set(12 * 60 * 60 * second)
	for i, tenant := range []andon.TenantID{"plant", andon.DefaultTenant} {
		if err := w.Notify(t.Context(), tenant, []notify.Notice{w.notice(i, 48)}); err != nil {
			t.Fatal(err)
		}
		_ = w.pass(t, 4)
	}
	w.to.fails, w.to.all = nil, nil
	w.set(-12 * 60 * 60 * second)
	w.restart(faultyTenant{store})
	if err := w.pass(t, 5); err == nil {
		t.Error("nothing says that a message could not be stored")
	}
	if n := len(w.to.all); n != 1 || w.to.all[0].Worst[0].Incident != "i1" {
		t.Errorf("%d are sent: %+v", n, w.to.all)
	}
}
