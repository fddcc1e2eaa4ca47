package dynamostore

import (
	"context"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// lagging makes tables of which indexes and eventual reads are as they were when the mirror caught
// up last.
func lagging(t *testing.T, change func(*Options)) (*mirror, Options) {
	t.Helper()
	o := newTables(t)
	p := newProxy(t, o.Endpoint)
	m := p.lag()
	o.Endpoint, o.Prefix = p.URL, o.Prefix+"lag_"
	if change != nil {
		change(&o)
	}
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return m, o
}

// TestSerialConsistency: each request is as fresh as it asks to be, and one that does not say is as
// the store is set.
func TestSerialConsistency(t *testing.T) {
	m, o := lagging(t, nil)
	s := open(t, o)
	o.Consistency = ddb.Eventual
	set := open(t, o)
	id := andon.DefaultTenant
	send := func(n int, state andon.State, value float64) {
		t.Helper()
		sendUntil(t, s, []andon.Event{{Device: "d1", Time: minute(n), State: state, Message: "m"}})
		err := s.AppendReadings(t.Context(), id, minute(n), []andon.Reading{{Device: "d1",
			Time: minute(n), Metrics: andon.Metrics{{Name: "t", Value: value}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	send(0, "WARNING2", 20)
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	send(1, "NORMAL", 30)
	for _, c := range []struct {
		what  string
		store *Store
		asked andon.Consistency
		fresh bool
	}{
		{"not chosen", s, andon.Freshest, true}, {"not chosen, set eventual", set, 0, true},
		{"as set", s, andon.AsSet, true}, {"as set eventual", set, andon.AsSet, false},
		{"strong", s, andon.Strong, true}, {"strong, set eventual", set, andon.Strong, true},
		{"eventual", s, andon.Eventual, false},
	} {
		state, value, entries := andon.State("WARNING2"), 20.0, 1
		if c.fresh {
			state, value, entries = "NORMAL", 30, 2
		}
		ctx := andon.WithConsistency(t.Context(), c.asked)
		d, err := c.store.Device(ctx, id, "d1")
		if err != nil || d.State != state || d.Message != "m" {
			t.Errorf("%s: it shows %s, %q, %v; want %s", c.what, d.State, d.Message, err, state)
		}
		found, err := c.store.LatestReadings(ctx, id, []andon.DeviceID{"d1"}, 0)
		if err != nil || len(found) != 1 || found[0].Metrics[0].Value != value {
			t.Errorf("%s: the newest readings are %+v, %v; want %g", c.what, found, err, value)
		}
		log := listOf(t, c.store.DeviceEvents(ctx, id, "d1", andon.EventQuery{Limit: 9}))
		if len(log) != entries {
			t.Errorf("%s: there are %d entries, want %d", c.what, len(log), entries)
		}
	}
}

// TestSerialStrongByIndex: what is found through an index is not passed off as strong.
func TestSerialStrongByIndex(t *testing.T) {
	s := open(t, newTables(t))
	ctx, id := andon.WithConsistency(t.Context(), andon.Strong), andon.DefaultTenant
	_, counting := s.Counts(ctx, id, 0)
	for what, err := range map[string]error{
		"an operator":  firstError(s.OperatorEvents(ctx, id, "Liz", andon.EventQuery{Limit: 1})),
		"a supervisor": firstError(s.SupervisorEvents(ctx, id, "Sara", andon.EventQuery{Limit: 1})),
		"devices":      firstError(s.Devices(ctx, id, andon.DeviceQuery{Limit: 1})),
		"counts":       counting,
	} {
		if andon.KindOf(err) != andon.Unsupported {
			t.Errorf("%s: %v, want that it can't be strong", what, err)
		}
	}
}

func firstError[T any](list func(func(T, error) bool)) (err error) {
	for _, err = range list {
		break
	}
	return err
}

// TestSerialEventualCosts: a plan shows that an eventual read costs half.
func TestSerialEventualCosts(t *testing.T) {
	s := open(t, newTables(t))
	sendUntil(t, s, []andon.Event{{Device: "d1", Time: minute(0), State: "NORMAL"}})
	units := map[andon.Consistency]float64{}
	for _, c := range []andon.Consistency{andon.Strong, andon.Eventual} {
		ctx, plan := andon.WithPlan(andon.WithConsistency(context.Background(), c))
		if _, err := s.tenant(ctx, andon.DefaultTenant); err != nil {
			t.Fatal(err)
		}
		before := len(plan.Steps())
		listOf(t, s.DeviceEvents(ctx, andon.DefaultTenant, "d1", andon.EventQuery{Limit: 1}))
		for _, step := range plan.Steps()[before:] {
			units[c] += step.Units
			if step.Consistency != c.String() {
				t.Errorf("%s: %s is %s", c, step.Statement, step.Consistency)
			}
		}
	}
	if strong := units[andon.Strong]; strong == 0 || units[andon.Eventual] != strong/2 {
		t.Errorf("strong reads cost %g units and eventual ones %g", strong, units[andon.Eventual])
	}
}

// TestSerialListsLag: an index that lags has entries as they were before. They are shown as they
// are, unless the answer may be eventual.
func TestSerialListsLag(t *testing.T) {
	m, o := lagging(t, nil)
	s := open(t, o)
	ctx, id := t.Context(), andon.DefaultTenant
	send := func(n int, operator andon.PersonID) {
		t.Helper()
		sendUntil(t, s, []andon.Event{{
			Device: "d1", Time: minute(n), State: "WARNING2", Operator: operator, Message: "m",
		}})
	}
	escalate := func(n int, to andon.PersonID) {
		t.Helper()
		_, _, err := s.Escalate(ctx, id, andon.Escalation{
			Device: "d1", Time: minute(n), State: "WARNING2", At: minute(9), To: to,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, as andon.Consistency, liz, sara []int) {
		t.Helper()
		ctx, q := andon.WithConsistency(ctx, as), andon.EventQuery{Limit: 9, Order: andon.Asc}
		for list, of := range map[*[]int][]andon.Event{
			&liz:  listOf(t, s.OperatorEvents(ctx, id, "Liz", q)),
			&sara: listOf(t, s.SupervisorEvents(ctx, id, "Sara", q)),
		} {
			var got []int
			for _, e := range of {
				got = append(got, int(e.Time-minute(0))/60e6)
				if e.Message != "m" {
					t.Errorf("%s: there is %+v", what, e)
				}
			}
			if !slices.Equal(got, *list) {
				t.Errorf("%s: there are %v, want %v", what, got, *list)
			}
		}
	}
	for n := range 4 {
		send(n, "Liz")
	}
	escalate(0, "Sara")
	escalate(1, "Sara")
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	send(1, "Tom")
	escalate(0, "Bob")
	if _, _, err := s.Withdraw(ctx, id, andon.Withdrawal{
		Device: "d1", Time: minute(2), State: "WARNING2", At: minute(9),
	}); err != nil {
		t.Fatal(err)
	}
	want("as it is", andon.AsSet, []int{0, 3}, []int{1})
	want("eventual", andon.Eventual, []int{0, 1, 2, 3}, []int{0, 1})
	if err := m.catchUp(); err != nil {
		t.Fatal(err)
	}
	want("eventual, after the index followed", andon.Eventual, []int{0, 3}, []int{1})
}
