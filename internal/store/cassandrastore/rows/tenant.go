package rows

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Tenant is what is known of one tenant.
type Tenant struct {
	*shared.Tenant
	Purged *Purged // nil: none was
}

// Gen is the generation of the severities of the tenant.
func (t *Tenant) Gen() shared.Generation { return shared.Generation(t.Generation) }

// Severities returns the severities of a state that devices may be found by, the present one first.
func (t *Tenant) Severities(state andon.State) []uint8 {
	all := []uint8{t.Record.States.Severity(state)}
	for _, f := range t.Former {
		severity := andon.UnknownSeverity
		for _, d := range f.States {
			if d.Name == state {
				severity = d.Severity
			}
		}
		if !slices.Contains(all, severity) {
			all = append(all, severity)
		}
	}
	return all
}

// What a purged device sends again must not meet what is left of before. As with tenants
// (TenantKey), a device has another key each time: its id, and from the second one on a tab, which
// no id has, and the number of keys before. Inside the store devices are named by their keys; the
// methods of andon.Store translate. Every process reads the list of purged devices again once a
// second, with the record of the tenant.

// Purged are the purged devices of a tenant; nil if there are none. It is never changed in place.
type Purged struct {
	Before map[andon.DeviceID]int // former keys of each
	Newest int64                  // write timestamp of the newest row
}

// Devices are the purged devices, and how many keys each had before.
func (p *Purged) Devices() map[andon.DeviceID]int {
	if p == nil {
		return nil
	}
	return p.Before
}

// With returns the purged devices with others, and those among them that were not known.
func (p *Purged) With(is *Purged) (all *Purged, added map[andon.DeviceID]int) {
	all, added = &Purged{Before: map[andon.DeviceID]int{}, Newest: is.Newest}, is.Before
	if p != nil {
		added = map[andon.DeviceID]int{}
		for device, n := range is.Before {
			if n > p.Before[device] {
				added[device] = n
			}
		}
		maps.Copy(all.Before, p.Before)
		all.Newest = max(p.Newest, is.Newest)
	}
	if len(added) == 0 {
		return p, nil
	}
	for device, n := range added {
		// A copy: the name may be a part of the request that purges.
		all.Before[andon.DeviceID(strings.Clone(string(device)))] = n
	}
	return all, added
}

// DeviceKey is the key of a device that had so many before.
func DeviceKey(device andon.DeviceID, before int) andon.DeviceID {
	if before == 0 {
		return device
	}
	return device + "\t" + andon.DeviceID(strconv.Itoa(before))
}

// FormerKeys returns how many keys a device had before one.
func FormerKeys(device andon.DeviceID) int {
	_, digits, _ := strings.Cut(string(device), "\t")
	n, _ := strconv.Atoi(digits) // 0 where there are none
	return n
}

// IDOf is the id of a device, for any of its keys.
func IDOf(device andon.DeviceID) andon.DeviceID {
	id, _, _ := strings.Cut(string(device), "\t")
	return andon.DeviceID(id)
}

// Key returns the current key of a device.
func (p *Purged) Key(device andon.DeviceID) andon.DeviceID {
	if p == nil {
		return device
	}
	return DeviceKey(device, p.Before[device])
}

// Present reports whether a key is the current one of its device.
func (p *Purged) Present(device andon.DeviceID) bool { return p.Key(IDOf(device)) == device }

// WithKeys returns a copy of items whose devices have their current keys.
func WithKeys[T any](p *Purged, items []T, device func(*T) *andon.DeviceID) []T {
	again := func(item T) bool { return !p.Present(*device(&item)) }
	if p == nil || !slices.ContainsFunc(items, again) {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		id := device(&items[i])
		*id = p.Key(*id)
	}
	return items
}

// Query returns a query whose cursor has the current key of its device.
func (t *Tenant) Query(q andon.EventQuery) andon.EventQuery {
	if q.After != nil {
		after := *q.After
		after.Device = t.Purged.Key(after.Device)
		q.After = &after
	}
	return q
}

// WithID returns an entry with the id of its device in place of the key.
func WithID(e andon.Entry) andon.Entry {
	e.Device = IDOf(e.Device)
	for i := range e.Escalations {
		e.Escalations[i].Device = e.Device
	}
	if e.Withdrawn != nil {
		e.Withdrawn.Device = e.Device
	}
	return e
}

// TenantKey returns the key of a tenant. A tenant that was deleted and made again must not meet
// what is left of before, and tombstones would hide entries whose time, which is their write
// timestamp, is older. So a tenant has another key each time: its id, and from the second one on a
// tab, which no id has, and the number of keys before.
func TenantKey(id andon.TenantID, incarnation int) string {
	if incarnation == 0 {
		return string(id)
	}
	return string(id) + "\t" + strconv.Itoa(incarnation)
}

// Buckets is how many partitions the devices of a tenant and those of a metric have. It is part of
// the stored format.
const Buckets = 16

// Bucket is the bucket of an id. All keys of a device are in one bucket, so that a list that goes
// bucket by bucket finds the next device if one was purged meanwhile.
func Bucket(id string) int {
	id, _, _ = strings.Cut(id, "\t")
	return shared.Spread(shared.Hash(id), Buckets)
}

// TenantOf is the tenant of a key.
func TenantOf(key string) andon.TenantID {
	id, _, _ := strings.Cut(key, "\t")
	return andon.TenantID(id)
}
