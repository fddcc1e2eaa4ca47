package dynamostore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/andonhq/andon"
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
	if err != nil || len(is.Former) > 0 {
		t.Errorf("%v: something is left of its past: %+v", err, is)
	}
	states := listOf(t, b.other.Devices(ctx, id, andon.DeviceQuery{Limit: 10}))
	if len(states) != 1 || slices.Contains(is.States, "PAST") {
		t.Error("listed are", fmt.Sprint(states), "its states are", is.States)
	}
}
