package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
)

// holding is a world in quiet hours, with so many incidents.
func holding(t *testing.T, n int) *world {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	w := newWorld(store)
	w.hold(t, n)
	return w
}

// hold gives notices of incidents in quiet hours, which end 100 s later.
func (w *world) hold(t *testing.T, n int) {
	t.Helper()
	w.liz.Quiet, w.liz.QuietSeverity = "tue 22:00-22:15", 200 // it is 22:13:20
	var all []notify.Notice
	for i := range n {
		one := w.notice(i, 48)
		all = append(all, one)
		w.changed[one.Incident.ID] = *one.Incident
	}
	for w.Notify(t.Context(), andon.DefaultTenant, all) != nil {
		w.restart(w.Store)
	}
}

// become changes an incident that was told.
func (w *world) become(n int, change func(*people.Incident)) {
	id := fmt.Sprintf("i%d", n)
	in := w.changed[id]
	change(&in)
	w.changed[id] = in
}

func (w *world) over(in *people.Incident) { in.Until = w.now }

func (w *world) acknowledged(in *people.Incident) {
	in.Acknowledged = &people.Acknowledgement{By: "Bob", At: w.now}
}

// TestHeldIsToldAsItIs: as quiet hours end, what is over or acknowledged is left out. The rest has
// its present state, and what is not stored yet is as it was noted.
func TestHeldIsToldAsItIs(t *testing.T) {
	w := holding(t, 30)
	_ = w.pass(t, 50)
	for n := range 26 {
		w.become(n, w.over)
	}
	w.become(26, w.acknowledged)
	w.become(27, func(in *people.Incident) { in.State, in.Severity = "WARNING1", 16 })
	delete(w.changed, "i28")
	_ = w.pass(t, 60)
	if len(w.to.all) != 1 {
		t.Fatalf("sent %+v", w.to.all)
	}
	m := w.to.all[0]
	if m.Subject() != "Andon: 3 devices need attention (2 FAILURE, 1 WARNING1)" ||
		len(m.Worst) != 3 || m.Worst[2].Incident != "i27" || m.Worst[0].Why != "" {
		t.Errorf("%s: %+v", m.Subject(), m.Worst)
	}
}

// TestNobodySent: what waited for a process that sends is told as it is then.
func TestNobodySent(t *testing.T) {
	for count, want := range map[int]int{3: 1, 30: 10} { // of 30 not all are known
		w := holding(t, 0)
		w.liz.Quiet = ""
		tell := func(n int) {
			one := w.notice(n, 48)
			w.changed[one.Incident.ID] = *one.Incident
			_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{one})
		}
		tell(99) // nobody sends for a day
		w.now += day + 60*second
		for n := range count {
			tell(n)
		}
		w.now += 60 * 60 * second
		w.become(0, w.over)
		w.become(1, w.acknowledged)
		_ = w.pass(t, 5)
		if len(w.to.all) != 1 || len(w.to.all[0].Worst) != want {
			t.Errorf("of %d is sent %+v", count, w.to.all)
		}
	}
}

// TestNothingIsLeft: where all that was held is over or acknowledged, nothing is sent, and the log
// says so.
func TestNothingIsLeft(t *testing.T) {
	w := holding(t, 2)
	_ = w.pass(t, 50)
	w.become(0, w.over)
	w.become(1, w.acknowledged)
	_ = w.pass(t, 60)
	n := 0
	for one, err := range w.List(t.Context(), andon.DefaultTenant, notify.Wanted{}) {
		if n++; err != nil || one.Status != notify.Listed || one.NextAt != 0 ||
			one.Answer != "nothing of it needs attention now" {
			t.Errorf("%+v: %v", one, err)
		}
	}
	if n != 1 || len(w.to.all) != 0 {
		t.Errorf("%d are listed, and sent %+v", n, w.to.all)
	}
}

// TestAcknowledgedBefore: who was asked of an incident that somebody had acknowledged is told.
func TestAcknowledgedBefore(t *testing.T) {
	w := holding(t, 0)
	one := w.notice(1, 48)
	w.acknowledged(one.Incident)
	w.changed["i1"] = *one.Incident
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{one})
	if _ = w.pass(t, 110); len(w.to.all) != 1 || w.to.all[0].Worst[0].Why != "step 1" {
		t.Errorf("sent %+v", w.to.all)
	}
}

// TestHeldFitsItsRecord: whatever the names of devices and states are, and whatever devices said,
// all of them are counted.
func TestHeldFitsItsRecord(t *testing.T) {
	w := holding(t, 0)
	for range 3 {
		var all []notify.Notice
		for range 150 {
			n := w.notice(len(w.changed), 48)
			n.Why, n.Incident.Message = strings.Repeat("\x01", 600), strings.Repeat("\"", 600)
			n.Incident.Device = andon.DeviceID(strings.Repeat("<&", 62) + n.Key)
			n.Incident.State = andon.State(strings.Repeat("\"", 60) + n.Key)
			w.changed[n.Incident.ID] = *n.Incident
			all = append(all, n)
		}
		if err := w.Notify(t.Context(), andon.DefaultTenant, all); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.pass(t, 110)
	if len(w.to.all) != 1 || w.to.all[0].Count != 450 || len(w.to.all[0].Worst) != 10 {
		t.Errorf("sent %+v", w.to.all)
	}
}

// TestEveryFaultOfHeld: whichever call of the store fails as what was held is told, and whether it
// was done, one message is sent, or the same one again, without what is over.
func TestEveryFaultOfHeld(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n, calls := 1, 1; n <= calls; n++ {
			store := memstore.New()
			f := &faulty{Store: store, at: n, after: after}
			w := newWorld(f)
			w.hold(t, 2)
			_ = w.pass(t, 50)
			w.become(0, w.over)
			for range 60 {
				if w.pass(t, 1) != nil {
					w.restart(f) // the process died
				}
			}
			_ = w.pass(t, 200)
			store.Close()
			ids := map[string]bool{}
			for _, m := range w.to.all {
				ids[m.ID] = m.Count == 1 && m.Worst[0].Incident == "i1"
			}
			if len(ids) != 1 || !ids[w.to.all[0].ID] {
				t.Fatalf("fault at call %d (after: %v): sent %+v", n, after, w.to.all)
			}
			calls = f.calls
		}
	}
}
