package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/records"
	"github.com/andonhq/andon/internal/store/tenants"
)

type tenant struct {
	number   uint32
	record   atomic.Pointer[andon.Tenant]
	entries  *blocks.Tenant
	readings *blocks.Tenant
	fleet    *current.Fleet // what it shows is guarded by Store.mu

	// states that have entries. Only in the ordered section another map takes its place.
	haveEntries atomic.Pointer[map[andon.State]andon.State]

	// The rest belongs to the ordered section.
	gone bool

	hadReadings atomic.Bool // ever; once true, for good

	feed feed.Tenant

	// writes is held for reading by each write from its beginning to its end, and alone by a caller
	// that deletes rows that another write may rely on.
	writes engine.SharedLock

	withdrawn entries.Withdrawals
	reorder   sync.Mutex // held while the devices are computed again

	admission sync.Mutex           // guards admitted
	admitted  map[andon.State]bool // states whose entries may be under way
}

func newTenant(number uint32, record andon.Tenant) *tenant {
	t := &tenant{
		number: number, entries: blocks.NewTenant(number), readings: blocks.NewTenant(number),
		fleet: current.NewFleet(), admitted: map[andon.State]bool{},
		feed: feed.Tenant{ID: record.ID, Number: number},
	}
	t.record.Store(&record)
	t.writes.Rank = engine.LockWrites
	t.haveEntries.Store(&map[andon.State]andon.State{})
	return t
}

func (t *tenant) states() *andon.StateSet { return t.record.Load().States }

// seen returns the states that have entries. The map must not be changed.
func (t *tenant) seen() map[andon.State]andon.State { return *t.haveEntries.Load() }

// sawStates enters states among those that have entries.
func (t *tenant) sawStates(states map[andon.State]andon.State) {
	if len(states) == 0 {
		return
	}
	all := maps.Clone(t.seen())
	for name, kept := range states {
		if _, ok := all[name]; !ok {
			all[name] = kept
		}
	}
	t.haveEntries.Store(&all)
}

// AdmitStates implements andon.Tenants. What it admits is in memory only: the entries write it
// down.
func (s *Store) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) (refused []andon.State, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := t.seen()
	isNew := func(state andon.State) bool { _, ok := seen[state]; return !ok }
	if !slices.ContainsFunc(states, isNew) {
		return nil, nil
	}
	t.admission.Lock()
	defer t.admission.Unlock()
	for state := range t.seen() {
		t.admitted[state] = true
	}
	return t.states().Admit(states, t.admitted, most), nil
}

// tenant returns a tenant that is there, unless the context has ended.
func (s *Store) tenant(ctx context.Context, id andon.TenantID) (*tenant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t := (*s.found.Load())[id]; t != nil {
		return t, nil
	}
	return nil, andon.NoTenant(id)
}

// ofTenants returns what there is of each tenant, in no order.
func ofTenants[T any](s *Store, of func(t *tenant) T) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]T, 0, len(s.tenants))
	for _, t := range s.tenants {
		list = append(list, of(t))
	}
	return list
}

func (s *Store) everyTenant() []*tenant {
	return ofTenants(s, func(t *tenant) *tenant { return t })
}

// find makes the tenants that there are now those that requests find. The caller has mu, or is
// alone.
func (s *Store) find() { s.found.Store(new(maps.Clone(s.tenants))) }

// Tenants implements andon.Tenants.
func (s *Store) Tenants(context.Context) ([]andon.Tenant, error) {
	list := ofTenants(s, func(t *tenant) andon.Tenant { return *t.record.Load() })
	slices.SortFunc(list, func(a, b andon.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Tenant implements andon.Tenants.
func (s *Store) Tenant(ctx context.Context, id andon.TenantID) (andon.Tenant, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return andon.Tenant{}, err
	}
	return *t.record.Load(), nil
}

// PutTenant implements andon.Tenants.
func (s *Store) PutTenant(ctx context.Context, is andon.Tenant) (andon.Tenant, error) {
	frees := is.Version != 0 // shorter retention is how a full disk is relieved
	if err := s.dir.Disk.Admit(ctx, frees); err != nil {
		return andon.Tenant{}, err
	}
	is.ID = andon.TenantID(strings.Clone(string(is.ID)))
	return s.changeTenant(ctx,
		func() (andon.Tenant, *engine.Batch, error) { return s.putTenant(ctx, is) })
}

// changeTenant has do put the record of a tenant into the log, if it is to change, and publishes it
// once it is on the disk. Only do belongs to the ordered section: other writes do not wait for the
// disk.
func (s *Store) changeTenant(
	ctx context.Context, do func() (andon.Tenant, *engine.Batch, error),
) (is andon.Tenant, err error) {
	var logged *engine.Batch
	next := uint64(0)
	err = s.ordered(ctx, func() (err error) {
		is, logged, err = do()
		next = s.pipe.Next
		return err
	})
	if err != nil || logged == nil {
		return is, err
	}
	if err := s.records.Await(logged); err != nil {
		return andon.Tenant{}, err
	}
	s.pipe.Publish(next)
	return is, nil
}

// putTenant belongs to the ordered section.
func (s *Store) putTenant(
	ctx context.Context, is andon.Tenant,
) (andon.Tenant, *engine.Batch, error) {
	t, err := s.tenant(ctx, is.ID)
	switch {
	case err == nil:
		was := t.record.Load()
		_, reorders := was.States.Reorders(is.States, slices.Collect(maps.Keys(t.seen())))
		is.Reordering = was.Reordering || reorders
		return s.writeTenant(t, is)
	case andon.KindOf(err) != andon.NotFound:
		return andon.Tenant{}, nil, err
	}
	number := uint32(1)
	if next, err := s.fixed(fixedTenant); err != nil {
		return andon.Tenant{}, nil, err
	} else if len(next) == 4 {
		number = binary.BigEndian.Uint32(next) // it was never used
	}
	t = newTenant(number, is)
	is, logged, err := s.writeTenant(t, is)
	if err != nil {
		return andon.Tenant{}, nil, err
	}
	s.mu.Lock()
	s.tenants[is.ID] = t
	s.find()
	s.mu.Unlock()
	return is, logged, nil
}

// writeTenant stores a record as the next version, and as a change of the tenant that is published
// after the ordered section, to which it belongs.
func (s *Store) writeTenant(t *tenant, is andon.Tenant) (andon.Tenant, *engine.Batch, error) {
	document, err := tenants.Encode(&is, tenants.Own{Place: t.number})
	if err != nil {
		return andon.Tenant{}, nil, err
	}
	logged, err := s.records.Change(&document, func(b *engine.Batch) error {
		if is.Version == 0 {
			b.Put(layout.FixedKey(fixedTenant), binary.BigEndian.AppendUint32(nil, t.number+1))
		}
		if err := s.records.Put(b, records.NoTenant, &document); err != nil || is.Version == 0 {
			return err
		}
		change := append([]byte{byte(andon.OfTenant)}, layout.EncodeDocument(&document)...)
		b.Put(layout.RowKey(s.pipe.Next), layout.AppendRow(nil, t.number, 0, &eventlog.Names{}))
		b.Put(layout.ChangeKey(t.number, s.pipe.Next), change)
		return nil
	})
	if err != nil {
		return andon.Tenant{}, nil, err
	}
	if is.Version != 0 {
		s.pipe.Add(s.pipe.Next, pending{tenant: t, fed: s.pipe.Next + 1})
	}
	is.Version = document.Version
	t.record.Store(&is)
	return is, logged, nil
}

// DeleteTenant implements andon.Tenants. Its number is not used again, so what may be left of it,
// such as records, belongs to no tenant.
func (s *Store) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	if id == andon.DefaultTenant {
		return andon.Errorf(andon.Conflict, "tenant %q always exists and can't be deleted", id)
	}
	return s.exclusively(func(d deletions) error {
		d.holdMerges()
		var t *tenant
		var logged *engine.Batch
		err := s.ordered(ctx, func() (err error) {
			t, logged, err = s.deleteTenant(ctx, id)
			return err
		})
		if err == nil {
			err = s.records.Await(logged)
		}
		if err == nil {
			d.entries.Tenant(t.entries)
			d.readings.Tenant(t.readings)
			t.feed.End()
		}
		return err
	})
}

// deleteTenant belongs to the ordered section.
func (s *Store) deleteTenant(
	ctx context.Context, id andon.TenantID,
) (*tenant, *engine.Batch, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	document := andon.Record{
		Kind: andon.TenantKind, ID: string(id), Version: t.record.Load().Version,
	}
	logged, err := s.records.Change(&document, func(b *engine.Batch) error {
		for _, table := range []byte(layout.TenantTables) {
			k := layout.NewKey(table, t.number)
			if err := b.DeleteRange(k, k.End(), nil); err != nil {
				return err
			}
		}
		err := s.records.Delete(b, records.NoTenant, &document)
		t.gone = err == nil // an error after this one ends the process
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	delete(s.tenants, id)
	s.find()
	s.mu.Unlock()
	for _, table := range []byte{layout.TableBlock, layout.TableReadingBlock} {
		k := layout.NewKey(table, t.number)
		s.reclaimer.Add(pebble.KeyRange{Start: k, End: k.End()})
	}
	return t, logged, nil
}

// loadTenants reads the records of the tenants, and the states that they have seen.
func (s *Store) loadTenants() error {
	for r, err := range s.Records(context.Background(), "", andon.TenantKind,
		andon.RecordQuery{Limit: math.MaxInt}) {
		if err != nil {
			return err
		}
		record, own, err := tenants.Decode(r)
		if err != nil {
			return err
		}
		number := own.Place
		t := newTenant(number, record)
		s.tenants[record.ID] = t
		seen := map[andon.State]andon.State{}
		states := layout.NewKey(layout.TableStateSeen, number)
		for it, err := range engine.Rows(context.Background(), s.db, states) {
			if err != nil {
				return err
			}
			state, _, ok := layout.TakeText(it.Key()[len(states):])
			if !ok {
				return layout.ErrDamaged
			}
			seen[andon.State(state)] = andon.State(state)
		}
		t.sawStates(seen)
		metrics := layout.NewKey(layout.TableMetric, number)
		for _, err := range engine.Rows(context.Background(), s.db, metrics) {
			if err != nil {
				return err
			}
			t.hadReadings.Store(true)
			break
		}
		if had, err := s.get(layout.HadReadingsKey(number)); err != nil {
			return err
		} else if had != nil {
			t.hadReadings.Store(true)
		}
		if err := s.loadWithdrawals(t); err != nil {
			return err
		}
	}
	s.find()
	return nil
}

// Had implements andon.Tenants. A metric stays known when its readings have expired.
func (s *Store) Had(
	ctx context.Context, id andon.TenantID,
) (events, readings bool, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return false, false, err
	}
	return len(t.seen()) > 0, t.hadReadings.Load(), nil
}

// keepNumbers puts into the batch of a purge that no number is used again.
func keepNumbers(b *engine.Batch, t *tenant) {
	b.Put(layout.NumbersKey(t.number), layout.Key(nil).Number(t.fleet.Numbers()))
}

// reserveNumbers leaves out the numbers of devices that were purged.
func (s *Store) reserveNumbers(t *tenant) error {
	value, err := s.get(layout.NumbersKey(t.number))
	if err != nil || value == nil {
		return err
	}
	count, _, ok := layout.TakeNumber(value)
	if !ok || count > layout.MostDevices {
		return layout.ErrDamaged
	}
	t.fleet.Reserve(count)
	return nil
}
