package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/wallclock"
)

const second = 1_000_000

// faulty fails the n-th call of the store, before or after it was done.
type faulty struct {
	andon.Store
	calls, at int
	after     bool
}

var errFault = errors.New("fault")

func (f *faulty) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if f.calls++; f.calls == f.at && !f.after {
		return r, errFault
	}
	r, err := f.Store.PutRecord(ctx, r)
	if f.calls == f.at && f.after {
		return r, errFault
	}
	return r, err
}

func (f *faulty) Record(
	ctx context.Context, t andon.TenantID, k andon.RecordKind, id string,
) (andon.Record, error) {
	if f.calls++; f.calls == f.at {
		return andon.Record{}, errFault
	}
	return f.Store.Record(ctx, t, k, id)
}

// sent is a channel that keeps what it is sent.
type sent struct {
	mu      sync.Mutex
	all     []notify.Message
	fails   error
	follows bool
}

func (*sent) Check(string) error { return nil }
func (s *sent) Follows() bool    { return s.follows }
func (*sent) Reminds() bool      { return false }
func (s *sent) Send(_ context.Context, m *notify.Message) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *m
	c.Worst = slices.Clone(m.Worst)
	s.all = append(s.all, c)
	return "ok", s.fails
}

type world struct {
	*notify.Service
	now     andon.Time
	ahead   andon.Duration // of the time that has passed, by clocks that were set
	to      *sent
	liz     *people.Person
	changed map[string]people.Incident
}

func newWorld(store andon.Records) *world {
	w := &world{now: 1_700_000_000 * second, to: &sent{}, changed: map[string]people.Incident{}}
	w.liz = &people.Person{Name: "Liz", Contacts: []people.Contact{{Channel: "c", Address: "a"}}}
	w.restart(store)
	return w
}

func (w *world) restart(store andon.Records) {
	now := func() andon.Time { return w.now }
	w.Service = notify.New(notify.Options{
		Store: store, Now: now,
		Clock: wallclock.New(now, func() time.Duration {
			return time.Duration(w.now.Add(-w.ahead)) * time.Microsecond
		}, andon.ClockMark{}, nil),
		Log:      slog.New(slog.DiscardHandler),
		Channels: map[string]notify.Channel{"c": w.to}, URL: "https://andon.example/",
		Acknowledges: true,
		Known: func(context.Context, andon.TenantID) (*people.Known, error) {
			return &people.Known{People: map[andon.PersonID]*people.Person{"Liz": w.liz}}, nil
		},
		Incident: func(_ context.Context, _ andon.TenantID, id string) (people.Incident, error) {
			if in, ok := w.changed[id]; ok {
				return in, nil
			}
			return people.Incident{}, andon.Errorf(andon.NotFound, "none")
		},
	})
}

func (w *world) notice(n int, severity uint8) notify.Notice {
	return notify.Notice{
		Key: fmt.Sprintf("k%d", n), To: "Liz", Why: "step 1", Due: w.Now(),
		Incident: &people.Incident{
			ID: fmt.Sprintf("i%d", n), Device: andon.DeviceID(fmt.Sprintf("d%d", n)), Kind: "state",
			State: "FAILURE", Severity: severity, Since: w.Now(), Message: "oil", Operator: "Bob",
		},
	}
}

// set has the clock set, ahead or back.
func (w *world) set(by andon.Duration) {
	w.now, w.ahead = w.now.Add(by), w.ahead+by
}

// pass lets time pass, second by second.
func (w *world) pass(t *testing.T, seconds int) (err error) {
	for range seconds {
		w.now += second
		if e := w.Round(t.Context(), func(f func()) { f() }); e != nil {
			err = e
		}
	}
	return err
}

// TestDamagedMessages: a gathering and a message that can't be read hold up nobody else's.
func TestDamagedMessages(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	for n := range 250 { // more than are looked at at once
		for _, kind := range []andon.RecordKind{"gathering", "message"} {
			r := andon.Record{
				Tenant: andon.DefaultTenant, Kind: kind, ID: fmt.Sprint(n), Due: 1,
				Data: `{"to":7}`,
			}
			if _, err := store.PutRecord(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	good := []notify.Notice{w.notice(1, 3)}
	if err := w.Notify(t.Context(), andon.DefaultTenant, good); err != nil {
		t.Fatal(err)
	}
	if err := w.pass(t, 200); err == nil {
		t.Error("nothing says that there is a message that can't be read")
	}
	if len(w.to.all) != 1 || w.to.all[0].Count != 1 {
		t.Errorf("sent %+v, want the one that can be read", w.to.all)
	}
}

// TestEveryFault: whichever call of the store fails, and whether it was done, one message is sent,
// or the same one again.
func TestEveryFault(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			store := memstore.New()
			f := &faulty{Store: store, at: n, after: after}
			w := newWorld(f)
			notice := []notify.Notice{w.notice(1, 3)}
			for w.Notify(t.Context(), andon.DefaultTenant, notice) != nil {
				w.restart(f) // the process died
			}
			for range 10 {
				if w.pass(t, 1) != nil {
					w.restart(f)
				}
			}
			_ = w.pass(t, 200)
			store.Close()
			ids := map[string]bool{}
			for _, m := range w.to.all {
				ids[m.ID] = m.Count == 1
			}
			if len(ids) != 1 || !ids[w.to.all[0].ID] {
				t.Fatalf("fault at call %d (after: %v): sent %+v", n, after, w.to.all)
			}
			if f.calls < n {
				if n < 8 || len(w.to.all) != 1 {
					t.Errorf("%d calls, %d messages", n, len(w.to.all))
				}
				break
			}
		}
	}
}

// TestDuplicatesWaitAndRetry: a key is told once, a message waits, and is tried again with the same
// ID until it is given up after a day.
func TestDuplicatesWaitAndRetry(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	w.to.fails = errors.New("refused")
	for range 3 {
		_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
	}
	if _ = w.pass(t, 1); len(w.to.all) != 0 {
		t.Error("it did not wait")
	}
	_ = w.pass(t, 100)
	if n := len(w.to.all); n != 5 { // after 2, 7, 17, 37, 77 s
		t.Errorf("%d attempts", n)
	}
	for range 26 * 60 {
		w.now += 59 * second
		_ = w.pass(t, 1)
	}
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
	_ = w.pass(t, 20)
	n := len(w.to.all)
	if n < 40 || n > 60 || w.to.all[n-1].ID != w.to.all[0].ID {
		t.Errorf("%d attempts", n)
	}
	var listed []notify.Logged
	for one, err := range w.List(t.Context(), andon.DefaultTenant, notify.Wanted{To: "Liz"}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, one)
	}
	if len(listed) != 20 || listed[0].Status != notify.GivenUp || listed[1].Answer != "refused" {
		t.Errorf("listed: %+v", listed)
	}
	var rest int
	for range w.List(t.Context(), andon.DefaultTenant,
		notify.Wanted{To: "Liz", After: listed[4].Key}) {
		rest++
	}
	if rest != 15 {
		t.Errorf("%d after the fifth", rest)
	}
}

// TestFailuresAreLogged: a channel that fails is logged once, and again when it works.
func TestFailuresAreLogged(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	var log strings.Builder
	o := w.Options
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	w.Service = notify.New(o)
	w.to.fails = errors.New("refused")
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
	_ = w.pass(t, 100)
	w.to.fails = nil
	_ = w.pass(t, 100)
	var said []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		said = append(said, line)
	}
	want := []string{
		`level=WARN msg="notifications can't be sent" channel=c error=refused`,
		`level=INFO msg="notifications are sent again" channel=c`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("logged: %q", said)
	}
}

// TestQuietHoursAndLeastSeverity: what is too slight is not told, or once the hours end.
func TestQuietHoursAndLeastSeverity(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store) // 2023-11-14 22:13:20 UTC
	w.liz.MinSeverity, w.liz.Quiet, w.liz.QuietSeverity = 2, "22:00-22:15", 4
	_ = w.Notify(t.Context(), andon.DefaultTenant,
		[]notify.Notice{w.notice(1, 1), w.notice(2, 3), w.notice(3, 4)})
	_ = w.pass(t, 50)
	if len(w.to.all) != 1 || w.to.all[0].Worst[0].Incident != "i3" {
		t.Errorf("in quiet hours: %+v", w.to.all)
	}
	list := func(wanted notify.Wanted) (all []string) {
		for l, err := range w.List(t.Context(), andon.DefaultTenant, wanted) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(l.Status)+": "+l.Subject)
			if wanted.After = l.Key; l.Status == notify.Held && l.NextAt != w.now.Add(50*1e6) {
				t.Errorf("it is held until %s", l.NextAt)
			}
		}
		if n := len(all); n > 0 { // a page goes on after a key
			for range w.List(t.Context(), andon.DefaultTenant, wanted) {
				t.Error("after the last there is another one")
			}
		}
		return all
	}
	const held = "held: Andon: d2 FAILURE"
	if all := list(notify.Wanted{}); len(all) != 2 || all[0] != held {
		t.Errorf("listed in quiet hours: %q", all)
	}
	if all := list(notify.Wanted{Status: notify.Held, To: "Liz"}); len(all) != 1 || all[0] != held {
		t.Errorf("held in quiet hours: %q", all)
	}
	if all := list(notify.Wanted{Status: notify.Held, To: "Bob"}); len(all) != 0 {
		t.Errorf("held of another person: %q", all)
	}
	_ = w.pass(t, 60)
	if len(w.to.all) != 2 || w.to.all[1].Count != 1 || w.to.all[1].Worst[0].Incident != "i2" {
		t.Errorf("afterwards: %+v", w.to.all)
	}
	if all := list(notify.Wanted{Status: notify.Held}); len(all) != 0 {
		t.Errorf("held afterwards: %q", all)
	}
}

// TestFollowed: a channel that follows is sent what becomes of the incident, under the same ID.
func TestFollowed(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	w.to.follows = true
	w.changed["i1"] = *w.notice(1, 3).Incident
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
	_ = w.pass(t, 100)
	if len(w.to.all) != 1 {
		t.Fatalf("sent %d times", len(w.to.all))
	}
	seen := w.changed["i1"]
	seen.Acknowledged = &people.Acknowledgement{By: "Liz", At: w.now}
	w.changed["i1"] = seen
	w.to.fails = errors.New("out of reach") // it is tried again after 5 s, 10 s and 20 s
	_ = w.pass(t, 40)
	w.to.fails = nil
	_ = w.pass(t, 20)
	seen.Until = w.now
	w.changed["i1"] = seen
	_ = w.pass(t, 200)
	if len(w.to.all) != 6 || w.to.all[1].Worst[0].Acknowledged == 0 ||
		w.to.all[5].Worst[0].Ended == 0 || w.to.all[5].ID != w.to.all[0].ID {
		t.Errorf("%+v", w.to.all)
	}
}

// TestFollowedAgain: an incident that flaps is not over. One that is over while it is shelved is
// told again if it is open at the end of that.
func TestFollowedAgain(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	w.to.follows = true
	n := w.notice(1, 48)
	n.Incident.Flapping, n.Incident.Until, n.Incident.Worst = true, w.now, 80
	w.changed["i1"] = *n.Incident
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{n})
	_ = w.pass(t, 5)
	m := w.to.all[0]
	if m.Subject() != "Andon: d1 FAILURE, flapping" || m.Worst[0].Severity != 80 ||
		!strings.Contains(m.Text(), "\nAt worst: severity 80, now flapping\n") {
		t.Errorf("%s: %s", m.Subject(), m.Text())
	}
	for i, c := range []struct {
		change func(*people.Incident)
		sent   int
		over   bool
	}{
		{func(in *people.Incident) { in.Until = 0 }, 1, false},
		{func(in *people.Incident) { in.Flapping, in.Shelf = false, new(people.Shelf) }, 1, false},
		{w.over, 2, true},
		{func(in *people.Incident) { in.Until = 0 }, 2, true},
		{func(in *people.Incident) { in.Shelf = nil }, 3, false},
		{func(in *people.Incident) { in.Flapping, in.Until = true, w.now }, 3, false},
		{func(in *people.Incident) { in.Flapping = false }, 4, true},
		{func(in *people.Incident) { in.Ended = w.now }, 4, true},
	} {
		w.become(1, c.change)
		_ = w.pass(t, 100)
		last := w.to.all[len(w.to.all)-1].Worst[0]
		if len(w.to.all) != c.sent || (last.Ended != 0) != c.over {
			t.Errorf("change %d: %d are sent, at last %+v", i, len(w.to.all), last)
		}
	}
	n = w.notice(2, 48) // it is over as it is told
	n.Incident.Until, n.Incident.Shelf = w.now, new(people.Shelf)
	w.changed["i2"] = *n.Incident
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{n})
	_ = w.pass(t, 100)
	w.become(2, func(in *people.Incident) { in.Until, in.Shelf = 0, nil })
	_ = w.pass(t, 100)
	if n := len(w.to.all); n != 6 || w.to.all[5].Worst[0].Ended != 0 {
		t.Errorf("%d are sent, at last %+v", n, w.to.all[n-1])
	}
}

// TestFollowedElsewhere: what becomes of an incident waits a day for who has the channel.
func TestFollowedElsewhere(t *testing.T) {
	for days, want := range []int{2, 1} {
		store := memstore.New()
		defer store.Close()
		w, o := newWorld(store), newWorld(store)
		w.to.follows, o.Channels = true, map[string]notify.Channel{"other": o.to}
		w.changed["i1"] = *w.notice(1, 3).Incident
		_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{w.notice(1, 3)})
		_ = w.pass(t, 100)
		o.now = w.now
		for range 10 + days*24*60*60/30 {
			o.now += 31 * second
			_ = o.pass(t, 1)
		}
		w.now = o.now
		w.become(1, w.over)
		if _ = w.pass(t, 100); len(w.to.all) != want {
			t.Errorf("after %d days %d are sent", days, len(w.to.all))
		}
	}
}

// TestSilenceIsNamed: a message says that a device is silent, whatever state it was last in.
func TestSilenceIsNamed(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	silent := w.notice(1, 16)
	silent.Incident.Kind, silent.Incident.State = "silent", "NORMAL"
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{silent})
	_ = w.pass(t, 5)
	if m := w.to.all[0]; m.Subject() != "Andon: d1 silent" ||
		!strings.Contains(m.Text(), "State: silent\n") || m.States["silent"] != 1 {
		t.Errorf("%s, %v: %s", m.Subject(), m.States, m.Text())
	}
}

// TestLinksOfATenant: the board shows the tenant that a message is of.
func TestLinksOfATenant(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	if _, err := store.PutTenant(t.Context(), andon.NewTenant("plant 2")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"devices/d0?tenant=plant+2", "devices/d1", "?tenant=plant+2", "",
	} {
		all := []notify.Notice{w.notice(i, 3), w.notice(i+4, 3)}
		tenant := []andon.TenantID{"plant 2", andon.DefaultTenant}[i%2]
		_ = w.Notify(t.Context(), tenant, all[:1+i/2])
		_ = w.pass(t, 5)
		m := w.to.all[i]
		named := strings.HasPrefix(m.Text(), "Tenant: plant 2\n")
		if m.Link != "https://andon.example/"+want || named != strings.Contains(want, "plant") {
			t.Errorf("%s, want %s: %s", m.Link, want, m.Text())
		}
	}
}

// TestLinks: a link is good for three days and for what it says.
func TestLinks(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	w := newWorld(store)
	n := w.notice(1, 3)
	n.Incident.Worst = 7
	_ = w.Notify(t.Context(), andon.DefaultTenant, []notify.Notice{n})
	_ = w.pass(t, 5)
	m := w.to.all[0]
	token, _ := strings.CutPrefix(m.Acknowledge, "https://andon.example/acknowledge/")
	is, err := w.Linked(t.Context(), token)
	if err != nil || is.Incident != "i1" || is.By != "Liz" || is.Severity != 7 ||
		m.Link != "https://andon.example/devices/d1" {
		t.Errorf("%+v, %v, %s", is, err, m.Link)
	}
	for _, other := range []string{"", ".", token[1:], "A" + token, token + "A", "e30." + token} {
		if _, err := w.Linked(t.Context(), other); andon.KindOf(err) != andon.Invalid {
			t.Errorf("%q: %v", other, err)
		}
	}
	w.now += 4 * 24 * 60 * 60 * second
	if _, err := w.Linked(t.Context(), token); andon.KindOf(err) != andon.Gone {
		t.Errorf("too old: %v", err)
	}
	want := "Device: d1\nState: FAILURE\nAt worst: severity 7, now 3\n" +
		"Since: 2023-11-14 22:13:20 UTC\nMessage: oil\nOperator: Bob\nWhy: step 1\n\nOpen: "
	if text := m.Text(); !strings.HasPrefix(text, want) {
		t.Errorf("got %s", text)
	}
}
