package andon

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Feed has the changes of what the devices of a tenant show. They have an order, and a reader can
// resume at any position. All code that must know of changes reads this feed.
//
// A change is of one device: what Current.Device showed before the write, and what it shows after
// it. The two are compared without Time, Received, Message, Attributes and Severity, so an entry
// that only repeats the state is not a change, and neither is a reading. A device that shows
// nothing (never seen, retired, purged) has no changes, except the one that ended it. The events of
// an atomic batch are one write: a state that a device had only within the batch was never shown.
// A change of the tenant's record is a change, too; later changes use the severities of its states
// (Change.Fold).
//
// Order. The changes of a device are in the order in which they became visible, and Before of each
// is After of the previous one. After a change of the tenant's severities the two may differ, by
// what follows from the severities, until Reorder has ended. A change is in the feed once it is
// acknowledged, and it is visible only once it is durable. A store that is not Immediate may show
// it a moment before it is in the feed. So folding the feed from any position on leads to what the
// devices show.
//
// Kept. A store keeps the newest changes, as many as its configuration says. A position is Gone if
// it is older than those, of another store, of a store that was restored from an older copy, or of
// another process where the store does not declare ChangesDurable. The reader then starts again
// with Snapshot, and so does a reader that is slower than the changes.
//
// Positions that are not Gone are in the order of Compare, whichever feed they name.
//
// A deleted tenant's feed ends: it is NotFound. A tenant of the same name begins another one.
//
// A store that declares no Changes answers Unsupported.
type Feed interface {
	// Changes yields the changes of a tenant after a position that exist now, and ends.
	Changes(ctx context.Context, tenant TenantID, after Position) iter.Seq2[Change, error]

	// AwaitChange returns nil as soon as there is a change of the tenant after a position. It may
	// also return nil without a change.
	AwaitChange(ctx context.Context, tenant TenantID, after Position) error

	// Arrivals returns entries in the order of their arrival (see Arrived). A store that declares
	// no Arrivals answers Unsupported.
	Arrivals(ctx context.Context, tenant TenantID, q ArrivalQuery) (Arrived, error)

	// ChangesKept returns the position before the oldest change of a tenant that is kept, and the
	// position after the newest one.
	ChangesKept(ctx context.Context, tenant TenantID) (oldest, newest Position, err error)
}

// Position is a place in the feed of a tenant, before its next change. It is opaque to all but the
// store that gave it; as text it can be kept.
type Position struct {
	Feed     uint64 // which feed, random
	Sequence uint64 // of the next write
	// Index is that of the next change among those of that write, or of the next entry (Entries).
	Index uint32
}

// String writes the position as text: feed, sequence and index in base 36, joined by hyphens.
func (p Position) String() string {
	b := make([]byte, 0, 32)
	b = append(strconv.AppendUint(b, p.Feed, positionBase), '-')
	b = strconv.AppendUint(b, p.Sequence, positionBase)
	if p.Index > 0 {
		b = strconv.AppendUint(append(b, '-'), uint64(p.Index), positionBase)
	}
	return string(b)
}

const positionBase = 36

// ParsePosition reads what String wrote.
func ParsePosition(text string) (p Position, err error) {
	parts := strings.Split(text, "-")
	if len(parts) != 2 && len(parts) != 3 {
		return p, errPosition
	}
	var numbers [3]uint64
	for i, part := range parts {
		bits := 64
		if i == 2 {
			bits = 32
		}
		if numbers[i], err = strconv.ParseUint(part, positionBase, bits); err != nil {
			return p, errPosition
		}
	}
	return Position{numbers[0], numbers[1], uint32(numbers[2])}, nil
}

var errPosition = Errorf(Invalid, "this is no position of a feed: use it as it was given")

// MarshalText writes the position as String does.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a position as ParsePosition does.
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}

// Compare orders the positions of a tenant that are not Gone.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.Sequence, o.Sequence), cmp.Compare(p.Index, o.Index))
}

// ChangeKind says what brought a change about.
type ChangeKind uint8

// The kinds of change. All but the last are of a device.
const (
	ByEntry ChangeKind = 1 + iota // new, late, or sent again with other content
	ByEscalation
	ByAssignment
	ByRetirement
	ByWithdrawal
	ByPurge
	ByRestore   // of what people did elsewhere
	ByReorder   // the states have other severities
	OfTenant    // the tenant's record has a new version
	changeKinds // how many there are
)

var changeKindNames = [...]string{
	"", "entry", "escalation", "assignment", "retirement", "withdrawal", "purge", "restore",
	"reorder", "tenant",
}

// String returns the kind's name.
func (k ChangeKind) String() string {
	if k < changeKinds {
		return changeKindNames[k]
	}
	return "unknown"
}

// Change is one change of a tenant's feed.
type Change struct {
	Position Position // after this change
	Kind     ChangeKind
	Device   DeviceID // absent where Kind is OfTenant
	// Before and After are what the device showed and shows, without Message and Attributes; nil:
	// nothing. Time and Received are those of the change.
	Before, After *Device
	// Entry is the one that did it, where Kind is ByEntry: of several in one write, the last that
	// made a difference. It may be withdrawn or have expired since.
	Entry  EntryRef
	Tenant *Tenant // its record since, where Kind is OfTenant
}

// Fold takes the change into what the devices of its tenant show.
func (c *Change) Fold(devices map[DeviceID]Device) {
	switch {
	case c.Tenant != nil:
		for id, d := range devices {
			d.Severity = c.Tenant.States.Severity(d.State)
			devices[id] = d
		}
	case c.After == nil:
		delete(devices, c.Device)
	default:
		devices[c.Device] = *c.After
	}
}

// ShowAlike reports whether two devices, nil where nothing is shown, are the same to the feed.
func ShowAlike(a, b *Device) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.State == b.State && a.Since == b.Since && a.IncidentSince == b.IncidentSince &&
		a.Operator == b.Operator && a.EscalatedTo == b.EscalatedTo &&
		a.EscalatedEntry == b.EscalatedEntry && a.EscalatedAt == b.EscalatedAt &&
		a.LastRetired == b.LastRetired
}

// Shown returns what a device shows after a change that left it something: with the Message and
// Attributes of the newest entry by then, which are absent once it has expired.
func Shown(ctx context.Context, s interface {
	Current
	Log
}, tenant TenantID, c *Change,
) (Device, error) {
	d, err := s.Device(ctx, tenant, c.Device)
	switch {
	case err == nil && ShowAlike(&d, c.After):
		return d, nil
	case err != nil && KindOf(err) != NotFound:
		return d, err
	}
	d = *c.After // it shows something else by now
	e, err := s.Entry(ctx, tenant, d.ID, d.Time, d.State)
	if err != nil && KindOf(err) != NotFound {
		return d, err
	}
	d.Message, d.Attributes = e.Message, e.Attributes
	return d, nil
}

// Snapshot returns what all devices of a tenant show at one position of its feed, so that the feed
// goes on from there without a gap. It is exact, although the list is read while devices change:
// what changed meanwhile is taken from the feed.
func Snapshot(ctx context.Context, s interface {
	Current
	Log
	Feed
}, tenant TenantID,
) (map[DeviceID]Device, Position, error) {
	_, at, err := s.ChangesKept(ctx, tenant)
	if err != nil {
		return nil, at, err
	}
	devices := map[DeviceID]Device{}
	for d, err := range s.Devices(ctx, tenant, DeviceQuery{Limit: math.MaxInt}) {
		if err != nil {
			return nil, at, err
		}
		devices[d.ID] = d
	}
	changed := map[DeviceID]bool{}
	for c, err := range s.Changes(ctx, tenant, at) {
		if err != nil {
			return nil, at, err
		}
		c.Fold(devices)
		at = c.Position
		if changed[c.Device] = true; c.After == nil { // it shows nothing, or it is no device
			delete(changed, c.Device)
		}
	}
	// Once each, however often it changed.
	for some := range slices.Chunk(slices.Collect(maps.Keys(changed)), readAtOnce) {
		shown, errs := make([]Device, len(some)), make([]error, len(some))
		var reading sync.WaitGroup
		for i, id := range some {
			d := devices[id]
			reading.Go(func() {
				shown[i], errs[i] = Shown(ctx, s, tenant, &Change{Device: id, After: &d})
			})
		}
		reading.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, at, err
		}
		for i, id := range some {
			d := devices[id]
			d.Message, d.Attributes = shown[i].Message, shown[i].Attributes
			devices[id] = d
		}
	}
	return devices, at, nil
}

// readAtOnce is how many devices are read at once that changed while all were listed.
const readAtOnce = 64
