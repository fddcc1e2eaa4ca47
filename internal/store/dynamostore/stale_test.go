package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// stale is a process that knows a device as it was before another process wrote to it. Its calls
// go through a proxy, which can hold them. The other process gives a device four partitions.
type stale struct {
	*testing.T
	proxy       *proxy
	options     Options
	late, other *Store
	at          andon.Time
	stopped     atomic.Int64 // where the clock of the stale process stands still; 0: it goes
}

func newStale(t *testing.T) *stale {
	t.Helper()
	o := newTables(t)
	b := &stale{T: t, proxy: newProxy(t, o.Endpoint), options: o,
		at: realClock() - 3_600_000_000}
	o.Shards = "4"
	b.other = open(t, o)
	o.Shards, o.Endpoint = "", b.proxy.URL
	o.Now = func() andon.Time {
		if at := b.stopped.Load(); at != 0 {
			return andon.Time(at)
		}
		return realClock()
	}
	b.late = open(t, o)
	b.append(0, "NORMAL")
	return b
}

func (b *stale) append(after andon.Time, state andon.State) {
	b.Helper()
	b.sent(b.send(b.Context(), b.late, after, state))
}

// send sends an entry without an operator.
func (b *stale) send(
	ctx context.Context, to *Store, after andon.Time, state andon.State,
) error {
	e := andon.Event{Device: "d", Time: b.at + after, State: state}
	return to.Append(ctx, andon.DefaultTenant, realClock(), []andon.Event{e})
}

func (b *stale) sent(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// sending is send by the stale process, concurrently with the test.
func (b *stale) sending(ctx context.Context, after andon.Time) <-chan error {
	returned := make(chan error, 1)
	go func() { returned <- b.send(ctx, b.late, after, "NORMAL") }()
	return returned
}

// wantOne: the second entry is there once, with Liz, however it is asked for.
func (b *stale) wantOne(after andon.Time) {
	b.Helper()
	ctx, id := b.Context(), andon.DefaultTenant
	ref := andon.EventQuery{Span: andon.Span{From: b.at + after, To: b.at + after}, Limit: 9}
	e, err := b.other.Entry(ctx, id, "d", b.at+after, "NORMAL")
	b.sent(err)
	lists := map[string][]andon.Event{
		"log":      listOf(b.T, b.other.DeviceEvents(ctx, id, "d", ref)),
		"operator": listOf(b.T, b.other.OperatorEvents(ctx, id, "Liz", ref)),
		"entry":    {e.Event},
	}
	for name, got := range lists {
		if len(got) != 1 || got[0].Operator != "Liz" {
			b.Errorf("by %s the entry is %+v, want it once, with Liz", name, got)
		}
	}
}

func mustTenant(t *testing.T, s *Store) *tenant {
	t.Helper()
	is, err := s.tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func (b *stale) log() []andon.Event {
	b.Helper()
	q := andon.EventQuery{Order: andon.Asc, Limit: 10}
	return listOf(b.T, b.other.DeviceEvents(b.Context(), andon.DefaultTenant, "d", q))
}

func (b *stale) assign(s *Store, operator andon.PersonID) {
	b.Helper()
	sent := []andon.Assignment{{Device: "d", Operator: operator}}
	if _, err := s.Assign(b.Context(), andon.DefaultTenant, b.at+1, sent); err != nil {
		b.Fatal(err)
	}
}

// TestStaleAssignment: an entry is written with the operator that its process knew of, and again
// with the one who was assigned meanwhile.
func TestStaleAssignment(t *testing.T) {
	b := newStale(t)
	b.assign(b.other, "Liz")
	b.append(5, "NORMAL")
	if log := b.log(); len(log) != 2 || log[1].Operator != "Liz" {
		t.Errorf("the log is %+v, want Liz to answer for its second entry", log)
	}
}

// inShardOfFour returns a time at which the entry is in the first of one partition, and in another
// of four.
func (b *stale) inShardOfFour() andon.Time {
	after := andon.Time(5)
	for items.ShardOf(items.StateDate("NORMAL", b.at+after), 4) == 0 {
		after++
	}
	return after
}

// TestStaleGrowth: between the two writes of an entry, the entry itself and the item of its
// device, another process assigns an operator and gives the device more partitions. Then there are
// two items of the entry, and the one that was written with the operator wins.
func TestStaleGrowth(t *testing.T) {
	b := newStale(t)
	after := b.inShardOfFour()
	put := b.proxy.hold(t, "PutItem")
	returned := b.sending(t.Context(), after)
	<-put.reached
	b.assign(b.other, "Liz")
	b.sent(b.send(t.Context(), b.other, 2, "NORMAL"))
	put.release()
	b.sent(<-returned)
	d, err := b.other.readDevice(t.Context(), mustTenant(t, b.other), "d")
	if err != nil || d.Partitions() != 4 {
		t.Fatalf("the device has %d partitions, %v; want it to have grown", d.Partitions(), err)
	}
	b.wantOne(after)
}

// TestStaleOneVersion: two processes whose clocks are before the version of a device try the same
// next one, twice. The one that was slower still sees that the device is not the one by which it
// wrote.
func TestStaleOneVersion(t *testing.T) {
	b := newStale(t)
	ahead := b.options
	ahead.Now = func() andon.Time { return realClock() + 3_600_000_000 }
	b.sent(b.send(t.Context(), open(t, ahead), 1, "NORMAL"))
	b.append(2, "NORMAL") // it learns that version
	first, second := b.proxy.hold(t, "PutItem"), b.proxy.hold(t, "PutItem")
	returned := b.sending(t.Context(), 9)
	<-first.reached
	b.sent(b.send(t.Context(), b.other, 3, "NORMAL"))
	first.release()
	<-second.reached
	b.assign(b.other, "Liz")
	second.release()
	b.sent(<-returned)
	b.wantOne(9)
}

// TestClientLeaves: a write that has begun is not given up where its client leaves: done
// later, it would put the entry back to what it was before the client sent it again.
func TestClientLeaves(t *testing.T) {
	b := newStale(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	batch := b.proxy.hold(t, "BatchWriteItem")
	returned := make(chan error, 1)
	go func() { // of two devices: those of one are joined with other requests
		e := andon.Event{Device: "d", Time: b.at + 9, State: "NORMAL"}
		other := e
		other.Device = "e"
		returned <- b.late.Append(ctx, andon.DefaultTenant, realClock(), []andon.Event{e, other})
	}()
	<-batch.reached
	leave()
	sendAgain := func() {
		b.assign(b.other, "Liz")
		b.append(9, "NORMAL")
	}
	select {
	case <-returned:
		t.Error("the write was given up while it was under way")
		sendAgain()
		batch.release()
	case <-time.After(100 * time.Millisecond): // the wait only lets a defect show
		batch.release()
		<-returned
		sendAgain()
	}
	<-batch.done
	b.wantOne(9)
}

// TestJoinedClientsLeave: of the requests that wait for a device, those whose clients leave are not
// written, and the others are. One that is being written is written to its end, and answered.
func TestJoinedClientsLeave(t *testing.T) {
	b := newStale(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	batch := b.proxy.hold(t, "BatchWriteItem")
	first := b.sending(ctx, 9)
	<-batch.reached
	gone, stays := b.sending(ctx, 10), b.sending(t.Context(), 11)
	for b.late.appends.Waiting("default", "d") < 2 {
		runtime.Gosched()
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the request that waited: %v", err)
	}
	batch.release()
	b.sent(<-first)
	b.sent(<-stays)
	var times []andon.Time
	for _, e := range b.log() {
		times = append(times, e.Time-b.at)
	}
	if !slices.Equal(times, []andon.Time{0, 9, 11}) {
		t.Errorf("there are the entries %v", times)
	}
}

// TestStaleTwoDeliveries: of two deliveries of an entry that are written together the later one
// wins, also where someone is assigned meanwhile who answers for the earlier one.
func TestStaleTwoDeliveries(t *testing.T) {
	b := newStale(t)
	taken, err := b.late.devices.Take(t.Context(), mustTenant(t, b.late).Key, "d")
	b.sent(err)
	returned := make(chan error, 2)
	for n, operator := range []andon.PersonID{"", "Sue"} {
		sent := []andon.Event{{Device: "d", Time: b.at + 9, State: "NORMAL", Operator: operator}}
		go func() {
			returned <- b.late.Append(t.Context(), andon.DefaultTenant, realClock(), sent)
		}()
		for b.late.appends.Waiting("default", "d") <= n {
			runtime.Gosched()
		}
	}
	put := b.proxy.hold(t, "PutItem")
	taken.Give()
	<-put.reached
	b.assign(b.other, "Liz")
	put.release()
	b.sent(<-returned)
	b.sent(<-returned)
	if log := b.log(); len(log) != 2 || log[1].Operator != "Sue" {
		t.Errorf("the log is %+v, want its second entry as it was delivered last", log)
	}
}

// TestStalePurge: an entry is there that was sent after the purge, and an assignment is not whose
// row landed after it.
func TestStalePurge(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	b.assign(b.late, "Liz")
	of := mustTenant(t, b.late)
	was, err := b.late.readDevices(ctx, of, []andon.DeviceID{"d"})
	if err != nil {
		t.Fatal(err)
	}
	b.append(4, "NORMAL")
	if err := b.other.Purge(ctx, id, "d"); err != nil {
		t.Fatal(err)
	}
	if err := b.late.keepFormer(ctx, was[0]); err != nil {
		t.Fatal(err)
	}
	b.append(5, "WARNING1")
	b.assign(b.late, "Tom")
	if log := b.log(); len(log) != 1 || log[0].State != "WARNING1" || log[0].Operator != "" {
		t.Errorf("the log is %+v, want the entry that was sent after the purge", log)
	}
	got := listOf(t, b.other.Assignments(ctx, id, "d", andon.PageQuery{Limit: 10}))
	if len(got) != 1 || got[0].Operator != "Tom" {
		t.Errorf("the assignments are %+v, want the one that was made after the purge", got)
	}
}

// TestStaleSeverities: a process that uses earlier severities follows, and does not fold a
// device by them once it was folded by the present ones.
func TestStaleSeverities(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	b.append(5, "WARNING1")
	b.append(5, "WARNING2")
	b.stopped.Store(int64(realClock())) // what it knows stays new to it
	mustTenant(t, b.late)
	record, err := b.other.Tenant(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	record.States, err = andon.NewStateSet([]andon.StateDef{
		{Name: "NORMAL"}, {Name: "WARNING1", Severity: 99}, {Name: "WARNING2", Severity: 1},
	})
	if err == nil {
		_, err = b.other.PutTenant(ctx, record)
	}
	if err == nil {
		_, err = b.other.Reorder(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.append(2, "NORMAL")
	for _, s := range []*Store{b.late, b.other} {
		d, err := s.Device(ctx, id, "d")
		if err != nil || d.State != "WARNING1" || d.Severity != 99 || d.Since != b.at+5 {
			t.Errorf("the device shows %+v, %v; want WARNING1, which is the severest now", d, err)
		}
	}
	q := andon.DeviceQuery{Limit: 10}
	if q.States, err = andon.ParseStateFilter("WARNING1"); err != nil {
		t.Fatal(err)
	}
	if got := listOf(t, b.other.Devices(ctx, id, q)); len(got) != 1 {
		t.Errorf("in WARNING1 are %+v, want the device", got)
	}
}

// borrowed returns a name as a request has it, a part of its body, and what becomes of that memory
// when another request is read into it.
func borrowed(name string) (as andon.DeviceID, reuse func()) {
	body := []byte(name)
	return andon.DeviceID(unsafe.String(&body[0], len(body))), func() { clear(body) }
}

// TestStaleKeepsNoRequest: what a process remembers of a device, having met another's write, is no
// part of the request that met it.
func TestStaleKeepsNoRequest(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	for n := range andon.Time(3) {
		b.sent(b.send(ctx, b.other, 10*n+1, "NORMAL"))
		device, reuse := borrowed("d")
		e := andon.Event{Device: device, Time: b.at + 10*n + 2, State: "WARNING1"}
		b.sent(b.late.Append(ctx, id, realClock(), []andon.Event{e}))
		reuse()
		b.append(10*n+3, "WARNING2")
		b.sent(b.send(ctx, b.other, 10*n+4, "NORMAL"))
		device, reuse = borrowed("d")
		r := andon.Reading{
			Device: device, Time: b.at + n, Metrics: andon.Metrics{{Name: "t", Value: 1}},
		}
		b.sent(b.late.AppendReadings(ctx, id, realClock(), []andon.Reading{r}))
		reuse()
		r.Device, r.Time = "d", r.Time+5
		b.sent(b.late.AppendReadings(ctx, id, realClock(), []andon.Reading{r}))
	}
	const entries, readings = 1 + 3*4, 3 * 2
	q := andon.EventQuery{Limit: 100}
	if n := len(listOf(t, b.other.DeviceEvents(ctx, id, "d", q))); n != entries {
		t.Errorf("the device has %d entries, want %d", n, entries)
	}
	all := listOf(t, b.other.DeviceReadings(ctx, id, "d", andon.ReadingQuery{Limit: 100}))
	if len(all) != readings {
		t.Errorf("the device has %d readings, want %d", len(all), readings)
	}
	devices := listOf(t, b.other.Devices(ctx, id, andon.DeviceQuery{Limit: 10}))
	if len(devices) != 1 {
		t.Errorf("there are the devices %+v", devices)
	}
}

// TestStaleManyDevices: another process assigns all devices of a batch, so that each of them is
// written again, concurrently. The race detector sees what they share.
func TestStaleManyDevices(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	const devices = 30
	send := func(s *Store, after andon.Time) {
		var events []andon.Event
		var readings []andon.Reading
		for n := range devices {
			device := andon.DeviceID(fmt.Sprintf("many%02d", n))
			events = append(events, andon.Event{
				Device: device, Time: b.at + after, State: andon.State(fmt.Sprint("S", n)),
			})
			readings = append(readings, andon.Reading{
				Device: device, Time: b.at + after,
				Metrics: andon.Metrics{{Name: andon.MetricName(fmt.Sprint("m", n)), Value: 1}},
			})
		}
		b.sent(s.Append(ctx, id, realClock(), andon.SortBatch(events)))
		b.sent(s.AppendReadings(ctx, id, realClock(), readings))
	}
	send(b.late, 1)
	var assigned []andon.Assignment
	for n := range devices {
		assigned = append(assigned, andon.Assignment{
			Device: andon.DeviceID(fmt.Sprintf("many%02d", n)), Operator: "Liz",
		})
	}
	if _, err := b.other.Assign(ctx, id, b.at+2, assigned); err != nil {
		t.Fatal(err)
	}
	send(b.late, 9)
	q := andon.EventQuery{Limit: 1000}
	if n := len(listOf(t, b.other.OperatorEvents(ctx, id, "Liz", q))); n != devices {
		t.Errorf("Liz answers for %d entries, want %d", n, devices)
	}
	for n := range devices {
		if err := b.other.Purge(ctx, id, assigned[n].Device); err != nil {
			t.Fatal(err)
		}
	}
	send(b.late, 20) // each is another incarnation
	metrics := listOf(t, b.other.MetricReadings(ctx, id, andon.MetricQuery{Metric: "m7", Limit: 9}))
	if len(metrics) != 1 {
		t.Errorf("of the metric are %+v", metrics)
	}
}

// TestStaleOperators: two processes assign a device in turn, and each has what the other wrote in
// the lists of operators, and in what is said of devices: their groups and what they belong to.
func TestStaleOperators(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	both := []*Store{b.late, b.other}
	record := andon.Record{Tenant: id, Kind: "test", ID: "d"}
	for n := range 6 {
		s, operator := both[n%2], andon.PersonID(fmt.Sprint("p", n))
		b.assign(s, operator)
		b.append(andon.Time(n+2), "NORMAL")
		record.Data = andon.JSON(fmt.Sprintf(`{"group":"g%d","parent":"m%d"}`, n, n))
		stale := record
		var err error
		record, err = s.PutRecord(ctx, record)
		b.sent(err)
		if _, err := both[(n+1)%2].PutRecord(ctx, stale); andon.KindOf(err) != andon.Conflict {
			t.Errorf("over what another process put: %v", err)
		}
		for _, s := range both {
			for m := range n + 1 {
				q := andon.DeviceQuery{Operator: andon.PersonID(fmt.Sprint("p", m)), Limit: 9}
				if got := listOf(t, s.Devices(ctx, id, q)); (len(got) == 1) != (m == n) {
					t.Errorf("after %d: p%d has %+v", n, m, got)
				}
			}
			if is, err := s.Record(ctx, id, "test", "d"); err != nil ||
				string(is.Data) != string(record.Data) {
				t.Errorf("the document is %s, %v", is.Data, err)
			}
		}
	}
}
