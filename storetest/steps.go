package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/storecheck"
)

// step is one thing that is done to both stores.
type step struct {
	text       string
	wait       andon.Duration                // how far the clock runs before
	start      start                         // the store is opened again before
	checkpoint bool                          // the store writes one before
	do         request                       // nil: nothing else
	concurrent request                       // nil: nothing at the same time
	lookups    int                           // more than 0: at first, do is given up after so many
	mayLack    bool                          // it is the same whether or not there was something
	compare    bool                          // everything is compared after it
	deletes    andon.TenantID                // the tenant that is deleted; absent: none
	needs      func(andon.Capabilities) bool // nil: every store can
}

type request func(context.Context, *subject) (any, error)

type start int

const (
	goesOn   start = iota // it does not
	reopened              // after it was closed
	crashed               // after its power was cut
)

// run does the requests of a step and returns what comes of them.
func (s *step) run(ctx context.Context, on *subject, parallel bool) (any, error) {
	if s.concurrent == nil {
		return s.do(ctx, on)
	}
	var first, second any
	var both sync.WaitGroup
	both.Go(func() { first = outcome(s.do(ctx, on)) })
	if !parallel {
		both.Wait()
	}
	both.Go(func() { second = outcome(s.concurrent(ctx, on)) })
	both.Wait()
	return []any{first, second}, nil
}

const (
	second = andon.Duration(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// generator draws the steps of one history. It remembers what it sent, to send it again.
type generator struct {
	*rand.Rand
	now     andon.Time
	tenants []andon.TenantID
	kind    andon.RecordKind
	// expires says that entries may expire. Then severities of states are left alone, and nothing
	// is withdrawn: a store goes by the history that it still has.
	expires bool
	devices []andon.DeviceID // a few, so that steps meet
	states  []andon.State    // a few, so that runs and incidents come about
	sent    map[andon.TenantID][]andon.Event
}

func newHistory(seed uint64, length int) history {
	g := &generator{
		Rand: rand.New(rand.NewPCG(seed, 0)),
		now:  beginning(),
		kind: recordKind(seed),
		sent: map[andon.TenantID][]andon.Event{},
	}
	g.expires = g.IntN(2) == 0
	g.draw()
	for _, name := range []string{"a", "b"} {
		id := andon.TenantID(fmt.Sprintf("andon-history-%d-%s", seed, name))
		g.tenants = append(g.tenants, id)
	}
	h := history{seed: seed, tenants: g.tenants}
	for i := range length {
		s := g.step()
		s.wait = g.wait()
		g.now = g.now.Add(s.wait)
		s.compare = i%8 == 7
		h.steps = append(h.steps, s)
	}
	h.entries = g.entries()
	h.devices = g.devices
	return h
}

func (g *generator) draw() {
	near := []andon.DeviceID{"d1", "d2", "d", "d#1", "d/1", "d!", "🏭", "dÿ"}
	for range 1 + g.IntN(3) {
		g.devices = append(g.devices, pick(g, near))
	}
	g.devices = append(g.devices, andon.DeviceID(pick(g, storecheck.StrangeIDs())))
	g.states = []andon.State{"NORMAL", "WARNING1"}
	for range 1 + g.IntN(3) {
		g.states = append(g.states, pick(g, states))
	}
}

// entries returns the entries that were sent, each once. One without a time is found by its device.
func (g *generator) entries() map[andon.TenantID][]andon.Event {
	each := map[andon.TenantID][]andon.Event{}
	for tenant, sent := range g.sent {
		timed := slices.DeleteFunc(sent, func(e andon.Event) bool { return e.Time == 0 })
		each[tenant] = andon.SortBatch(timed)
	}
	return each
}

// wait draws how far the clock runs between two steps: mostly a little, rarely days.
func (g *generator) wait() andon.Duration {
	switch n := g.IntN(20); {
	case n < 6:
		return 0
	case n < 14:
		return andon.Duration(g.IntN(300)) * second
	case n < 19:
		return andon.Duration(g.IntN(8)) * hour
	}
	return andon.Duration(g.IntN(4)) * day
}

func (g *generator) step() step {
	draws := []struct {
		weight int
		draw   func() step
	}{
		{40, g.append}, {12, g.measure}, {8, g.assign}, {12, g.escalate}, {6, g.retire},
		{6, g.withdraw}, {2, g.purge}, {3, g.restore},
		{3, g.changeStates}, {4, g.retention}, {4, g.expire}, {1, g.deleteTenant}, {4, g.reopen},
		{4, g.crash}, {4, g.checkpoint}, {7, g.concurrently},
		{10, g.record}, {12, g.group},
	}
	n := g.IntN(142)
	for _, d := range draws {
		if n -= d.weight; n < 0 {
			return d.draw()
		}
	}
	panic("storetest: the weights do not add up")
}

func pick[T any](g *generator, items []T) T { return items[g.IntN(len(items))] }

// device draws one of a few, the first most often, so that histories meet.
func (g *generator) device() andon.DeviceID {
	if g.IntN(2) == 0 {
		return g.devices[0]
	}
	return pick(g, g.devices)
}

var people = []andon.PersonID{"Liz", "Tom", "Li", "Sara", "S#ra", "日本"}

// person draws somebody, or no one as often as is asked for.
func (g *generator) person(nobodyOf100 int) andon.PersonID {
	if g.IntN(100) < nobodyOf100 {
		return ""
	}
	return pick(g, people)
}

var states = []andon.State{
	"NORMAL", "WARNING1", "WARNING2", "WARNING", "WARNING10", "ODD", "CALM",
}

func (g *generator) measure() step {
	tenant := pick(g, g.tenants)
	var readings []andon.Reading
	for range 1 + g.IntN(4) {
		r := andon.Reading{Device: g.device(), Time: g.readingTime()}
		for _, name := range []andon.MetricName{"a", "b", "b#", "ttl"} {
			if g.IntN(2) == 0 {
				r.Metrics = append(r.Metrics, andon.Metric{Name: name, Value: float64(g.IntN(50))})
			}
		}
		r.Metadata = pick(g, []andon.JSON{"", "", `{"fw":1}`, `{"fw":2}`})
		readings = append(readings, r)
	}
	return sending("measure", tenant, readings, func(
		ctx context.Context, s *subject,
	) (any, error) {
		return s.intake.Readings(ctx, tenant, intake.RequestOf(readings))
	})
}

// readingTime draws from a grid of ten minutes, so that readings join.
func (g *generator) readingTime() andon.Time {
	const grid = andon.Time(10 * minute)
	return (g.now - andon.Time(g.IntN(1+g.IntN(2000)))*andon.Time(minute)) / grid * grid
}

func (g *generator) assign() step {
	tenant := pick(g, g.tenants)
	var assignments []andon.Assignment
	for range 1 + g.IntN(3) {
		a := andon.Assignment{Device: g.device(), Operator: g.person(25)}
		assignments = append(assignments, a)
	}
	s := sending("assign", tenant, assignments, func(
		ctx context.Context, s *subject,
	) (any, error) {
		return s.intake.Assign(ctx, tenant, assignments)
	})
	if g.IntN(4) == 0 {
		return g.abort(s)
	}
	return s
}

// escalate escalates or withdraws the current entry of a device, or one that was sent.
func (g *generator) escalate() step {
	tenant := pick(g, g.tenants)
	record := andon.Escalation{Device: g.device(), To: g.person(30), By: g.person(50)}
	if sent := g.sent[tenant]; len(sent) > 0 && g.IntN(4) > 0 {
		e := pick(g, sent[max(0, len(sent)-20):])
		if e.Time != 0 {
			record.Device, record.Time, record.State = e.Device, e.Time, e.State
		}
	}
	return sending("escalate", tenant, record, func(ctx context.Context, s *subject) (any, error) {
		kept, added, err := s.intake.Escalate(ctx, tenant, record)
		return []any{kept, added}, err
	})
}

func (g *generator) retire() step {
	tenant, device := pick(g, g.tenants), g.device()
	return sending("retire", tenant, device, func(ctx context.Context, s *subject) (any, error) {
		return s.intake.Retire(ctx, tenant, device)
	})
}

func sending(verb string, tenant andon.TenantID, what any, do request) step {
	return step{text: fmt.Sprintf("%s %s: %+v", verb, short(tenant), what), do: do}
}

// withdraw takes back an entry that was sent, or one that was not. Where entries expire, the stores
// go by what they still have, which is not the same for each: then none is taken back.
func (g *generator) withdraw() step {
	tenant := pick(g, g.tenants)
	w := andon.Withdrawal{
		Device: g.device(), Time: g.now, State: pick(g, g.states), By: g.person(50),
	}
	if sent := g.sent[tenant]; len(sent) > 0 && g.IntN(10) > 0 {
		if e := pick(g, sent[max(0, len(sent)-20):]); e.Time != 0 {
			w.Device, w.Time, w.State = e.Device, e.Time, e.State
		}
	}
	s := sending("withdraw", tenant, w, func(ctx context.Context, s *subject) (any, error) {
		kept, added, err := s.intake.Withdraw(ctx, tenant, w)
		return []any{kept, added}, err
	})
	s.needs = func(c andon.Capabilities) bool { return c.Withdraw }
	if g.expires {
		s.text, s.do = "nothing", nil
	}
	return s
}

// purge removes a device. What of it has expired already is each store's own matter, so it is not
// asked whether anything was there.
func (g *generator) purge() step {
	tenant, device := pick(g, g.tenants), g.device()
	s := sending("purge", tenant, device, func(ctx context.Context, s *subject) (any, error) {
		return nil, s.intake.Purge(ctx, tenant, device)
	})
	s.needs, s.mayLack = func(c andon.Capabilities) bool { return c.Purge }, true
	return s
}

// restore takes back what people did elsewhere: assignments before the entries that they are of,
// escalations at any time, retirements that count only where no later entry is.
func (g *generator) restore() step {
	tenant, at := pick(g, g.tenants), g.now-andon.Time(g.IntN(3*60))*andon.Time(minute)
	var h andon.History
	for range g.IntN(3) {
		h.Assignments = append(h.Assignments, andon.Assignment{
			Device: g.device(), Operator: g.person(25),
			From: g.now + andon.Time(11*minute) + andon.Time(g.IntN(3)), // after all entries
		})
	}
	sent := g.sent[tenant]
	for range min(len(sent), g.IntN(3)) {
		if e := pick(g, sent); e.Time != 0 {
			h.Escalations = append(h.Escalations, andon.Escalation{
				Device: e.Device, Time: e.Time, State: e.State, At: max(at, e.Time) + 1,
				To: g.person(30), By: g.person(50),
			})
		}
	}
	if g.IntN(2) == 0 {
		h.Retirements = []andon.Retirement{{Device: g.device(), At: at}}
	}
	return sending("restore", tenant, h, func(ctx context.Context, s *subject) (any, error) {
		return nil, s.store.Restore(ctx, tenant, h)
	})
}

func change(tenant andon.TenantID, text string, to func(*andon.Tenant)) step {
	return sending("change", tenant, text, func(ctx context.Context, s *subject) (any, error) {
		return nil, s.env.System.ChangeTenant(ctx, tenant, to)
	})
}

// changeStates changes the state set: it grows by what was never sent, and states that have entries
// change their severities.
func (g *generator) changeStates() step {
	defs := slices.Clone(andon.DefaultStates().Defs())
	defs = append(defs, andon.StateDef{Name: "UNSENT", Severity: uint8(g.IntN(250))})
	if !g.expires {
		for _, name := range []andon.State{"ODD", "CALM"} {
			severity := pick(g, []uint8{0, andon.UnknownSeverity, 40})
			defs = append(defs, andon.StateDef{Name: name, Severity: severity})
		}
		for i := range 2 {
			defs[i].Severity = pick(g, []uint8{defs[i].Severity, 0, 20, 90})
		}
	}
	normal := func(d andon.StateDef) bool { return d.Severity == 0 }
	if !slices.ContainsFunc(defs, normal) {
		defs = append(defs, andon.StateDef{Name: "REST"})
	}
	set, err := andon.NewStateSet(defs)
	if err != nil {
		panic("storetest: " + err.Error())
	}
	text := fmt.Sprintf("states %+v", defs)
	tenant := pick(g, g.tenants)
	s := change(tenant, text, func(t *andon.Tenant) { t.States = set })
	s.needs = func(c andon.Capabilities) bool { return c.Reorder }
	return s
}

func (g *generator) retention() step {
	if !g.expires {
		return change(pick(g, g.tenants), "nothing", func(*andon.Tenant) {})
	}
	kept := pick(g, []andon.Retention{
		andon.Forever, andon.Retention(10 * minute), andon.Retention(day), andon.Retention(3 * day),
	})
	tenant, what := pick(g, g.tenants), pick(g, []string{"readings ", "events "})
	s := change(tenant, what+kept.String(), func(t *andon.Tenant) {
		if what == "events " {
			t.Events = kept
		} else {
			t.Readings = kept
		}
	})
	return s
}

// expire reclaims space.
func (g *generator) expire() step {
	tenant := pick(g, g.tenants)
	return sending("expire", tenant, "", func(ctx context.Context, s *subject) (any, error) {
		return nil, s.env.System.Expire(ctx, tenant)
	})
}

func (g *generator) deleteTenant() step {
	tenant := pick(g, g.tenants)
	return step{
		text:    fmt.Sprintf("delete %s and make it again", short(tenant)),
		deletes: tenant,
		do: func(ctx context.Context, s *subject) (any, error) {
			if err := s.intake.DeleteTenant(ctx, tenant); err != nil {
				return nil, err
			}
			_, err := s.store.PutTenant(ctx, andon.NewTenant(tenant))
			return nil, err
		},
	}
}

func (g *generator) reopen() step { return step{text: "reopen", start: reopened} }

func (g *generator) crash() step { return step{text: "crash", start: crashed} }

func (g *generator) checkpoint() step { return step{text: "checkpoint", checkpoint: true} }

// concurrently sends two requests at once that come to the same in either order: entries that are
// not the same ones, or readings.
func (g *generator) concurrently() step {
	tenant := pick(g, g.tenants)
	events := g.timed(tenant)
	s := g.appendOf(tenant, events)
	other := g.measure()
	if g.IntN(3) > 0 {
		more := slices.DeleteFunc(g.timed(tenant), func(e andon.Event) bool {
			return slices.ContainsFunc(events, func(f andon.Event) bool {
				return e.Device == f.Device && e.Time == f.Time && e.State == f.State
			})
		})
		other = g.appendOf(tenant, more)
	}
	s.text, s.concurrent = s.text+" CONCURRENTLY "+other.text, other.do
	return s
}

// short is the part of a tenant's id that tells it from the others of a history.
func short(tenant andon.TenantID) string {
	return string(tenant[strings.LastIndexByte(string(tenant), '-')+1:])
}
