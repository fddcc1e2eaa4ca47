package live

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Shown is what devices show now, as far as silence needs it.
type Shown interface {
	Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error)
	Counts(
		ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
	) ([]andon.StateCount, error)
	Devices(
		ctx context.Context, tenant andon.TenantID, q andon.DeviceQuery,
	) iter.Seq2[andon.Device, error]
}

// SilenceChange is a device that has fallen silent, or that has reported again.
type SilenceChange struct {
	Device andon.DeviceID
	State  andon.State // that it showed when it was seen to be silent
	Silent bool
}

const (
	// checkEvery is how often a fleet of up to checkPart devices is checked, and a larger one less
	// often in proportion. Counting takes a thousandth of a core where 100,000 devices are in
	// memory, and listing them a few hundredths.
	checkEvery = time.Second
	checkPart  = 100_000
	// checkAll is after how many checks the devices are listed although as many are silent as
	// before: one may have fallen silent as another one reported.
	checkAll = 3
	// maxChanges is how many changes a check tells of. An event of a stream with all of them stays
	// below a megabyte.
	maxChanges = 4096
)

// watch finds out which devices of a tenant are silent, again and again. It is for one goroutine.
type watch struct {
	source Shown
	now    func() andon.Time
	id     andon.TenantID

	// What the last check found.
	silent  map[andon.DeviceID]andon.State
	counts  map[andon.State]int // of silent ones
	devices int                 // in all
	same    int                 // checks that found the same counts
}

func (w *watch) pause() time.Duration {
	return checkEvery * time.Duration(1+(w.devices-1)/checkPart)
}

// check returns what changed since the check before; after the first one, nothing.
func (w *watch) check(ctx context.Context) (changes []SilenceChange, err error) {
	tenant, err := w.source.Tenant(ctx, w.id)
	if err != nil {
		return nil, err
	}
	before := andon.SilentBefore(w.now(), tenant.SilentAfter)
	counts, err := w.source.Counts(ctx, w.id, before)
	if err != nil || !w.mayDiffer(counts) {
		return nil, err
	}
	silent, err := w.list(ctx, before)
	if err != nil {
		w.same = checkAll // the next check lists them
		return nil, err
	}
	if w.silent != nil {
		changes = changesOf(w.silent, silent)
	}
	w.silent = silent
	return changes, nil
}

// mayDiffer takes note of counts, and reports whether other devices may be silent than before.
func (w *watch) mayDiffer(counts []andon.StateCount) bool {
	silent := map[andon.State]int{}
	w.devices = 0
	for _, n := range counts {
		w.devices += n.Count
		if n.Silent > 0 {
			silent[n.State] = n.Silent
		}
	}
	same := w.silent != nil && maps.Equal(silent, w.counts)
	w.counts = silent
	w.same++
	if same && (w.same < checkAll || len(w.silent) == 0 && len(silent) == 0) {
		return false
	}
	w.same = 0
	return true
}

// list returns the devices of which nothing arrived since a time, and their states.
func (w *watch) list(
	ctx context.Context, before andon.Time,
) (map[andon.DeviceID]andon.State, error) {
	const part = 4096
	silent := map[andon.DeviceID]andon.State{}
	q := andon.DeviceQuery{HeardBefore: before, Brief: true, Limit: part}
	for more := true; more; {
		found := 0
		for d, err := range w.source.Devices(ctx, w.id, q) {
			if err != nil {
				return nil, err
			}
			silent[d.ID] = d.State
			q.After, found = new(d.Position()), found+1
		}
		more = found == part
	}
	return silent, nil
}

// changesOf returns what differs between two checks, by device.
func changesOf(before, after map[andon.DeviceID]andon.State) []SilenceChange {
	var changes []SilenceChange
	for id, state := range after {
		if _, was := before[id]; !was {
			changes = append(changes, SilenceChange{Device: id, State: state, Silent: true})
		}
	}
	for id, state := range before {
		if _, is := after[id]; !is {
			changes = append(changes, SilenceChange{Device: id, State: state})
		}
	}
	slices.SortFunc(changes, func(a, b SilenceChange) int {
		return strings.Compare(string(a.Device), string(b.Device))
	})
	return changes
}
