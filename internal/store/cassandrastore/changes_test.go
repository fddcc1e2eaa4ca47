package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/records"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// changesAfter reads the feed of a tenant after a position, and where it ends.
func changesAfter(
	t *testing.T, s *Store, tenant andon.TenantID, at andon.Position,
) ([]andon.Change, andon.Position) {
	t.Helper()
	all := gather(t, s.Changes(t.Context(), tenant, at))
	if len(all) > 0 {
		at = all[len(all)-1].Position
	}
	return all, at
}

// checkFeed checks that a feed has each change once, that Before of each is After of the one
// before, and that it leads to what the devices show.
func checkFeed(t *testing.T, s *Store, tenant andon.TenantID, at andon.Position) {
	t.Helper()
	all, _ := changesAfter(t, s, tenant, at)
	shown := map[andon.DeviceID]andon.Device{}
	for i, c := range all {
		if c.Kind == andon.OfTenant {
			continue
		}
		var before *andon.Device
		if d, ok := shown[c.Device]; ok {
			before = &d
		}
		if !andon.ShowAlike(before, c.Before) || andon.ShowAlike(c.Before, c.After) {
			t.Errorf("change %d of %d, of %s: it was %+v, and changes from %+v to %+v", i, len(all),
				c.Device, before, c.Before, c.After)
		}
		c.Fold(shown)
	}
	for d, err := range s.Devices(t.Context(), tenant, andon.DeviceQuery{Limit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		is, ok := shown[d.ID]
		if delete(shown, d.ID); !ok || !andon.ShowAlike(&is, &d) {
			t.Errorf("%d changes lead to %+v, and %+v is shown", len(all), is, d)
		}
	}
	if len(shown) > 0 {
		t.Errorf("%d changes lead to %v, which show nothing", len(all), shown)
	}
}

// twoOnAFeed returns two processes on a tenant, and where its feed is.
func twoOnAFeed(t *testing.T) (one, two *Store, tenant andon.TenantID, at andon.Position) {
	t.Helper()
	o := sharedKeyspace(t, "buckets")
	one, two = open(t, o), open(t, o)
	tenant = ownTenant(t, one)
	_, at, err := two.ChangesKept(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return one, two, tenant, at
}

// TestChangesOfAnotherProcess: a process that waits for a change sees that of another one soon, and
// each change once.
func TestChangesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	one, two, tenant, at := twoOnAFeed(t)
	first, from, longest := at, realClock()-1_000_000_000, time.Duration(0)
	for i := range 10 {
		device := andon.DeviceID(fmt.Sprintf("d%d", i%2))
		e := andon.Event{
			Device: device, Time: from + andon.Time(i), State: andon.State(fmt.Sprint(i)),
		}
		s := []*Store{one, two}[i%3%2]
		if err := s.Append(t.Context(), tenant, realClock(), []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var seen []andon.Change
		for len(seen) == 0 {
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			err := two.AwaitChange(ctx, tenant, at)
			if end(); err != nil {
				t.Fatal(err)
			}
			seen, at = changesAfter(t, two, tenant, at)
		}
		longest = max(longest, time.Since(began))
		if len(seen) != 1 || seen[0].Device != device || seen[0].After.State != e.State {
			t.Fatalf("after entry %d the feed has %+v", i, seen)
		}
	}
	t.Logf("a change was seen within %s", longest)
	checkFeed(t, one, tenant, first)
}

// TestChangeOfAFasterProcess: a reader whose change another process was faster to append does not
// read the device again, which may have changed once more: the feed has what the reader saw. Else a
// reader would chase a device that changes all the time.
func TestChangeOfAFasterProcess(t *testing.T) {
	t.Parallel()
	one, two, tenant, begin := twoOnAFeed(t)
	e := andon.Event{Device: "d", Time: realClock(), State: "A"}
	leave(t, one, tenant, e)
	is, err := two.tenant(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	v, err := two.readView(t.Context(), is, e.Device, false)
	if err != nil {
		t.Fatal(err)
	}
	c := two.comparison(is, e.Device, v.pending)
	c.other = true
	if err := c.compare(t.Context()); err != nil || !c.differs {
		t.Fatalf("it differs: %t, %v", c.differs, err)
	}
	if _, err := one.Device(t.Context(), tenant, e.Device); err != nil { // it is faster
		t.Fatal(err)
	}
	e.Time, e.State = e.Time+1, "B"
	leave(t, one, tenant, e)
	if err := two.Logs.ForTenant(is.Tenant).Append(t.Context(), c.change()); err != nil {
		t.Fatal(err)
	}
	if err := c.end(t.Context()); err != nil || !c.done || c.shows.State != "A" {
		t.Errorf("it is done: %t, %v; it shows %+v", c.done, err, c.shows)
	}
	if d, err := two.Device(t.Context(), tenant, e.Device); err != nil || d.State != "B" {
		t.Errorf("then it shows %+v, %v", d, err)
	}
	checkFeed(t, two, tenant, begin) // the mark of B was still there
}

// TestChangesLeftBehind: a process that ends between a write and its change leaves a mark, by which
// the next reader or the next count of all devices completes the feed.
func TestChangesLeftBehind(t *testing.T) {
	t.Parallel()
	one, two, tenant, begin := twoOnAFeed(t)
	at, first := realClock()-1_000_000_000, begin
	for i, complete := range []func(device andon.DeviceID) error{
		func(device andon.DeviceID) error { // reads it
			_, err := two.Device(t.Context(), tenant, device)
			return err
		},
		func(device andon.DeviceID) error { // writes to it
			e := andon.Event{Device: device, Time: at + 9, State: "B"}
			return two.Append(t.Context(), tenant, realClock(), []andon.Event{e})
		},
		func(andon.DeviceID) error { return two.countAll(t.Context()) },
	} {
		device := andon.DeviceID(fmt.Sprintf("d%d", i))
		leave(t, one, tenant, andon.Event{Device: device, Time: at, State: "A"})
		if err := complete(device); err != nil {
			t.Fatal(err)
		}
		all, end := changesAfter(t, two, tenant, first)
		if len(all) == 0 || all[0].Device != device || all[0].After.State != "A" ||
			all[0].Entry != (andon.EntryRef{Time: at, State: "A"}) {
			t.Fatalf("%s: the feed has %+v", device, all)
		}
		first = end
	}
	checkFeed(t, one, tenant, begin)
}

// TestPagesKeepBytes: the driver writes the bytes of a row over those of the row before, where they
// fit. A page has its own of each row.
func TestPagesKeepBytes(t *testing.T) {
	t.Parallel()
	s := open(t, sharedKeyspace(t, "buckets"))
	items := records.Items{DB: s.db, Now: s.now, Stamp: s.stamp}
	texts := []string{"the longest of them", "shorter", "s"}
	for i, text := range texts {
		item := changelog.Item{Number: uint64(i), At: realClock(), Data: []byte(text)}
		if inserted, err := items.Insert(t.Context(), t.Name(), item); err != nil || !inserted {
			t.Fatal(inserted, err)
		}
	}
	q := cql.Ask("SELECT data FROM changes WHERE part = ?", 1)
	into := func(data *[]byte) []any { return []any{data} }
	var got []string
	var rows [][]byte
	for data, err := range cql.Pages(s.db, q, []any{t.Name()}, 10, into).Each(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, data)
	}
	for _, data := range rows {
		got = append(got, string(data))
	}
	if !slices.Equal(got, texts) {
		t.Errorf("got %q, want %q", got, texts)
	}
}

// leave appends an entry like a process that ends before it appends to the feed.
func leave(t *testing.T, s *Store, id andon.TenantID, e andon.Event) {
	t.Helper()
	tenant, err := s.tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	stamp := s.stamp() - 60_000_000 // so that it is not in progress
	cause, err := s.pending(t.Context(), tenant, andon.ByEntry, stamp)
	if err != nil {
		t.Fatal(err)
	}
	a := &appending{
		store: s, working: s.working.Load(), tenant: tenant, received: realClock(), stamp: stamp,
		index: s.newIndexRows(tenant.Key, s.ttl(andon.Forever)), cause: cause,
		devices: []*deviceAppend{{events: []andon.Event{e}, was: &view{}}},
	}
	d := a.devices[0]
	d.answers = []andon.PersonID{""}
	a.prepare(d)
	if d.cause == nil {
		t.Fatal("the device has no mark")
	}
	if err := a.index.Write(t.Context(), a.log...); err != nil {
		t.Fatal(err)
	}
}

// TestChangesOfOneProcess: a process that is the only writer compares what it has in memory.
func TestChangesOfOneProcess(t *testing.T) {
	t.Parallel()
	s := open(t, newKeyspace(t, "buckets"))
	tenant := ownTenant(t, s)
	at, i := realClock()-1_000_000_000, 0
	_, first, err := s.ChangesKept(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	next := func(state andon.State) {
		t.Helper()
		i++
		e := andon.Event{Device: "d", Time: at + andon.Time(i), State: state}
		if err := s.Append(t.Context(), tenant, realClock(), []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
		checkFeed(t, s, tenant, first)
	}
	next("A")
	eventually(t, func() error {
		if s.processes.Alone() == 0 {
			return errors.New("the process is not alone")
		}
		return nil
	})
	for _, state := range []andon.State{"A", "A", "B", "NORMAL", "NORMAL", "B", "A"} {
		next(state)
	}
	if all, _ := changesAfter(t, s, tenant, first); len(all) != 5 {
		t.Errorf("the feed has %d changes: %+v", len(all), all)
	}
}

// TestSerialMarkAfterFormerMarks: an append whose timestamp is older than that of an append which
// has ended marks its device nevertheless.
func TestSerialMarkAfterFormerMarks(t *testing.T) {
	s := open(t, sharedKeyspace(t, "state"))
	id := ownTenant(t, s)
	tenant, err := s.tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	now, w := s.options.Now(), s.working.Load()
	slow := &appending{
		store: s, working: w, tenant: tenant, received: now, stamp: s.stamp(),
		index: s.newIndexRows(tenant.Key, s.ttl(w.Retention)),
		devices: []*deviceAppend{{events: []andon.Event{
			{Device: "d", Time: now + 1, State: "WARNING2"},
		}}},
	}
	marked := func() (stamp int64) {
		_, err := s.db.OneAt(t.Context(), cql.Quorum, "SELECT writetime(pending) FROM "+
			"latest_by_device WHERE tenant = ? AND device = ? LIMIT 1",
			[]any{tenant.Key, "d"}, &stamp)
		if err != nil {
			t.Fatal(err)
		}
		return stamp
	}
	err = s.Append(t.Context(), id, now, []andon.Event{
		{Device: "d", Time: now, State: "WARNING1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	former := marked()
	_, slots, err := s.take(t.Context(), tenant, "d")
	if err != nil {
		t.Fatal(err)
	}
	defer slots.Give()
	if err := slow.run(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	if stamp := marked(); former == 0 || stamp <= former {
		t.Errorf("the mark is of %d, and the former one of %d", stamp, former)
	}
}

// TestSerialMarkOfAWriteInProgress: a late entry is in the log before its append has ended, and
// readers learn of it there. The mark is there before it, and stays after a reader has met it, so
// the feed has the change before anybody is shown it.
func TestSerialMarkOfAWriteInProgress(t *testing.T) {
	s := open(t, sharedKeyspace(t, "state"))
	id := ownTenant(t, s)
	tenant, err := s.tenant(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	at := s.options.Now() - 60_000_000
	first := []andon.Event{{Device: "d", Time: at, State: "WARNING1"}}
	if err := s.Append(t.Context(), id, s.options.Now(), first); err != nil {
		t.Fatal(err)
	}
	_, position, err := s.ChangesKept(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, slots, err := s.take(t.Context(), tenant, "d")
	if err != nil {
		t.Fatal(err)
	}
	defer slots.Give()
	if err := s.views(t.Context(), tenant, slots, 0); err != nil {
		t.Fatal(err)
	}
	a := &appending{
		store: s, working: s.working.Load(), tenant: tenant, received: s.options.Now(),
		stamp: s.stamp(), index: s.newIndexRows(tenant.Key, s.ttl(andon.Forever)),
	}
	a.cause, err = s.pending(t.Context(), tenant, andon.ByEntry, s.stamp())
	if err != nil {
		t.Fatal(err)
	}
	late := []andon.Event{{Device: "d", Time: at - 1_000_000, State: "WARNING1"}}
	d := &deviceAppend{
		events: late, answers: []andon.PersonID{""}, slot: slots.Slots[0], was: slots.Slots[0].View,
	}
	a.prepare(d)
	showsSince := func(want andon.Time) {
		t.Helper()
		shown, err := s.Device(t.Context(), id, "d")
		if err != nil || shown.Since != want {
			t.Fatalf("it is so since %s, want %s, %v", shown.Since, want, err)
		}
		newest := at
		for c, err := range s.Changes(t.Context(), id, position) {
			if err != nil {
				t.Fatal(err)
			}
			newest = c.After.Since
		}
		if newest != want {
			t.Errorf("the device is so since %s, and the feed says %s", want, newest)
		}
	}
	if len(a.marks) != 1 {
		t.Fatalf("%d marks are written before a late entry", len(a.marks))
	}
	for _, step := range [][]cql.Mutation{a.marks, a.log[:1], a.log[1:]} {
		if err := s.db.Write(t.Context(), step...); err != nil {
			t.Fatal(err)
		}
		if want := at; &step[0] == &a.marks[0] {
			showsSince(want)
		} else {
			showsSince(late[0].Time)
		}
	}
}
