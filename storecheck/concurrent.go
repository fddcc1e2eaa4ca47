package storecheck

import (
	"context"
	"fmt"
	"sync"

	"github.com/andonhq/andon"
)

// concurrentChecks: every method may be called concurrently.
func concurrentChecks() []Check {
	return []Check{
		check("2.4", "appends side by side end as one after the other", appendSideBySide),
	}
}

// appendSideBySide sends the entries of three devices from several goroutines, dealt out so that
// each device's come from all of them, and every fourth of them is late.
func appendSideBySide(ctx context.Context, e *Env, id andon.TenantID) error {
	const goroutines, each = 4, 15
	var failed [goroutines]error
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				if err := e.append(ctx, id, e.dealt(g, i)...); err != nil {
					failed[g] = err
				}
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	for _, device := range []string{"d0", "d1", "d2"} {
		if err := e.checkDealt(ctx, id, device, goroutines*each); err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
	}
	return e.wantList(ctx, id, counts, []string{"WARNING1=3"})
}

// dealt is one append of one goroutine: an entry of each device, at a second that is its own. Those
// of goroutine 0 are sent newest first. Second 30 is the only calm one.
func (e *Env) dealt(goroutine, i int) []andon.Event {
	if goroutine == 0 {
		i = 14 - i
	}
	second := i*4 + goroutine
	state := andon.State("WARNING1")
	if second == 30 {
		state = "NORMAL"
	}
	var events []andon.Event
	for _, device := range []andon.DeviceID{"d0", "d1", "d2"} {
		events = append(events, andon.Event{
			Device: device, Time: e.Base + andon.Time(second)*1_000_000, State: state,
			Operator: "Liz",
		})
	}
	return events
}

func (e *Env) checkDealt(ctx context.Context, id andon.TenantID, device string, n int) error {
	return e.Eventually(ctx, func() error {
		log, err := logOf(device, options{})(ctx, e, id)
		if err != nil {
			return err
		}
		d, err := e.Store.Device(ctx, id, andon.DeviceID(device))
		if err != nil {
			return err
		}
		since, incident := e.offsetOf(d.Since), e.offsetOf(d.IncidentSince)
		if len(log) != n || since != "31s" || incident != "31s" || e.offsetOf(d.Time) != "59s" {
			return fmt.Errorf("%d entries; it shows %+v, since %s, incident %s",
				len(log), d, since, incident)
		}
		return nil
	})
}
