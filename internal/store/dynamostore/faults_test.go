package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
)

// behindProxy makes tables, and returns how they are reached through a proxy.
func behindProxy(t *testing.T) (*proxy, Options) {
	t.Helper()
	o := newTables(t)
	p := newProxy(t, o.Endpoint)
	o.Endpoint = p.URL
	return p, o
}

func minute(n int) andon.Time {
	start := andon.TimeOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return start.Add(andon.Duration(n) * 60e6)
}

// TestFaults: whatever the service does, what was acknowledged is there once, in order, and in
// every list.
func TestFaults(t *testing.T) {
	p, o := behindProxy(t)
	o.Shards = "4"
	s := open(t, o)
	for _, f := range []fault{
		{operation: "BatchWriteItem", every: 3, do: half},
		{operation: "BatchWriteItem", every: 5, do: loseAnswer},
		{operation: "BatchWriteItem", every: 7, do: throttle},
		{operation: "PutItem", every: 5, do: loseAnswer},
		{operation: "PutItem", every: 7, do: serverError},
		{operation: "BatchGetItem", every: 3, do: half},
		{operation: "BatchGetItem", every: 11, do: hang},
		{operation: "Query", every: 5, do: throttleKey},
	} {
		p.inject(f)
	}
	const devices, requests, each = 2, 8, 5
	var senders sync.WaitGroup
	for d := range devices {
		senders.Go(func() {
			for r := range requests {
				sendUntil(t, s, faultyRequest(d, r, each))
			}
		})
	}
	senders.Wait()
	var all []string
	for d := range devices {
		var want []string
		for r := range requests {
			for _, e := range faultyRequest(d, r, each) {
				want = append(want, fmt.Sprint(e.Time, " ", e.State))
			}
		}
		all = append(all, want...)
		slices.Reverse(want)
		id := andon.DeviceID(fmt.Sprint("press-", d))
		q := andon.EventQuery{Limit: 1000}
		got := entryList(t, s.DeviceEvents(t.Context(), andon.DefaultTenant, id, q))
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d entries, want %d:\n%q\n%q", id, len(got), len(want), got, want)
		}
		shows, err := s.Device(t.Context(), andon.DefaultTenant, id)
		if now := fmt.Sprint(shows.Time, " ", shows.State); err != nil || now != want[0] {
			t.Errorf("%s shows %s, %v, want %s", id, now, err, want[0])
		}
	}
	q := andon.EventQuery{Limit: 1000}
	liz := entryList(t, s.OperatorEvents(t.Context(), andon.DefaultTenant, "Liz", q))
	slices.Sort(liz)
	if slices.Sort(all); !slices.Equal(liz, all) {
		t.Errorf("the operator has %d entries, want %d", len(liz), len(all))
	}
	for _, kind := range []string{"ProvisionedThroughputExceededException", "InternalServerError"} {
		if p.refused(kind) == 0 {
			t.Errorf("the proxy never answered %s", kind)
		}
	}
}

func faultyRequest(device, request, each int) (all []andon.Event) {
	for n := range each {
		e := andon.Event{Device: andon.DeviceID(fmt.Sprint("press-", device)), Operator: "Liz",
			Time: minute(request*each + n), State: "NORMAL"}
		if n%4 > 1 {
			e.State = "WARNING2"
		}
		all = append(all, e)
	}
	return all
}

// sendUntil sends a request until it is acknowledged, as a client does.
func sendUntil(t *testing.T, s *Store, events []andon.Event) {
	t.Helper()
	for {
		err := s.Append(t.Context(), andon.DefaultTenant, minute(0), events)
		switch andon.KindOf(err) {
		case andon.Unavailable, andon.Busy:
			if err != nil {
				continue
			}
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
}

func entryList(t *testing.T, events func(func(andon.Event, error) bool)) (all []string) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Time, " ", e.State))
	}
	return all
}

// TestLostAnswer: a change that was made, of which the answer was lost, is not taken for the change
// of another writer when the SDK sends it again.
func TestLostAnswer(t *testing.T) {
	p, o := behindProxy(t)
	s := open(t, o)
	ctx, id := t.Context(), andon.DefaultTenant
	e := andon.Event{Device: "d", Time: minute(0), State: "WARNING1"}
	sendUntil(t, s, []andon.Event{e})
	lost := func() { p.inject(fault{operation: "PutItem", times: 1, do: loseAnswer}) }
	lost()
	r := andon.Record{Tenant: id, Kind: "note", ID: "1", Data: `{"a":1}`}
	if _, err := s.PutRecord(ctx, r); err != nil {
		t.Errorf("put a record: %v", err)
	}
	lost()
	_, added, err := s.Escalate(ctx, id, andon.Escalation{Device: e.Device, Time: e.Time,
		State: e.State, At: minute(1), To: "Sara"})
	if !added || err != nil {
		t.Errorf("escalate an entry: added %v, %v", added, err)
	}
	lost()
	sent := []andon.Assignment{{Device: e.Device, Operator: "Liz"}}
	if kept, err := s.Assign(ctx, id, minute(2), sent); err != nil || kept[0].Again {
		t.Errorf("assign an operator: %+v, %v", kept, err)
	}
	lost()
	_, added, err = s.Withdraw(ctx, id, andon.Withdrawal{Device: e.Device, Time: e.Time,
		State: e.State, At: minute(3)})
	if !added || err != nil {
		t.Errorf("withdraw an entry: added %v, %v", added, err)
	}
}

// TestIndexesLag: an index that lags hides what is new for a moment, and never shows what is
// not so any more.
func TestIndexesLag(t *testing.T) {
	upstream := newTables(t)
	p := newProxy(t, upstream.Endpoint)
	m := p.lag()
	o := upstream
	o.Endpoint, o.Prefix = p.URL, upstream.Prefix+"lag_"
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s := open(t, o)
	list := func(state andon.State) string {
		t.Helper()
		var ids []string
		q := andon.DeviceQuery{Limit: 9, States: states(t, string(state))}
		for d, err := range s.Devices(t.Context(), andon.DefaultTenant, q) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, string(d.ID))
		}
		return strings.Join(ids, " ")
	}
	step := func(n int, state andon.State) {
		t.Helper()
		sendUntil(t, s, []andon.Event{{Device: "d1", Time: minute(n), State: state}})
	}
	catchUp := func() {
		t.Helper()
		if err := m.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	step(0, "WARNING2")
	catchUp()
	if got := list("WARNING2"); got != "d1" {
		t.Errorf("after the index followed, WARNING2 has %q", got)
	}
	step(1, "NORMAL")
	if got := list("WARNING2"); got != "" {
		t.Errorf("the index lags, and WARNING2 still has %q", got)
	}
	d, err := s.Device(t.Context(), andon.DefaultTenant, "d1")
	if err != nil || d.State != "NORMAL" {
		t.Errorf("the device shows %s, %v", d.State, err)
	}
	catchUp()
	if got := list("NORMAL"); got != "d1" {
		t.Errorf("after the index followed, NORMAL has %q", got)
	}
}

// TestSlowPage: a page that comes later than a request may take is an error that says so.
func TestSlowPage(t *testing.T) {
	p, o := behindProxy(t)
	sendUntil(t, open(t, o), []andon.Event{{Device: "d1", Time: minute(0), State: "NORMAL"}})
	o.Timeout = time.Second
	s := open(t, o)
	later := make(chan struct{})
	defer close(later)
	p.inject(fault{operation: "Query", times: 9, do: until(later)})
	for _, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, "d1",
		andon.EventQuery{Limit: 9}) {
		if andon.KindOf(err) != andon.Unavailable || errors.Is(err, context.Canceled) {
			t.Errorf("a page that is too late: %v", err)
		}
	}
}
