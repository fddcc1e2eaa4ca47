package cassandrastore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestSerialRandomStatements delivers a few entries of one device from several processes at once,
// with the statements of all of them in any order: processes that saw the device long ago, one that
// ended in between, statements that land twice. When all have landed the answers are those of the
// reference, before any device is reviewed and after.
func TestSerialRandomStatements(t *testing.T) {
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			o := sharedKeyspace(t, design)
			o.Recount, o.pace = time.Hour, neverAlone // what is in progress is of others
			one, two := open(t, o), open(t, o)
			for range 6 {
				seed := uint64(rand.Uint32())
				m := newMelee(t, seed, one, two)
				m.fight()
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, strings.Join(m.steps, "\n"))
				}
			}
		})
	}
}

// TestWithdrawWhileDelivered withdraws the newest entry while the one before comes again
// with other content: that delivery has seen the newest, and does not show its own.
func TestWithdrawWhileDelivered(t *testing.T) {
	o := sharedKeyspace(t, designs.Names()[0])
	o.Recount, o.pace = time.Hour, neverAlone
	m := newMelee(t, 1, open(t, o), open(t, o))
	older := andon.Event{Device: m.device, Time: m.at, State: "NORMAL", Operator: "Liz"}
	newer := andon.Event{Device: m.device, Time: m.at + 1, State: "NORMAL"}
	m.deliver([]andon.Event{older})
	m.deliver([]andon.Event{newer})
	older.Operator, older.Message = "Tom", "again"
	again := m.prepare([]andon.Event{older}, false)
	m.advance(again) // has looked
	m.withdraw(newer)
	for !m.advance(again) {
		continue
	}
	m.review()
	m.compare("after the reviews", false)
}

// melee is what is delivered of one device.

type melee struct {
	*testing.T
	*rand.Rand
	stores   [2]*Store
	want     *memstore.Store
	device   andon.DeviceID
	at       andon.Time
	steps    []string      // what was done, in order
	kept     []andon.Event // acknowledged
	sent     []andon.Event // all that was begun
	withdrew bool
}

func newMelee(t *testing.T, seed uint64, one, two *Store) *melee {
	return &melee{
		T: t, Rand: rand.New(rand.NewPCG(seed, 0)), stores: [2]*Store{one, two},
		want:   memstore.New(),
		device: andon.DeviceID(fmt.Sprintf("d%d", seed)),
		// Round, so that a difference can be read.
		at: andon.DayStart(realClock().Day()) - 3_600_000_000,
	}
}

// delivery is one Append as its statements. Each is a process of its own, since one that gave up an
// Append may have statements of it under way.
type delivery struct {
	name   string
	store  *Store
	append *appending
	rest   []cql.Mutation
	dies   bool // before it writes the marks
	step   int
}

// fight does what was drawn, and compares.
func (m *melee) fight() {
	for range m.IntN(4) {
		sent := m.draw(1 + m.IntN(3))
		m.deliver(sent)
		m.kept = append(m.kept, sent...)
	}
	var under []*delivery
	sent := m.draw(1 + m.IntN(2))
	under = append(under, m.prepare(sent, m.IntN(4) == 0))
	for range 2 + m.IntN(2) {
		under = append(under, m.prepare(m.draw(1+m.IntN(2)), false))
	}
	under = append(under, m.prepare(sent, false))
	for len(under) > 0 {
		if m.IntN(8) == 0 {
			m.withdrawAny()
		}
		i := m.IntN(len(under))
		if m.advance(under[i]) {
			under = slices.Delete(under, i, i+1)
		}
	}
	// A process that did not know of a withdrawal may have noted no state for what is newest now.
	m.compare("before any review", m.withdrew)
	m.review()
	m.compare("after the reviews", false)
}

// withdrawAny withdraws an entry that was acknowledged, while others are under way that are older
// or newer than it, or the same.
func (m *melee) withdrawAny() {
	if len(m.kept) > 0 {
		m.withdraw(pickOne(m.Rand, m.kept...))
	}
}

func (m *melee) withdraw(e andon.Event) {
	w := andon.Withdrawal{Device: e.Device, Time: e.Time, State: e.State, At: m.at}
	m.withdrew = true
	m.steps = append(m.steps, fmt.Sprintf("withdraw %v", brief([]andon.Event{e})))
	for _, s := range []andon.Store{m.want, m.stores[m.IntN(2)]} {
		if _, _, err := s.Withdraw(m.Context(), andon.DefaultTenant, w); err != nil {
			m.Fatal(err)
		}
	}
}

// draw draws entries that meet: at few times, in few states.
func (m *melee) draw(n int) []andon.Event {
	var events []andon.Event
	for range n {
		events = append(events, andon.Event{
			Device: m.device, Time: m.at + andon.Time(m.IntN(5)),
			State:    pickOne[andon.State](m.Rand, "NORMAL", "WARNING1", "WARNING2", "ODD"),
			Operator: pickOne[andon.PersonID](m.Rand, "", "Liz", "Tom"),
			Message:  fmt.Sprint(m.IntN(100)),
		})
	}
	return andon.SortBatch(events)
}

func pickOne[T any](r *rand.Rand, items ...T) T { return items[r.IntN(len(items))] }

// deliver is an Append that nothing comes between.
func (m *melee) deliver(events []andon.Event) {
	d := m.prepare(events, false)
	for !m.advance(d) {
		continue
	}
}

// prepare begins an Append. The reference gets them in the order of the beginnings, since of two
// deliveries the later one's content wins.
func (m *melee) prepare(events []andon.Event, dies bool) *delivery {
	s := m.stores[m.IntN(2)]
	t, err := s.tenant(m.Context(), andon.DefaultTenant)
	if err != nil {
		m.Fatal(err)
	}
	d := &delivery{name: fmt.Sprintf("%c%v", 'A'+len(m.steps)%26, brief(events)), store: s}
	d.dies = dies
	m.sent = append(m.sent, slices.Clone(events)...)
	d.append = &appending{
		store: s, working: s.working.Load(), tenant: t, received: m.at,
		stamp:   m.stores[0].stamp(),
		index:   s.newIndexRows(t.Key, s.ttl(andon.Forever)),
		devices: []*deviceAppend{{events: events, slot: &slot{}}},
	}
	m.steps = append(m.steps, "begin "+d.name)
	if !dies {
		sent := slices.Clone(events)
		if err := m.want.Append(m.Context(), andon.DefaultTenant, m.at, sent); err != nil {
			m.Fatal(err)
		}
	}
	return d
}

func brief(events []andon.Event) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d %s", e.Time%10, e.State))
	}
	return all
}

// advance takes one step of a delivery, and reports whether that was the last.
func (m *melee) advance(d *delivery) (done bool) {
	a, one := d.append, d.append.devices[0]
	d.step++
	switch {
	case d.step == 1: // what it sees may be old when it writes
		v, err := d.store.readView(m.Context(), a.tenant, m.device, false)
		if err != nil {
			m.Fatal(err)
		}
		one.was, one.answers = v, rows.Named(one.events)
		a.prepare(one)
		d.rest = m.statements(a)
		m.steps = append(m.steps, fmt.Sprintf("%s sees %v", d.name, v.States))
	case len(d.rest) > 0:
		m.steps = append(m.steps, fmt.Sprintf("%s: %s", d.name, d.rest[0][0].Text[:30]))
		if err := d.store.db.Write(m.Context(), d.rest[:1]...); err != nil {
			m.Fatal(err)
		}
		d.rest = d.rest[1:]
		return len(d.rest) == 0 && d.dies
	default:
		d.store.written.Add(a.index.Sums)
		if err := a.writeStarts(m.Context()); err != nil {
			m.Fatal(err)
		}
		a.finish(one)
		m.steps = append(m.steps, fmt.Sprintf("%s ends: run %+v, incident %+v", d.name, one.run,
			one.incident))
		return true
	}
	return false
}

// statements are those of an Append before its marks, each alone and some twice, in any order.
func (m *melee) statements(a *appending) (all []cql.Mutation) {
	for _, whole := range append(a.log, a.index.Rows...) {
		for _, one := range whole {
			all = append(all, cql.Mutation{one})
		}
	}
	all = append(all, all[m.IntN(len(all))])
	m.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// review reviews the device, as both processes have planned to.
func (m *melee) review() {
	for _, s := range m.stores {
		for _, at := range s.reviews.Due(s.now().Add(time.Hour), reviewsAtOnce) {
			if at.Device == m.device {
				if err := s.reviewDevice(m.Context(), at); err != nil {
					m.Fatal(err)
				}
			}
		}
	}
}

// compare compares all answers about the device of both processes and the reference. Until a
// withdrawal is settled, lists may lack the device.
func (m *melee) compare(when string, unsettled bool) {
	m.Helper()
	want := askAll(m.T, m.want, andon.DefaultTenant, m.device)
	for i, s := range m.stores {
		got := askAll(m.T, s, andon.DefaultTenant, m.device)
		if unsettled {
			got.In = want.In
			m.allowEarlier(&got.Device, &want.Device)
		}
		if d := diff(want, got); d != "" {
			m.Errorf("%s, process %d (-want +got):\n%s", when, i+1, d)
		}
	}
}

// allowEarlier takes what an earlier delivery of its newest entry said for what a device has to
// show. A withdrawal of a newer one finds that in the log while the later delivery, which knows of
// no withdrawal, is under way; then a review reads the log again.
func (m *melee) allowEarlier(got, want *andon.Device) {
	for i := range m.sent {
		e := &m.sent[i]
		if e.Time == want.Time && e.State == want.State && e.Message == got.Message {
			got.Message = want.Message
			if e.Operator == got.Operator {
				got.Operator = want.Operator
			}
			return
		}
	}
}

// diff returns where two answers differ. None is none, whether nil or empty.
func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// answer is all that a store says of one device.
type answer struct {
	Device    andon.Device
	Kind      string // of the error in place of Device
	In        map[andon.State][]andon.DeviceID
	Entries   []andon.Entry
	Intervals []andon.Interval
}

// askAll asks all of one device.
func askAll(t *testing.T, s andon.Store, tenant andon.TenantID, device andon.DeviceID) answer {
	t.Helper()
	ctx := t.Context()
	a := answer{In: map[andon.State][]andon.DeviceID{}}
	var err error
	if a.Device, err = s.Device(ctx, tenant, device); err != nil {
		a.Kind = andon.KindOf(err).String()
	}
	for _, state := range []string{"NORMAL", "WARNING1", "WARNING2", "WARNING*", "ODD", ""} {
		filter, err := andon.ParseStateFilter(state)
		if err != nil {
			t.Fatal(err)
		}
		q := andon.DeviceQuery{States: filter, Prefix: string(device), Limit: 10}
		for _, d := range gather(t, s.Devices(ctx, tenant, q)) {
			if d.ID == device {
				a.In[andon.State(state)] = append(a.In[andon.State(state)], d.ID)
			}
		}
	}
	all := andon.EventQuery{Order: andon.Asc, Limit: 1000}
	for _, e := range gather(t, s.DeviceEvents(ctx, tenant, device, all)) {
		entry, err := s.Entry(ctx, tenant, e.Device, e.Time, e.State)
		if err != nil {
			t.Error(err)
		}
		a.Entries = append(a.Entries, entry)
	}
	is, err := s.Tenant(ctx, tenant)
	if err != nil {
		t.Fatal(err)
	}
	q := andon.EventQuery{Limit: 1000}
	a.Intervals = gather(t, andon.Intervals(ctx, s, tenant, is.States, device, q))
	return a
}

// gather reads a list to its end.
func gather[T any](t *testing.T, list func(yield func(T, error) bool)) (all []T) {
	t.Helper()
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}
