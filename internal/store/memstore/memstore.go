// Package memstore is the reference store. It keeps everything in memory, and is so simple that a
// reader can see that it is right.
//
// It keeps what was appended, in the order of the log, and computes every answer from that. It
// maintains no state step by step, so nothing can drift; storetest compares the other stores with
// it. It must not know an engine, a transport or a clock, and must stay simple.
package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Store is an andon.Store that lasts as long as the process.
type Store struct {
	andon.NoMaintenance

	mu      sync.Mutex
	tenants map[andon.TenantID]*tenant
	records map[recordKey]andon.Record
	version uint64 // the last that a record was given
}

var _ andon.Store = (*Store)(nil)

type tenant struct {
	record  andon.Tenant // as its document has it
	devices map[andon.DeviceID]*device
	group   func(andon.DeviceID) uint32 // the number of a device, as Regroup has it

	admitted map[andon.State]bool // with those that ever had an entry

	hadEvents, hadReadings bool

	feed    *following
	touched map[andon.DeviceID]bool
}

// New returns a store that holds DefaultTenant and nothing else.
func New() *Store {
	s := &Store{tenants: map[andon.TenantID]*tenant{}, records: map[recordKey]andon.Record{}}
	if _, err := s.put(andon.NewTenant(andon.DefaultTenant)); err != nil {
		panic("memstore: " + err.Error()) // nothing can be in its way
	}
	return s
}

// Capabilities says that everything is served and nothing survives.
func (s *Store) Capabilities() andon.Capabilities {
	return andon.Capabilities{
		Name: "memory", Immediate: true, AtomicBatch: true, AtomicAssign: true,
		Whole: true, SortDevices: true, MetricReadings: true, TenantEvents: true,
		Withdraw: true, Purge: true, Reorder: true, CountNames: true, Changes: true,
		Arrivals: true,
	}
}

// Ready returns nil: memory is always there.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Close does nothing; what was kept goes with the Store.
func (s *Store) Close() error { return nil }

// alone runs do while no one else uses the store.
func (s *Store) alone(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}

func (s *Store) within(ctx context.Context, id andon.TenantID, do func(*tenant) error) error {
	return s.alone(ctx, func() error {
		t, ok := s.tenants[id]
		if !ok {
			return andon.NoTenant(id)
		}
		return do(t)
	})
}

func ask[T any](
	ctx context.Context, s *Store, id andon.TenantID, find func(*tenant) (T, error),
) (found T, err error) {
	err = s.within(ctx, id, func(t *tenant) (err error) {
		found, err = find(t)
		return err
	})
	return found, err
}

// list gathers a page and yields it with no lock held, so that a consumer may call the store.
func list[T any](
	ctx context.Context, s *Store, id andon.TenantID, gather func(*tenant) []T,
) iter.Seq2[T, error] {
	return seq.List(func() ([]T, error) {
		return ask(ctx, s, id, func(t *tenant) ([]T, error) { return gather(t), nil })
	})
}

// device returns what is kept of a device, adding it where there is none.
func (t *tenant) device(id andon.DeviceID) *device {
	d, ok := t.devices[id]
	if !ok {
		d = newDevice(t, id)
		t.devices[d.id] = d
	}
	return d
}

// known returns the devices named that anything is kept of.
func (t *tenant) known(ids ...andon.DeviceID) []*device {
	var found []*device
	for _, id := range ids {
		if d, ok := t.devices[id]; ok {
			found = append(found, d)
		}
	}
	return found
}

// sorted returns every device that anything is kept of, by id.
func (t *tenant) sorted() []*device {
	return t.known(slices.Sorted(maps.Keys(t.devices))...)
}

// clone copies a text that may be part of a caller's buffer.
func clone[S ~string](text S) S { return S(strings.Clone(string(text))) }

// firstOf returns at most limit items from the front.
func firstOf[T any](items []T, limit int) []T {
	return items[:min(limit, len(items))]
}
