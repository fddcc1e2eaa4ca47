package feed

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

const minute = andon.Duration(60_000_000)

// quiet is a logger of Pebble.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) { panic("pebble can't go on") }

// store is a database with rows of changes, as a store writes them.
type store struct {
	*Changes
	t       *testing.T
	next    uint64
	tenants []*Tenant
}

func newStore(t *testing.T, names ...andon.TenantID) *store {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: vfs.NewMem(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &store{t: t, next: 1}
	for i, name := range names {
		s.tenants = append(s.tenants, &Tenant{ID: name, Number: uint32(i + 1)})
	}
	s.Changes = &Changes{Config: Config{
		DB: db, Log: slog.New(slog.DiscardHandler), For: time.Hour, Bytes: 1 << 20,
		Published: func() uint64 { return s.next }, Tenants: func() []*Tenant { return s.tenants },
	}}
	s.open()
	return s
}

func (s *store) open() {
	s.t.Helper()
	if err := s.Open(s.next); err != nil {
		s.t.Fatal(err)
	}
}

// change writes a change of a tenant that arrives at a time.
func (s *store) change(t *Tenant, received andon.Time) {
	s.t.Helper()
	row := layout.AppendChange(nil, &andon.Change{
		Kind: andon.ByEntry, Device: "d", After: &andon.Device{ID: "d", State: "A", Time: received},
	})
	if err := s.DB.Set(layout.ChangeKey(t.Number, s.next), row, pebble.NoSync); err != nil {
		s.t.Fatal(err)
	}
	s.next++
	t.Notify(s.next)
	s.Grow(received, len(row), s.next-1)
}

// read returns how many changes of a tenant there are after a position.
func (s *store) read(t *Tenant, after andon.Position) (n int, err error) {
	for _, err := range s.Read(s.t.Context(), t, after) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestPositionsOfOpenings: a position is resumed in a later opening, and not in a store that was
// set back to before it, although its sequence comes again.
func TestPositionsOfOpenings(t *testing.T) {
	s := newStore(t, "a", "b")
	one := s.tenants[0]
	_, first := s.Kept(one)
	s.change(one, andon.MinTime)
	s.open()
	if n, err := s.read(one, first); n != 1 || err != nil {
		t.Errorf("in a later opening there are %d changes, %v", n, err)
	}
	if _, err := s.read(s.tenants[1], first); andon.KindOf(err) != andon.Gone {
		t.Errorf("the position of another tenant: %v", err)
	}
	before := s.next
	s.change(one, andon.MinTime)
	_, lost := s.Kept(one)
	s.next = before
	s.open()
	s.change(one, andon.MinTime)
	s.change(one, andon.MinTime)
	if _, err := s.read(one, lost); andon.KindOf(err) != andon.Gone {
		t.Errorf("a position from after the copy: %v", err)
	}
}

// TestTrimming: changes are kept for about as long as is set. The reader of a quiet tenant resumes
// where it was; one whose next change was deleted does not.
func TestTrimming(t *testing.T) {
	s := newStore(t, "busy", "quiet")
	busy, still := s.tenants[0], s.tenants[1]
	_, first := s.Kept(still)
	s.change(still, andon.MinTime)
	_, last := s.Kept(still)
	for i := range 200 {
		s.change(busy, andon.MinTime.Add(andon.Duration(i)*minute))
	}
	oldest, _ := s.Kept(busy)
	if n, err := s.read(busy, oldest); err != nil || n < 55 || n > 75 {
		t.Errorf("%d changes are kept for an hour, %v", n, err)
	}
	if n, err := s.read(still, last); n != 0 || err != nil {
		t.Errorf("the quiet tenant has %d changes, %v", n, err)
	}
	if _, err := s.read(still, first); andon.KindOf(err) != andon.Gone {
		t.Errorf("a position before what was deleted: %v", err)
	}
	kept := 0
	for range engine.Rows(t.Context(), s.DB, layout.Key{layout.TableChange}) {
		kept++
	}
	if kept > 75 {
		t.Errorf("%d rows are left", kept)
	}
}

// TestWrongClock: a change that arrives under a clock years ahead deletes nothing.
func TestWrongClock(t *testing.T) {
	s := newStore(t, "a")
	one := s.tenants[0]
	_, first := s.Kept(one)
	for i := range 20 {
		s.change(one, andon.MinTime.Add(andon.Duration(i)*minute))
	}
	s.change(one, andon.MinTime.Add(5*365*24*60*minute))
	s.change(one, andon.MinTime.Add(21*minute))
	if n, err := s.read(one, first); n != 22 || err != nil {
		t.Errorf("%d changes are kept, %v", n, err)
	}
}

// TestFlushKeepsRowsForTheirOrder as many as are wanted, and each that the checkpoint does not
// hold.
func TestFlushKeepsRowsForTheirOrder(t *testing.T) {
	s := newStore(t)
	a := Arrivals{For: time.Hour, Bytes: 2500}
	flush := func(end, shown uint64, received andon.Time) (deleted int64) {
		t.Helper()
		a.Arrived(received)
		b := engine.NewBatch(s.DB)
		defer b.Release()
		deleted, done := a.Flush(b, end, shown, 1000)
		if err := b.Write(pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		done()
		return deleted
	}
	hour := 60 * minute
	flush(10, 10, andon.MinTime)
	flush(20, 10, andon.MinTime.Add(hour))
	flush(30, 10, andon.MinTime.Add(2*hour))
	if first := a.First(); first != 10 {
		t.Errorf("the first row is %d: those before 10 are too many, and in the checkpoint", first)
	}
	flush(40, 40, andon.MinTime.Add(3*hour))
	if first := a.First(); first != 20 {
		t.Errorf("the first row is %d, those of 20 to 40 are wanted", first)
	}
	if deleted := flush(50, 50, andon.MinTime.Add(3*hour).Add(minute/60)); deleted != 1000 {
		t.Errorf("of rows that came too fast %d bytes were deleted", deleted)
	}
	var again Arrivals
	if err := again.Open(s.DB, 50); err != nil || again.First() != 50 {
		t.Errorf("opened again, the first row is %d, %v", again.First(), err)
	}
}
