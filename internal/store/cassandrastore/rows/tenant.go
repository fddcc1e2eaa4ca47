package rows

import (
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

// The severity of a state that has entries may change. The log and the newest entry of each state
// know no severity; what follows from severities is
//
//   - where the present run and incident begin, and the newest escalation: values of which a later
//     generation stands;
//   - the rows of designs with one row a device, which each generation has of its own (place.row);
//   - which of two states at one instant is noted for lists by state, and counted.
//
// A change begins the next generation. From then on every append writes by it, and what is of a
// former one is worked out at reading. Once all processes follow, and what was under way has
// landed, one of them goes over all devices and writes down what is so; then the change is over.
// Two that do so at once do the same.

// Gen is that of a tenant's severities.
func (t *Tenant) Gen() shared.Generation { return shared.Generation(t.Generation) }

// Severities returns what severities a state had that devices may be found by, the present first.
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

// What a purged device sends again must not meet what is left of it. As with tenants (tenantKey),
// each incarnation of a device has a name of its own: the id, and from the second incarnation on a
// tab, which no id holds, and the number of incarnations before it. Inside the store a device is
// called by that name, in keys and in memory; the methods of andon.Store translate. Every process
// reads the list of purged devices again once a second, with the record of the tenant.

// Purged are the devices of a tenant that were purged; nil where none was. It is never changed in
// place.
type Purged struct {
	Before map[andon.DeviceID]int // incarnations that are over
	Newest int64                  // write timestamp of the newest row
}

func DeviceKey(device andon.DeviceID, before int) andon.DeviceID {
	if before == 0 {
		return device
	}
	return device + "\t" + andon.DeviceID(strconv.Itoa(before))
}

// IDOf is the id of a device, whichever incarnation is named.
func IDOf(device andon.DeviceID) andon.DeviceID {
	id, _, _ := strings.Cut(string(device), "\t")
	return andon.DeviceID(id)
}

// Key names the present incarnation of a device.
func (p *Purged) Key(device andon.DeviceID) andon.DeviceID {
	if p == nil {
		return device
	}
	return DeviceKey(device, p.Before[device])
}

// Present reports whether an incarnation is not over.
func (p *Purged) Present(device andon.DeviceID) bool { return p.Key(IDOf(device)) == device }

// WithKeys names the present incarnations of the devices of items, which are left as they are.
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

// Query is a query whose cursor names the present incarnation.
func (t *Tenant) Query(q andon.EventQuery) andon.EventQuery {
	if q.After != nil {
		after := *q.After
		after.Device = t.Purged.Key(after.Device)
		q.After = &after
	}
	return q
}

// WithID is an entry under the id of its device.
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

// A tenant's name in keys. A tenant that was deleted and made again must not meet what is left of
// its former incarnation, and deleting by tombstones would shadow entries whose time, which is
// their write timestamp, is older. So each incarnation has a name of its own in keys: the id, and
// from the second incarnation on a tab, which no id holds, and the number of incarnations before
// it.
func TenantKey(id andon.TenantID, incarnation int) string {
	if incarnation == 0 {
		return string(id)
	}
	return string(id) + "\t" + strconv.Itoa(incarnation)
}

// Buckets is how many partitions the devices of a tenant and those of a metric have. It is
// part of what is stored.
const Buckets = 16

// Bucket is the bucket of an id. All incarnations of a device are in one, so that a list that
// goes on bucket by bucket finds the next device where one was purged meanwhile.
func Bucket(id string) int {
	id, _, _ = strings.Cut(id, "\t")
	return shared.Spread(shared.Hash(id), Buckets)
}

// TenantOf is the tenant of a key, whichever incarnation it is of.
func TenantOf(key string) andon.TenantID {
	id, _, _ := strings.Cut(key, "\t")
	return andon.TenantID(id)
}
