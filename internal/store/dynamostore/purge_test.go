package dynamostore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// TestStalePurgeOfABusyDevice: a device is purged while another process sends all the time. What
// it has then is what was sent last, without a gap, and nothing from before.
func TestStalePurgeOfABusyDevice(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	var past []andon.Event
	for n := range 400 {
		past = append(past, andon.Event{Device: "d", Time: b.at + 1 + andon.Time(n), State: "PAST"})
	}
	b.sent(b.late.Append(ctx, id, realClock(), past))
	purged, returned := make(chan error, 1), false
	var first, last andon.Time = 0, 1000 // first: that surely came after the purge
	go func() { purged <- b.other.Purge(ctx, id, "d") }()
	for more := 5; more > 0; last++ {
		select {
		case err := <-purged:
			b.sent(err)
			first, returned = last, true
		default:
		}
		b.append(last, "NORMAL")
		if returned {
			more--
		}
	}
	q := andon.EventQuery{Order: andon.Asc, Limit: 10_000}
	log := listOf(t, b.other.DeviceEvents(ctx, id, "d", q))
	if len(log) == 0 || log[0].State != "NORMAL" || log[0].Time > b.at+first ||
		log[len(log)-1].Time != b.at+last-1 ||
		len(log) != int(log[len(log)-1].Time-log[0].Time)+1 {
		t.Fatalf("%d to %d were sent after the purge, and the log has %d entries: %+v", first,
			last, len(log), log)
	}
	d, err := b.late.Device(ctx, id, "d")
	if err != nil || d.Since != log[0].Time || d.State != "NORMAL" {
		t.Errorf("it shows %+v, %v, since the first of %+v", d, err, log)
	}
	is, err := b.other.readDevice(ctx, mustTenant(t, b.other), "d")
	if err != nil {
		t.Error(err)
	}
	b.wantPurged(is)
	states := listOf(t, b.other.Devices(ctx, id, andon.DeviceQuery{Limit: 10}))
	if len(states) != 1 || slices.Contains(is.States, "PAST") {
		t.Error("listed are", fmt.Sprint(states), "its states are", is.States)
	}
}

// wantPurged: once no request can write any more that began before a purge, a scan deletes what is
// left of the former incarnations that a device has now, and forgets them.
func (b *stale) wantPurged(is *device) {
	b.Helper()
	if len(is.Former) == 0 {
		b.Error("the device knows no former incarnation")
	}
	o := b.options
	ahead := andon.DurationOf(landedAfter + time.Minute)
	o.Now = func() andon.Time { return realClock().Add(ahead) }
	later, of := open(b.T, o), mustTenant(b.T, b.other)
	b.sent(later.countAll(b.Context()))
	for _, was := range is.Formerly() {
		for _, part := range was.Parts() {
			q := ddb.Query{Table: items.TableLog, Key: items.LogKeys(), Partition: part}
			if left, _, err := later.db.Page(b.Context(), q, nil); err != nil || len(left) > 0 {
				b.Errorf("in partition %s are %d items, %v", part, len(left), err)
			}
		}
	}
	now, err := later.readDevice(b.Context(), of, "d")
	if err != nil || len(now.Former) > 0 {
		b.Errorf("%v: something is left of its past: %+v", err, now)
	}
}

// TestStalePurgeLeavesRows: rows of a purged device that a request wrote which had read it before
// are deleted by the scan of all devices.
func TestStalePurgeLeavesRows(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	batch := b.proxy.hold(t, "BatchWriteItem")
	returned := b.sending(ctx, 5)
	<-batch.reached
	b.sent(b.other.Purge(ctx, id, "d"))
	batch.release()
	b.sent(<-returned) // with rows of both incarnations
	is, err := b.other.readDevice(ctx, mustTenant(t, b.other), "d")
	b.sent(err)
	b.wantPurged(is)
}

// TestStalePurgeFails: what a purge left that failed is deleted by the scan of all devices.
func TestStalePurgeFails(t *testing.T) {
	b := newStale(t)
	ctx, id := t.Context(), andon.DefaultTenant
	b.proxy.inject(fault{operation: "BatchWriteItem", every: 1, do: serverError})
	if err := b.late.Purge(ctx, id, "d"); err == nil {
		t.Fatal("a purge that left all rows was acknowledged")
	}
	is, err := b.other.readDevice(ctx, mustTenant(t, b.other), "d")
	b.sent(err)
	b.wantPurged(is)
}
