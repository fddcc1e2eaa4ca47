package groups_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/store/memstore"
)

// fleet is a store with groups, and a clock that only a test moves.
type fleet struct {
	t      *testing.T
	store  andon.Store
	now    andon.Time
	groups *groups.Groups
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, store: memstore.New(), now: andon.MinTime + 1e15}
	f.groups = f.process()
	return f
}

// process is another process on the same store, which counts by its own numbers.
func (f *fleet) process() *groups.Groups {
	return groups.New(&counting{Store: f.store}, func() andon.Time { return f.now })
}

// counting is a store as one of several processes has it.
type counting struct {
	andon.Store
	of atomic.Pointer[func(andon.DeviceID) uint32]
}

func (c *counting) Regroup(
	ctx context.Context, id andon.TenantID, of func(andon.DeviceID) uint32, _ []andon.DeviceID,
) error {
	c.of.Store(&of)
	_, err := c.Tenant(ctx, id)
	return err
}

func (c *counting) Counts(
	ctx context.Context, id andon.TenantID, _ andon.Time,
) (all []andon.StateCount, err error) {
	for d, err := range c.Devices(ctx, id, andon.DeviceQuery{Limit: 1000}) {
		if err != nil {
			return nil, err
		}
		is := andon.StateCount{State: d.State, Count: 1}
		if of := c.of.Load(); of != nil {
			is.Group = (*of)(d.ID)
		}
		all = append(all, is)
	}
	return all, nil
}

func (f *fleet) send(device andon.DeviceID, state andon.State, attributes andon.JSON) {
	f.t.Helper()
	f.now++
	events := []andon.Event{
		{Device: device, Time: f.now, State: state, Attributes: attributes},
	}
	f.must(f.store.Append(f.t.Context(), andon.DefaultTenant, f.now, events))
	f.must(f.groups.Learn(f.t.Context(), andon.DefaultTenant, events))
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func in(device andon.DeviceID, path andon.Group) andon.ProfileChange {
	c := andon.ProfileChange{Fields: andon.ProfileGroup}
	c.Device, c.Group = device, path
	return c
}

func (f *fleet) put(all ...andon.ProfileChange) {
	f.t.Helper()
	f.must(f.groups.Change(f.t.Context(), andon.DefaultTenant, all))
}

// tallies are groups with their devices, as text.
func (f *fleet) tallies(g *groups.Groups) string {
	f.t.Helper()
	all, err := g.Tallies(f.t.Context(), andon.DefaultTenant, "", "", 1000, 0)
	f.must(err)
	text := ""
	for _, t := range all {
		text += fmt.Sprintf("%s:%d", t.Group, t.Devices)
		for _, state := range slices.Sorted(maps.Keys(t.States)) {
			text += fmt.Sprintf(" %s %d", state, t.States[state])
		}
		text += "\n"
	}
	return text
}

func (f *fleet) list(g *groups.Groups, s groups.Selection) (ids []andon.DeviceID) {
	f.t.Helper()
	selected, err := g.Select(f.t.Context(), andon.DefaultTenant, s)
	f.must(err)
	q := andon.DeviceQuery{Limit: 1000}
	for d, err := range g.Devices(f.t.Context(), andon.DefaultTenant, q, selected) {
		f.must(err)
		ids = append(ids, d.ID)
	}
	return ids
}

func want[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestCountsIncludeWhatIsBelow(t *testing.T) {
	f := newFleet(t)
	f.send("a", "NORMAL", "")
	f.send("b", "WARNING2", "")
	f.send("c", "NORMAL", "")
	f.put(in("a", "p/h1"), in("b", "p/h2"),
		in("unseen", "p/h2/l"))
	want(t, f.tallies(f.groups),
		"p:2 NORMAL 1 WARNING2 1\np/h1:1 NORMAL 1\np/h2:1 WARNING2 1\np/h2/l:0\n")
	f.put(in("a", "p/h2/l"), in("unseen", ""))
	want(t, f.tallies(f.groups),
		"p:2 NORMAL 1 WARNING2 1\np/h2:2 NORMAL 1 WARNING2 1\np/h2/l:1 NORMAL 1\n")
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "p/h2"})), "[a b]")
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: andon.NoGroup})), "[c]")
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "p/h"})), "[]")
}

func TestTheFirstRuleThatFitsCounts(t *testing.T) {
	f := newFleet(t)
	f.send("press-1", "NORMAL", `{"line":"L3"}`)
	f.send("press-2", "NORMAL", "")
	f.send("robot-1", "NORMAL", `{"line":"L3"}`)
	f.send("robot-2", "NORMAL", `{"line":3}`)
	f.put(in("press-2", "own"))
	rules := []andon.GroupRule{
		{Prefix: "press-", Group: "presses"}, {Attribute: "line", Equals: "L3", Group: "lines/3"},
		{Attribute: "line", Equals: "3", Group: "lines/three"},
	}
	f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, rules))
	want(t, f.tallies(f.groups), "lines:2 NORMAL 2\nlines/3:1 NORMAL 1\n"+
		"lines/three:1 NORMAL 1\nown:1 NORMAL 1\npresses:1 NORMAL 1\n")
	f.send("robot-1", "NORMAL", `{"speed":3}`) // keeps what is known
	f.send("robot-2", "WARNING1", `{"line":"L3"}`)
	f.send("press-3", "NORMAL", "")
	want(t, f.tallies(f.groups), "lines:2 NORMAL 1 WARNING1 1\nlines/3:2 NORMAL 1 WARNING1 1\n"+
		"lines/three:0\nown:1 NORMAL 1\npresses:2 NORMAL 2\n")
	late := []andon.Event{{Device: "robot-1", Time: f.now - 5, State: "NORMAL",
		Attributes: `{"line":"3"}`}}
	f.must(f.store.Append(t.Context(), andon.DefaultTenant, f.now, late))
	f.must(f.groups.Learn(t.Context(), andon.DefaultTenant, late))
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "lines/3"})), "[robot-1 robot-2]")
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "presses"})), "[press-1 press-3]")
	f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, nil))
	want(t, f.tallies(f.groups), "own:1 NORMAL 1\n")
	f.send("robot-1", "NORMAL", `{"line":"L4"}`) // while no rule goes by it
	f.send("robot-1", "NORMAL", "")
	f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, rules))
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "lines/3"})), "[robot-2]")
}

// interrupted is a store that calls a function once, after it has read a device.
type interrupted struct {
	andon.Store
	then func()
}

func (i *interrupted) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	d, err := i.Store.Device(ctx, id, device)
	if then := i.then; then != nil {
		i.then = nil
		then()
	}
	return d, err
}

// failing is a store that can't read the device a.
type failing struct {
	andon.Store
	kind andon.Kind
}

func (s *failing) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	if device == "a" {
		return andon.Device{}, andon.Errorf(s.kind, "device a")
	}
	return s.Store.Device(ctx, id, device)
}

var lines = []andon.GroupRule{
	{Attribute: "line", Equals: "0", Group: "lines/0"},
	{Attribute: "line", Equals: "1", Group: "lines/1"},
	{Attribute: "line", Equals: "2", Group: "lines/2"},
}

// TestLearnsWhatIsShownInTheEnd: an event arrives while an older one is taken in, and its value is
// still the known one.
func TestLearnsWhatIsShownInTheEnd(t *testing.T) {
	f := newFleet(t)
	store := &interrupted{Store: &counting{Store: f.store}}
	f.groups = groups.New(store, func() andon.Time { return f.now })
	f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, lines))
	f.send("a", "NORMAL", `{"line":1}`)
	store.then = func() { f.send("a", "NORMAL", `{"line":1}`) }
	f.send("a", "NORMAL", `{"line":2}`)
	want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "lines/1"})), "[a]")
}

// yielding is a store that lets other goroutines run after it has read a device.
type yielding struct{ andon.Store }

func (y yielding) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	d, err := y.Store.Device(ctx, id, device)
	for range rand.IntN(1000) {
		runtime.Gosched()
	}
	return d, err
}

// TestLearnsNothingOfDamaged: a device that is damaged, or gone, keeps no other from being learned.
func TestLearnsNothingOfDamaged(t *testing.T) {
	for kind, learns := range map[andon.Kind]bool{
		andon.Damaged: true, andon.NotFound: true, andon.Unavailable: false,
	} {
		f := newFleet(t)
		f.groups = groups.New(&failing{&counting{Store: f.store}, kind},
			func() andon.Time { return f.now })
		f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, lines))
		devices, events := []andon.DeviceID{"a", "b"}, []andon.Event(nil)
		for _, device := range devices {
			events = append(events, andon.Event{
				Device: device, Time: f.now, State: "NORMAL", Attributes: `{"line":1}`,
			})
		}
		f.must(f.store.Append(t.Context(), andon.DefaultTenant, f.now, events))
		for _, err := range []error{
			f.groups.Learn(t.Context(), andon.DefaultTenant, events),
			f.groups.LearnShown(t.Context(), andon.DefaultTenant, devices),
		} {
			if (err == nil) != learns {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if learns {
			want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "lines/1"})), "[b]")
		}
	}
}

func TestLearnsAtTheSameTime(t *testing.T) {
	f := newFleet(t)
	f.groups = groups.New(yielding{&counting{Store: f.store}},
		func() andon.Time { return f.now })
	f.must(f.groups.PutRules(t.Context(), andon.DefaultTenant, lines))
	for range 20 {
		var all sync.WaitGroup
		for _, i := range rand.Perm(8) {
			at := f.now + andon.Time(i) + 1
			events := []andon.Event{{Device: "a", Time: at, State: "NORMAL",
				Attributes: andon.JSON(fmt.Sprintf(`{"line":%d}`, i%len(lines)))}}
			all.Go(func() {
				err := f.store.Append(t.Context(), andon.DefaultTenant, at, events)
				if err == nil {
					err = f.groups.Learn(t.Context(), andon.DefaultTenant, events)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		f.now += 8
		want(t, fmt.Sprint(f.list(f.groups, groups.Selection{Group: "lines/1"})), "[a]") // 7 % 3
	}
}

func TestLabelsAndPlaces(t *testing.T) {
	f := newFleet(t)
	set := func(id andon.DeviceID, kind string, lat float64) {
		f.send(id, "NORMAL", "")
		c := andon.ProfileChange{Fields: andon.ProfileAll}
		c.Device, c.Labels = id, map[string]string{"kind": kind}
		c.Location = &andon.Location{Lat: lat, Lon: 13.4}
		f.put(c)
	}
	set("a", "press", 52.5)
	set("b", "press", 52.51) // 1,112 m away
	set("c", "robot", 52.5)
	f.send("d", "NORMAL", "")
	press := groups.Selection{Labels: map[string]string{"kind": "press"}}
	want(t, fmt.Sprint(f.list(f.groups, press)), "[a b]")
	near := groups.Selection{Near: &andon.Location{Lat: 52.5, Lon: 13.4}, Within: 1_111}
	want(t, fmt.Sprint(f.list(f.groups, near)), "[a c]")
	near.Within = 1_113
	want(t, fmt.Sprint(f.list(f.groups, near)), "[a b c]")
	near.Group = "none"
	want(t, fmt.Sprint(f.list(f.groups, near)), "[a b c]")
	for _, want := range []bool{true, false} {
		forgot, err := f.groups.Forget(t.Context(), andon.DefaultTenant, "a")
		if f.must(err); forgot != want {
			t.Errorf("it forgot something: %t, not %t", forgot, want)
		}
	}
	want(t, fmt.Sprint(f.list(f.groups, press)), "[b]")
}

// TestProcesses compares two processes that change one store at random, and one that starts at the
// end, with what was asked for.
func TestProcesses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := newFleet(t)
	both := []*groups.Groups{f.groups, f.process()}
	const devices = 60
	is := map[andon.DeviceID]andon.Group{}
	for i := range devices {
		f.send(andon.DeviceID(fmt.Sprintf("d%02d", i)), "NORMAL", "")
	}
	for round := range 200 {
		var all []andon.ProfileChange
		for range 1 + r.IntN(3) {
			c := in(andon.DeviceID(fmt.Sprintf("d%02d", r.IntN(devices))),
				andon.Group([]string{"", "a", "a/b", "a/b/c", "d", "d/e"}[r.IntN(6)]))
			all = append(all, c)
			is[c.Device] = c.Group
		}
		f.must(both[r.IntN(2)].Change(t.Context(), andon.DefaultTenant, all))
		if round%20 > 0 {
			continue
		}
		f.now += andon.Time(recent.Age.Microseconds())
		for _, g := range append(both, f.process()) {
			for _, path := range []andon.Group{"a", "a/b", "a/b/c", "d", "d/e", andon.NoGroup} {
				var expected []andon.DeviceID
				for i := range devices {
					id := andon.DeviceID(fmt.Sprintf("d%02d", i))
					if is[id].Within(path) || path == andon.NoGroup && is[id] == "" {
						expected = append(expected, id)
					}
				}
				got := f.list(g, groups.Selection{Group: path})
				want(t, fmt.Sprint(path, got), fmt.Sprint(path, expected))
				f.counts(g, path, len(expected))
			}
		}
	}
}

// counts compares how many devices of a group are counted.
func (f *fleet) counts(g *groups.Groups, path andon.Group, devices int) {
	f.t.Helper()
	s, err := g.Select(f.t.Context(), andon.DefaultTenant, groups.Selection{Group: path})
	f.must(err)
	counts, err := g.Counts(f.t.Context(), andon.DefaultTenant, s, 0)
	f.must(err)
	n := 0
	for _, c := range counts {
		n += c.Count
	}
	want(f.t, n, devices)
}

// limited is a store that notes the greatest limit that devices are listed with.
type limited struct {
	andon.Store
	limit int
}

func (l *limited) Devices(
	ctx context.Context, id andon.TenantID, q andon.DeviceQuery,
) iter.Seq2[andon.Device, error] {
	l.limit = max(l.limit, q.Limit)
	return l.Store.Devices(ctx, id, q)
}

// TestAllDevicesHaveALimitThatStoresCanMultiply: they choose the size of a page by it.
func TestAllDevicesHaveALimitThatStoresCanMultiply(t *testing.T) {
	f := newFleet(t)
	f.send("a", "NORMAL", "Liz")
	l := &limited{Store: f.store}
	g := groups.New(l, func() andon.Time { return f.now })
	s, err := g.Select(t.Context(), andon.DefaultTenant, groups.Selection{Group: andon.NoGroup})
	f.must(err)
	q := andon.NameQuery{Limit: 10}
	for _, err := range g.People(t.Context(), andon.DefaultTenant, q, s) {
		f.must(err)
	}
	if l.limit = 4 * l.limit; l.limit <= 0 {
		t.Errorf("four times the limit is %d", l.limit)
	}
}

// TestProfilesOfADeletedTenant: one of the same name has none of them, although what was known of
// the first one could not be taken back while it was gone.
func TestProfilesOfADeletedTenant(t *testing.T) {
	f := newFleet(t)
	create := func() {
		_, err := f.store.PutTenant(t.Context(), andon.NewTenant("x"))
		f.must(err)
	}
	create()
	f.must(f.groups.Change(t.Context(), "x", []andon.ProfileChange{in("a", "p"), in("b", "p/h")}))
	f.must(f.store.DeleteTenant(t.Context(), "x"))
	if _, err := f.groups.Profiles(t.Context(), "x", "", 10); andon.KindOf(err) != andon.NotFound {
		t.Errorf("of a tenant that is gone: %v", err)
	}
	create() // within the same second
	all, err := f.groups.Profiles(t.Context(), "x", "", 10)
	f.must(err)
	want(t, len(all), 0)
}

// broken is a store whose n-th call of a record fails.
type broken struct {
	andon.Store
	left atomic.Int64
}

func (b *broken) fail() error {
	if b.left.Add(-1) == 0 {
		return andon.Errorf(andon.Unavailable, "broken on purpose")
	}
	return nil
}

func (b *broken) Record(
	ctx context.Context, id andon.TenantID, kind andon.RecordKind, name string,
) (andon.Record, error) {
	if err := b.fail(); err != nil {
		return andon.Record{}, err
	}
	return b.Store.Record(ctx, id, kind, name)
}

func (b *broken) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := b.fail(); err != nil {
		return r, err
	}
	return b.Store.PutRecord(ctx, r)
}

// TestFaults: whichever call fails, doing it again completes it, and other processes hear of it.
func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		f := newFleet(t)
		f.send("a", "NORMAL", "")
		other := f.process()
		want(t, f.tallies(other), "")
		b := &broken{Store: &counting{Store: f.store}}
		g := groups.New(b, func() andon.Time { return f.now })
		want(t, f.tallies(g), "")
		b.left.Store(int64(n))
		put := func(g *groups.Groups) error {
			return g.Change(t.Context(), andon.DefaultTenant, []andon.ProfileChange{in("a", "p/h")})
		}
		err := put(g)
		again := f.process() // as after a crash
		want(t, f.tallies(again) != "x", true)
		f.must(put(again))
		f.now += andon.Time(recent.Age.Microseconds())
		b.left.Store(0)
		for _, g := range []*groups.Groups{g, other, again} {
			want(t, f.tallies(g), "p:1 NORMAL 1\np/h:1 NORMAL 1\n")
		}
		if err == nil {
			return
		}
	}
}

// TestReadsWhatChanged: a process that knows that nothing was there reads what is new, and one that
// knows too little lists all.
func TestReadsWhatChanged(t *testing.T) {
	f := newFleet(t)
	b := &broken{Store: &counting{Store: f.store}} // it counts calls
	g := groups.New(b, func() andon.Time { return f.now })
	tallies := func(want string, calls int64) {
		t.Helper()
		f.now += andon.Time(recent.Age.Microseconds())
		b.left.Store(0)
		if got := f.tallies(g); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if n := -b.left.Load(); n > calls {
			t.Errorf("%d records were read, not %d", n, calls)
		}
	}
	tallies("", 1)
	f.put(in("a", "p"))
	tallies("p:0\n", 2)
	f.put(in("a", "q"))
	tallies("q:0\n", 2)
	for i := range 600 {
		f.put(in(andon.DeviceID(fmt.Sprintf("d%d", i)), "r"), in("a", ""))
	}
	tallies("r:0\n", 1)
	g = groups.New(b, func() andon.Time { return f.now })
	tallies("r:0\n", 1)
}
