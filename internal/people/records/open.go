package records

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// opened is what is known of the open incidents of a tenant.
type opened struct {
	reading sync.Mutex // held while they are read again
	by      map[string]Held
	places  places
	changes uint64
	recent  []IncidentChange // the newest, at most mostRecent
	kept    bool             // by is kept
	read    andon.Time       // 0: never since it is kept
	took    andon.Duration
	unasked *time.Timer // forgets by
}

// keptFor is how long what is open is in memory that nobody asks for.
const keptFor = time.Minute

// mostRecent is how many changes are kept for those who ask which there were.
const mostRecent = 128

// IncidentChange is an open incident as a change left it.
type IncidentChange struct {
	*people.Incident
	Gone bool // it is closed by now, perhaps by another process, and was like this before
}

// IncidentChanges are those of the open incidents of a tenant.
type IncidentChanges struct {
	Number uint64           // grows with each
	Recent []IncidentChange // the newest of each incident, oldest first
	More   bool             // there were more than are kept, and Recent is empty
}

// Open returns all incidents of a tenant that are open, in no order. Of their steps there is only
// the last note of a person. Neither the list nor what it points to is ever changed.
func (in *Incidents) Open(
	ctx context.Context, tenant andon.TenantID,
) (all []*people.Incident, err error) {
	o, err := in.refresh(ctx, tenant)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, h := range o.by {
		if h.Ended == 0 {
			all = append(all, h.Incident)
		}
	}
	return all, nil
}

// Changed returns the changes after one with a number, in the form of Open.
func (in *Incidents) Changed(
	ctx context.Context, tenant andon.TenantID, after uint64,
) (c IncidentChanges, err error) {
	o, err := in.refresh(ctx, tenant)
	if err != nil {
		return c, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	c.Number = o.changes
	if after >= o.changes {
		return c, nil
	}
	n := o.changes - after
	if c.More = n > uint64(len(o.recent)); c.More {
		return c, nil
	}
	seen := map[string]bool{}
	for _, one := range slices.Backward(o.recent[len(o.recent)-int(n):]) {
		if !seen[one.ID] {
			c.Recent = append(c.Recent, one)
		}
		seen[one.ID] = true
	}
	slices.Reverse(c.Recent)
	return c, nil
}

// refresh keeps what is open of a tenant in memory for another while, and reads it where what is
// known is old.
func (in *Incidents) refresh(ctx context.Context, tenant andon.TenantID) (*opened, error) {
	o := in.opened(tenant)
	o.reading.Lock()
	defer o.reading.Unlock()
	in.mu.Lock()
	const second = andon.Duration(1_000_000)
	now := in.now() // by a clock that may have been set
	stale := o.read == 0 || max(now.Sub(o.read), o.read.Sub(now)) > max(second, 10*o.took)
	if o.kept = true; o.unasked == nil {
		o.unasked = time.AfterFunc(keptFor, func() { in.forget(o) })
	}
	o.unasked.Reset(keptFor)
	in.mu.Unlock()
	if !stale {
		return o, nil
	}
	return o, in.readOpen(ctx, tenant, o)
}

// forget gives back the memory of what is open.
func (in *Incidents) forget(o *opened) {
	o.reading.Lock()
	defer o.reading.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	o.by, o.recent, o.kept, o.read = map[string]Held{}, nil, false, 0
}

// Leave forgets what is open in a tenant, which is deleted or is kept by another process from now
// on. The number that grows with each change goes on.
func (in *Incidents) Leave(tenant andon.TenantID) {
	o := in.opened(tenant)
	in.forget(o)
	in.mu.Lock()
	defer in.mu.Unlock()
	o.places = places{}
}

func (in *Incidents) opened(tenant andon.TenantID) *opened {
	in.mu.Lock()
	defer in.mu.Unlock()
	o := in.open[tenant]
	if o == nil {
		o = &opened{by: map[string]Held{}}
		in.open[tenant] = o
	}
	return o
}

// readOpen reads the records of open incidents again. What this process changed meanwhile has a
// newer version, or is read by the next call. The caller holds o.reading.
func (in *Incidents) readOpen(ctx context.Context, tenant andon.TenantID, o *opened) error {
	began, seen := in.now(), map[string]bool{}
	in.mu.Lock()
	before := make(map[string]uint64, len(o.by))
	for place, h := range o.by {
		before[place] = h.Version
	}
	in.mu.Unlock()
	q := andon.RecordQuery{Limit: math.MaxInt}
	for r, err := range in.store.Records(ctx, tenant, OpenKind, q) {
		if err != nil {
			return err
		}
		if seen[r.ID] = true; before[r.ID] == r.Version {
			continue
		}
		is, err := decode(&r)
		if err != nil {
			return err
		}
		in.know(tenant, r.ID, &Held{is, r.Version}, before[r.ID])
	}
	for place, version := range before {
		if !seen[place] {
			in.know(tenant, place, nil, version)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	o.read = in.now()
	o.took = min(max(o.read.Sub(began), 0), andon.DurationOf(keptFor)/10) // the clock may be set
	return nil
}

// know takes note of an open incident, unless another version than was is known by now. nil: there
// is none any more.
func (in *Incidents) know(tenant andon.TenantID, place string, h *Held, was uint64) {
	o := in.opened(tenant)
	in.mu.Lock()
	defer in.mu.Unlock()
	if h == nil {
		o.places.remove(place)
	} else {
		o.places.add(place)
	}
	if o.by[place].Version == was {
		o.set(place, h)
	}
}

// set takes note of an open incident. The caller holds the mutex of Incidents.
func (o *opened) set(place string, h *Held) {
	if !o.kept {
		return
	}
	change := IncidentChange{}
	switch was, there := o.by[place]; {
	case h != nil:
		change.Incident = listed(h.Incident)
		o.by[placeOf(h.ID)] = Held{change.Incident, h.Version}
	case there:
		change.Incident, change.Gone = was.Incident, true
		if delete(o.by, place); was.Ended != 0 { // which was reported
			return
		}
	default:
		return
	}
	o.changes++
	if len(o.recent) == mostRecent {
		o.recent = o.recent[1:]
	}
	o.recent = append(o.recent, change)
}

// listed is an incident as lists show it, of whose log only the last note of a person is left. In a
// storm there are so many that the garbage collector would be busy with the rest. Where it flaps,
// its flips say when it is stable.
func listed(in *people.Incident) *people.Incident {
	is := *in
	if is.Steps = nil; !is.Flapping {
		is.Flips = nil
	}
	if is.State == is.Entry.State {
		is.State = is.Entry.State // one text, where they were decoded
	}
	for _, s := range slices.Backward(in.Steps) {
		if s.By != "" && s.Note != "" {
			is.Steps = []people.Step{s}
			break
		}
	}
	return &is
}
