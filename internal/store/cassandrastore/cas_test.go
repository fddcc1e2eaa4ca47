package cassandrastore

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// casStore writes as the store would if what a device shows were one versioned row, written by
// lightweight transactions, as on DynamoDB: the log and its index rows as Store does, the row of
// the device by compare-and-swap from the version that this process wrote or read last, and then
// the index row of the state that the device left. Nothing is reviewed later, and processes need
// not know of each other. It is as much of that as a comparison of costs needs.
type casStore struct {
	*Store
	devices *shared.Devices[casDevice]
	commit  gocql.Consistency

	conflicts, unknown atomic.Int64
}

// casDevice is the row of a device, as this process last saw it.
type casDevice struct {
	version, nonce int64
	casState
}

// casState is what a device shows.
type casState struct {
	State                         andon.State
	Time, Since, Incident, Heard  andon.Time
	Operator                      andon.PersonID
	Message                       string
	Attributes                    andon.JSON
	Assignee                      andon.PersonID
	AssignedFrom, Retired, Shards int64
	Seen                          []andon.State
}

const (
	casTable = "CREATE TABLE IF NOT EXISTS cas_by_device (tenant text, device text, " +
		"version bigint, nonce bigint, shown blob, PRIMARY KEY ((tenant, device)))"
	casRead = "SELECT version, nonce, shown FROM cas_by_device WHERE tenant = ? AND device = ?"
	casSwap = "UPDATE cas_by_device SET version = ?, nonce = ?, shown = ? " +
		"WHERE tenant = ? AND device = ? IF version = ?"
)

func newCASStore(s *Store, commit gocql.Consistency) *casStore {
	return &casStore{Store: s, devices: shared.NewDevices[casDevice](), commit: commit}
}

// Append appends events that are in the order of the log, as Store.Append does.
func (c *casStore) Append(
	ctx context.Context, id andon.TenantID, received andon.Time, events []andon.Event,
) error {
	t, err := c.tenant(ctx, id)
	if err != nil {
		return err
	}
	a := &appending{
		store: c.Store, working: c.working.Load(), tenant: t, received: received,
		stamp: c.stamp(), index: c.newIndexRows(t.Key, c.ttl(c.working.Load().Retention)),
	}
	var ids []andon.DeviceID
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Device == events[0].Device {
			n++
		}
		a.devices = append(a.devices, &deviceAppend{events: events[:n:n], is: &view{}})
		ids = append(ids, events[0].Device)
		events = events[n:]
	}
	slots, err := c.devices.Take(ctx, t.Key, ids...)
	if err != nil {
		return err
	}
	defer slots.Give()
	if err := c.append(ctx, a, slots); err != nil {
		slots.Forget()
		return err
	}
	return nil
}

func (c *casStore) append(
	ctx context.Context, a *appending, slots *shared.Taken[casDevice],
) error {
	err := shared.Parallel(ctx, len(a.devices), func(ctx context.Context, i int) (err error) {
		if slots.Slots[i].View == nil {
			slots.Slots[i].View, err = c.read(ctx, a.tenant.Key, a.devices[i].events[0].Device)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, d := range a.devices {
		d.answers = named(d.events)
		a.grow(d)
		a.entries(d)
		a.index.device(string(d.events[0].Device))
		is := slots.Slots[i].View.fold(d.events, a.received)
		if was := slots.Slots[i].View; is.State != was.State {
			a.log = append(a.log, a.working.writes[0].add(c.place(a, d, &is)))
		}
	}
	if err := a.index.write(ctx, a.log...); err != nil {
		return err
	}
	return shared.Parallel(ctx, len(a.devices), func(ctx context.Context, i int) error {
		return c.swap(ctx, a, a.devices[i], slots.Slots[i])
	})
}

func (c *casStore) place(a *appending, d *deviceAppend, s *casState) place {
	return place{
		tenant: a.tenant.Key, device: string(d.events[0].Device), state: s.State,
		severity: a.tenant.Record.States.Severity(s.State), at: s.Time,
	}
}

// fold is what a device shows after some events.
func (d *casDevice) fold(events []andon.Event, received andon.Time) casState {
	is := d.casState
	for i := range events {
		e := &events[i]
		if e.Time < is.Time {
			continue
		}
		if e.State != is.State {
			is.Since = e.Time
		}
		switch {
		case e.State == "NORMAL":
			is.Incident = 0
		case is.Incident == 0:
			is.Incident = e.Time
		}
		is.State, is.Time, is.Operator = e.State, e.Time, e.Operator
		is.Message, is.Attributes = e.Message, e.Attributes
	}
	is.Heard = received
	return is
}

// swap writes what a device shows, from what another process wrote meanwhile if need be, and takes
// the row of the state away that it left.
func (c *casStore) swap(
	ctx context.Context, a *appending, d *deviceAppend, slot *shared.Slot[casDevice],
) error {
	for {
		was := slot.View
		is := &casDevice{was.version + 1, a.stamp, was.fold(d.events, a.received)}
		won, now, err := c.write(ctx, a.tenant.Key, d.events[0].Device, was, is)
		if err != nil {
			return err
		}
		if !won {
			c.conflicts.Add(1)
			slot.View = now
			continue
		}
		slot.View = is
		if was.State == "" || was.State == is.State {
			return nil
		}
		left := c.place(a, d, &was.casState)
		left.at = is.Time - 1
		return c.Store.write(ctx, a.working.writes[0].remove(left))
	}
}

// write writes one version over another, or returns the row as it is. After a timeout the nonce
// says whether it was written.
func (c *casStore) write(
	ctx context.Context, tenant string, device andon.DeviceID, was, is *casDevice,
) (won bool, now *casDevice, err error) {
	ctx, release, err := c.acquire(ctx)
	if err != nil {
		return false, nil, err
	}
	defer release()
	var version any // nil: there is no row
	if was.version != 0 {
		version = was.version
	}
	shown, err := json.Marshal(is.casState)
	if err != nil {
		return false, nil, err
	}
	found := map[string]any{}
	won, err = c.session.Query(casSwap, is.version, is.nonce, shown, tenant, string(device),
		version).Consistency(c.commit).SerialConsistency(gocql.LocalSerial).Idempotent(false).
		MapScanCASContext(ctx, found)
	if err != nil {
		var timeout *gocql.RequestErrWriteTimeout
		var cas *gocql.RequestErrCASWriteUnknown
		if !errors.As(err, &timeout) && !errors.As(err, &cas) {
			return false, nil, err
		}
		c.unknown.Add(1)
	}
	if won {
		return true, nil, nil
	}
	now, err = c.read(ctx, tenant, device)
	return now != nil && now.version == is.version && now.nonce == is.nonce, now, err
}

// read reads the row of a device, after whatever is under way with it.
func (c *casStore) read(
	ctx context.Context, tenant string, device andon.DeviceID,
) (*casDevice, error) {
	d := &casDevice{}
	var shown []byte
	err := c.session.Query(casRead, tenant, string(device)).Consistency(gocql.LocalSerial).
		Idempotent(true).ScanContext(ctx, &d.version, &d.nonce, &shown)
	if errors.Is(err, gocql.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal(shown, &d.casState)
}
