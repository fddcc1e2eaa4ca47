package dynamostore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storecheck"
	"github.com/andonhq/andon/storetest"
)

// manyTables has a table of the layout reference for each tenant, since such a table has one. What
// the layout does not serve is refused by the layout itself.
type manyTables struct {
	*reference.Store // of the default tenant
	t                testing.TB

	mu sync.Mutex
	of map[andon.TenantID]*reference.Store
}

func newManyTables(t testing.TB) *manyTables {
	m := &manyTables{t: t, of: map[andon.TenantID]*reference.Store{}}
	r, err := m.newTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Store, m.of[andon.DefaultTenant] = r, r
	return m
}

func (m *manyTables) newTable(ctx context.Context) (*reference.Store, error) {
	service := enginetest.DynamoDB(m.t)
	o := defaults()
	o.Now, o.Endpoint, o.Key, o.Secret = realClock, service.URL, "any", "any"
	o.Layout, o.Table = layoutReference, fmt.Sprintf("DeviceStateLog_%08x", rand.Uint32())
	if err := Init(ctx, o, adapter.Setup{}, func(string) {}); err != nil {
		return nil, err
	}
	s, err := openGuide(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.(*reference.Store), nil
}

// to returns the table of a tenant, and the tenant that it is of there.
func (m *manyTables) to(id andon.TenantID) (*reference.Store, andon.TenantID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.of[id]; r != nil {
		return r, andon.DefaultTenant
	}
	return m.Store, "not " + andon.DefaultTenant
}

func (m *manyTables) PutTenant(
	ctx context.Context, is andon.Tenant,
) (andon.Tenant, error) {
	if r, _ := m.to(is.ID); is.Version != 0 {
		return r.PutTenant(ctx, is) // which refuses it
	}
	r, err := m.newTable(ctx)
	if err != nil {
		return is, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[is.ID] = r
	is.Version = 1
	return is, nil
}

func (m *manyTables) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	r, there := m.to(id)
	is, err := r.Tenant(ctx, there)
	is.ID = id
	return is, err
}

func (m *manyTables) DeleteTenant(_ context.Context, id andon.TenantID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case id == andon.DefaultTenant:
		return andon.Errorf(andon.Conflict, "it stays")
	case m.of[id] == nil:
		return andon.NoTenant(id)
	}
	delete(m.of, id)
	return nil
}

func (m *manyTables) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	r, there := m.to(id)
	return r.AdmitStates(ctx, there, states, most)
}

func (m *manyTables) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	r, there := m.to(id)
	return r.Append(ctx, there, received, events)
}

func (m *manyTables) Entry(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, at andon.Time, state andon.State,
) (andon.Entry, error) {
	r, there := m.to(id)
	return r.Entry(ctx, there, device, at, state)
}

func (m *manyTables) DeviceEvents(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	r, there := m.to(id)
	return r.DeviceEvents(ctx, there, device, q)
}

func (m *manyTables) OperatorEvents(
	ctx context.Context, id andon.TenantID, operator andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	r, there := m.to(id)
	return r.OperatorEvents(ctx, there, operator, q)
}

func (m *manyTables) SupervisorEvents(
	ctx context.Context, id andon.TenantID, supervisor andon.PersonID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	r, there := m.to(id)
	return r.SupervisorEvents(ctx, there, supervisor, q)
}

func (m *manyTables) EscalatedEntries(
	ctx context.Context, id andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Entry, error] {
	r, there := m.to(id)
	return r.EscalatedEntries(ctx, there, device, q)
}

func (m *manyTables) Escalate(
	ctx context.Context, id andon.TenantID, e andon.Escalation,
) (andon.Escalation, bool, error) {
	r, there := m.to(id)
	return r.Escalate(ctx, there, e)
}

func (m *manyTables) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	r, there := m.to(id)
	return r.Device(ctx, there, device)
}

func (m *manyTables) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	r, there := m.to(id)
	return r.Had(ctx, there)
}

func (m *manyTables) Expire(ctx context.Context, id andon.TenantID, h andon.Horizon) error {
	r, there := m.to(id)
	return r.Expire(ctx, there, h)
}

func (m *manyTables) Retirements(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) ([]andon.Time, error) {
	r, there := m.to(id)
	return r.Retirements(ctx, there, device)
}

// TestSerialReferenceStore runs the checks of every store on tables of the reference's own model.
// What the layout does not declare is not asked, but for being refused.
func TestSerialReferenceStore(t *testing.T) {
	m := newManyTables(t)
	for part := range sideBySide {
		t.Run("part "+strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			var checks []storecheck.Check
			for i, c := range storecheck.Checks() {
				if i%sideBySide == part && ofReference(c) {
					checks = append(checks, c)
				}
			}
			storetest.RunSome(t, func(t *testing.T) andon.Store { return m }, checks)
		})
	}
}

// ofReference leaves the checks of order within a device and of pages to
// TestSerialReferenceHistories, and to ANDON_LONG: each makes a table for each order of its
// entries.
func ofReference(c storecheck.Check) bool {
	few := []string{"2.1", "2.7", "2.8", "2.9", "2.14", "3"}
	return !takesLong(c) &&
		(os.Getenv(enginetest.LongTests) != "" || slices.Contains(few, c.Section))
}

// TestSerialReferenceHistories appends random entries in any order to a table of the reference's
// own model and to the reference store, and compares what both answer.
func TestSerialReferenceHistories(t *testing.T) {
	m := newManyTables(t)
	seeds := []uint64{3839144613, uint64(rand.Uint32()), uint64(rand.Uint32())}
	for _, seed := range seeds { // in the first, the range of one state has entries of another
		r := rand.New(rand.NewPCG(seed, 0))
		want, id := memstore.New(), andon.TenantID(fmt.Sprint("history-", seed))
		for _, s := range []andon.Store{m, want} {
			if _, err := s.PutTenant(t.Context(), andon.NewTenant(id)); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			sent := randomEvents(r)
			for _, s := range []andon.Store{m, want} {
				if err := s.Append(t.Context(), id, minute(100), sent); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, want := answers(t, m, id, seed), answers(t, want, id, seed); got != want {
			t.Errorf("seed %d: the table answers\n%s\nthe reference\n%s", seed, got, want)
		}
	}
}

var historyStates = []andon.State{"NORMAL", "WARNING1", "WARNING4", "WARNING", "ODD", "ODD#2020"}

func randomEvents(r *rand.Rand) []andon.Event {
	var sent []andon.Event
	for n := range 1 + r.IntN(6) {
		at := minute(r.IntN(12))
		if r.IntN(3) == 0 {
			at += andon.Time(r.IntN(3) * 500_000) // a fraction of a second
		}
		sent = append(sent, andon.Event{
			Device: []andon.DeviceID{"d#1", "d", "d%"}[r.IntN(3)], Time: at,
			State:    historyStates[r.IntN(len(historyStates))],
			Operator: []andon.PersonID{"Liz", "T#m", ""}[r.IntN(3)], Message: fmt.Sprint("m", n),
		})
	}
	return andon.SortBatch(sent)
}

// answers are those to queries that a seed draws, as text.
func answers(t *testing.T, s andon.Store, id andon.TenantID, seed uint64) string {
	t.Helper()
	r, ctx := rand.New(rand.NewPCG(seed, 1)), t.Context()
	var text strings.Builder
	list := func(events iter.Seq2[andon.Event, error]) {
		for e, err := range events {
			fmt.Fprintf(&text, " %q %s %s %q %q %v", e.Device, e.Time, e.State, e.Operator,
				e.Message, err)
		}
		text.WriteByte('\n')
	}
	for range 4 {
		q := andon.EventQuery{Limit: 1 + r.IntN(9), Order: andon.Order(r.IntN(2))}
		q.States = states(t, []string{"*", "WARNING*", "ODD", "NORMAL,ODD#2020"}[r.IntN(4)])
		if r.IntN(2) == 0 {
			q.Span = andon.Span{From: minute(r.IntN(6)), To: minute(6 + r.IntN(6))}
		}
		for _, device := range []andon.DeviceID{"d#1", "d", "d%"} {
			list(s.DeviceEvents(ctx, id, device, q))
		}
		list(s.OperatorEvents(ctx, id, "Liz", q))
		list(s.OperatorEvents(ctx, id, "T#m", q))
	}
	for _, device := range []andon.DeviceID{"d#1", "d", "d%"} {
		d, err := s.Device(ctx, id, device)
		d.Received = 0
		fmt.Fprintf(&text, "%+v %v\n", d, andon.KindOf(err))
	}
	return text.String()
}
