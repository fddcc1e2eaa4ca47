// Package silence finds out which devices of a tenant are silent: nothing arrived of them for as
// long as their tenant says. It counts them, and lists them where the counts differ.
package silence

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Source is what devices show now, as far as silence needs it.
type Source interface {
	Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error)
	Counts(
		ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
	) ([]andon.StateCount, error)
	Devices(
		ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
	) iter.Seq2[andon.Device, error]
}

// Change is a device that has fallen silent, or that has reported again.
type Change struct {
	Device andon.DeviceID
	State  andon.State // that it showed when it was seen to be silent
	Silent bool
}

const (
	// lookEvery is how often a fleet of up to lookPart devices is looked at, and a larger one less
	// often in proportion. Counting takes a thousandth of a core where 100,000 devices are in
	// memory, and listing them a few hundredths.
	lookEvery = time.Second
	lookPart  = 100_000
	// After so many looks the devices are listed although as many are silent as before: one may
	// have fallen silent as another one reported.
	sameLooks = 3
)

// Watch finds out which devices of a tenant are silent, again and again. It is for one goroutine.
type Watch struct {
	Source Source
	Now    func() andon.Time
	Tenant andon.TenantID

	// What the last look found.
	silent  map[andon.DeviceID]andon.State // nil: it has to be listed
	counts  map[andon.State]int            // of silent ones
	devices int                            // in all
	same    int                            // looks that found the same counts
}

// Pause is how long to wait until the next look.
func (w *Watch) Pause() time.Duration {
	return lookEvery * time.Duration(1+(w.devices-1)/lookPart)
}

// Check returns what changed since the last look; after the first one, nothing.
func (w *Watch) Check(ctx context.Context) ([]Change, error) {
	was := w.silent
	if listed, err := w.Look(ctx); err != nil || !listed || was == nil {
		return nil, err
	}
	return changesOf(was, w.silent), nil
}

// Look finds out which devices are silent, and reports whether that may have changed.
func (w *Watch) Look(ctx context.Context) (listed bool, err error) {
	tenant, err := w.Source.Tenant(ctx, w.Tenant)
	if err != nil {
		return false, err
	}
	before := andon.SilentBefore(w.Now(), tenant.SilentAfter)
	counts, err := w.Source.Counts(ctx, w.Tenant, before)
	if err != nil || !w.mayDiffer(counts) {
		return false, err
	}
	silent, err := w.list(ctx, before)
	if err != nil {
		w.same = sameLooks // the next look lists them
		return false, err
	}
	w.silent = silent
	return true, nil
}

// Silent are the devices that are silent, with the states that they show.
func (w *Watch) Silent() map[andon.DeviceID]andon.State { return w.silent }

// Forget has the next look list them in any case.
func (w *Watch) Forget() { w.silent = nil }

// mayDiffer takes note of counts, and reports whether other devices may be silent than before.
func (w *Watch) mayDiffer(counts []andon.StateCount) bool {
	silent := map[andon.State]int{}
	w.devices = 0
	for _, n := range counts { // of each group
		w.devices += n.Count
		if n.Silent > 0 {
			silent[n.State] += n.Silent
		}
	}
	same := w.silent != nil && maps.Equal(silent, w.counts)
	w.counts = silent
	w.same++
	if same && (w.same < sameLooks || len(w.silent) == 0 && len(silent) == 0) {
		return false
	}
	w.same = 0
	return true
}

// list returns the devices of which nothing arrived since a time, and their states.
func (w *Watch) list(
	ctx context.Context, before andon.Time,
) (map[andon.DeviceID]andon.State, error) {
	silent := map[andon.DeviceID]andon.State{}
	q := andon.DeviceQuery{HeardBefore: before, Brief: true, Limit: 4096}
	for d, err := range andon.EachDevice(ctx, w.Source, w.Tenant, q) {
		if err != nil {
			return nil, err
		}
		silent[d.ID] = d.State
	}
	return silent, nil
}

// changesOf returns what differs between two checks, by device.
func changesOf(before, after map[andon.DeviceID]andon.State) []Change {
	var changes []Change
	for id, state := range after {
		if _, was := before[id]; !was {
			changes = append(changes, Change{Device: id, State: state, Silent: true})
		}
	}
	for id, state := range before {
		if _, is := after[id]; !is {
			changes = append(changes, Change{Device: id, State: state})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return strings.Compare(string(a.Device), string(b.Device))
	})
	return changes
}
