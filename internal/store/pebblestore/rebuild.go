package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// rebuild makes what is shown from the checkpoint and the rows behind it, and beside that the head
// from the rows whose entries are in no block.
func (s *Store) rebuild(context.Context) error {
	m, err := s.readMarker()
	if err != nil {
		return err
	}
	s.checkpoints.marker, s.pipe.Next = m, m.settled
	err = engine.Together(func() error { return s.fillHead(m) },
		func() error { return s.loadFleets(m) })
	s.pipe.Open(s.pipe.Next)
	return err
}

// fillHead takes the entries of rows into the head.
func (s *Store) fillHead(m marker) error {
	tenants := map[uint32]bool{}
	for _, t := range s.tenants {
		tenants[t.number] = true
	}
	f := &filling{tenants: tenants, head: s.log.Memory.Loading()}
	r := layout.NewRowReader(f)
	err := s.readAhead(m.settled, func(sequence uint64, row []byte) error {
		s.checkpoints.grown.Add(int64(len(row)))
		s.pipe.Next = sequence + 1
		return errors.Join(r.Read(row), f.err)
	})
	s.arrivals.Arrived(f.first)
	s.arrivals.Arrived(f.latest)
	return err
}

// loadFleets makes what is shown.
func (s *Store) loadFleets(m marker) error {
	byNumber := map[uint32]*rebuilding{}
	for _, t := range s.tenants {
		byNumber[t.number] = newRebuilding(t)
		if err := s.loadCheckpoint(t); err != nil {
			return err
		}
	}
	r := layout.NewRowReader(&folding{tenants: byNumber})
	err := s.readAhead(m.shown, func(sequence uint64, row []byte) error {
		if sequence < m.settled {
			s.checkpoints.lag.Add(int64(len(row)))
		}
		return r.Read(row)
	})
	if err != nil {
		return err
	}
	for _, t := range s.tenants {
		t.fleet.Loaded()
		if err := s.reserveNumbers(t); err != nil {
			return err
		}
	}
	return nil
}

// loadCheckpoint loads the devices of the checkpoint: many in parts, beside each other.
func (s *Store) loadCheckpoint(t *tenant) error {
	const least = 1 << 12 // devices in a part
	behind, err := s.behindCheckpoint(t.number)
	if err != nil {
		return err
	}
	parts := min(uint32(runtime.GOMAXPROCS(0)), behind/least+1)
	var loading sync.Mutex
	steps := make([]func() error, parts)
	for i := range parts {
		from, to := behind/parts*i, behind/parts*(i+1)
		if i == parts-1 {
			to = behind
		}
		steps[i] = func() error { return s.loadPart(t, from, to, &loading) }
	}
	return engine.Together(steps...)
}

// behindCheckpoint returns the number behind the last device of the checkpoint.
func (s *Store) behindCheckpoint(tenant uint32) (uint32, error) {
	prefix := layout.NewKey(layout.TableCheckpoint, tenant)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.End()})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Last() {
		return 0, it.Error()
	}
	number, _, ok := layout.TakeNumber(it.Key()[len(prefix):])
	if !ok || number > layout.MostDevices {
		return 0, layout.ErrDamaged
	}
	return number + 1, nil
}

// loadPart loads the devices whose numbers are in [from, to), some at a time.
func (s *Store) loadPart(t *tenant, from, to uint32, loading *sync.Mutex) error {
	const some = 256
	var numbers [some]uint32
	var devices [some]current.Device
	n := 0
	load := func() {
		loading.Lock()
		defer loading.Unlock()
		for i := range n {
			t.fleet.Load(numbers[i], &devices[i])
		}
		n = 0
	}
	names := layout.NewInterner()
	err := s.checkpointed(t.number, from, to, func(number uint32, value []byte) error {
		numbers[n] = number
		err := layout.ReadCheckpoint(&devices[n], value, names)
		if n++; n == some {
			load()
		}
		return err
	})
	load()
	return err
}

// checkpointed visits the devices of the checkpoint whose numbers are in [from, to): each as
// readCheckpointed reads it.
func (s *Store) checkpointed(
	tenant, from, to uint32, visit func(number uint32, value []byte) error,
) error {
	at := func(number uint32) layout.Key {
		return layout.NewKey(layout.TableCheckpoint, tenant).
			Number(number)
	}
	prefix := len(layout.NewKey(layout.TableCheckpoint, tenant))
	for k, value := range engine.RowsBetween(s.db, at(from), at(to), prefix) {
		number, _, ok := layout.TakeNumber(k)
		if !ok || number > layout.MostDevices {
			return layout.ErrDamaged
		}
		if err := visit(number, value); err != nil {
			return err
		}
	}
	return nil
}

// rebuilding is the devices of one tenant while they are read. A device without an ID was never
// named.
type rebuilding struct {
	tenant *tenant
	names  *layout.Interner
	// take copies the device of a number, and put takes in how it was changed.
	take   func(number uint32, d *current.Device)
	put    func(number uint32, d *current.Device)
	device current.Device // room for change
}

func newRebuilding(t *tenant) *rebuilding {
	r := &rebuilding{tenant: t, names: layout.NewInterner()}
	r.take = func(number uint32, d *current.Device) {
		if slot := t.fleet.At(number); slot != nil {
			*d = t.fleet.Shown(slot)
		}
	}
	r.put = func(number uint32, d *current.Device) {
		t.fleet.Load(number, d)
		if slot := t.fleet.At(number); slot != nil {
			slot.Note = neverWritten
		}
	}
	return r
}

// loose are devices of one tenant by number that are in no fleet.
type loose map[uint32]current.Device

func (f loose) put(number uint32, d *current.Device) { f[number] = *d }

func (f loose) rebuilding(t *tenant) *rebuilding {
	return &rebuilding{
		tenant: t, names: layout.NewInterner(), put: f.put,
		take: func(number uint32, d *current.Device) { *d = f[number] },
	}
}

// folding folds rows in. A row of a tenant that was deleted belongs to no one.
type folding struct {
	tenants  map[uint32]*rebuilding
	into     *rebuilding
	received andon.Time
}

func (f *folding) Begin(tenant uint32, received andon.Time) bool {
	f.into, f.received = f.tenants[tenant], received
	return f.into != nil
}

func (*folding) Entry(uint32, eventlog.Entry) {}

func (f *folding) Change(w *layout.Reader, number uint32, base andon.Time) {
	f.into.change(w, number, base, f.received)
}

// change folds in how a row says that a device changed.
func (r *rebuilding) change(w *layout.Reader, number uint32, base, received andon.Time) {
	d := &r.device
	*d = current.Device{}
	r.take(number, d)
	parts := w.Byte()
	if parts&layout.PartNamed != 0 {
		if d.ID = andon.DeviceID(w.Str()); d.ID == "" { // it was purged
			*d = current.Device{}
		}
	}
	w.Names = r.names
	w.Parts(parts, d, base)
	if !w.Bad {
		d.Received = max(d.Received, received)
		r.put(number, d)
	}
}

// filling adds the entries of rows to a head.
type filling struct {
	tenants map[uint32]bool
	head    *eventlog.Head
	tenant  uint32
	err     error      // of an entry that does not fit
	first   andon.Time // when the first message of the rows came, and the last
	latest  andon.Time
}

func (f *filling) Begin(tenant uint32, received andon.Time) bool {
	f.tenant = tenant
	f.first, f.latest = cmp.Or(f.first, received), cmp.Or(received, f.latest)
	return f.tenants[tenant]
}

func (f *filling) Entry(number uint32, e eventlog.Entry) {
	if err := f.head.Add(f.tenant, number, e); f.err == nil {
		f.err = err
	}
}

func (f *filling) Change(w *layout.Reader, number uint32, base andon.Time) {
	if w.SkipDeviceChange(base) {
		f.head.Forget(f.tenant, number)
	}
}
