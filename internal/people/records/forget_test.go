package records_test

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestForgetAbsence: an absent metric of a device is shown although its rule is gone. When the
// device is purged it is forgotten, which may not be in the feed, and what it showed is not, which
// is.
func TestForgetAbsence(t *testing.T) {
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return begin })
	opened(t, store, in, "d")
	kind := people.AbsentKind + "r"
	s := &people.Setting{Now: begin, Known: &people.Known{}}
	id := records.IDOf(begin, records.Place("d", kind))
	absent := &records.Held{Incident: people.Open(s, id, "d", kind,
		&people.Observation{Holds: true, Since: begin})}
	if err := in.Put(t.Context(), "default", absent); err != nil {
		t.Fatal(err)
	}
	shown, err := in.OfDevice(t.Context(), "default", "d", andon.Span{}, 10)
	if err != nil || len(shown) != 2 {
		t.Errorf("its page shows %v, %v", shown, err)
	}
	if err := in.Forget(t.Context(), "default", "d", andon.Position{}); err != nil {
		t.Fatal(err)
	}
	all, err := in.Open(t.Context(), "default")
	if err != nil || len(all) != 1 || all[0].Kind != people.StateKind {
		t.Errorf("%v are open, %v", all, err)
	}
}

// busy is a store in which another writer changes an incident just before it is deleted, or which
// can't store a kind of record.
type busy struct {
	andon.Store
	before func()
	fails  andon.RecordKind
}

func (b *busy) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if r.Kind == b.fails {
		return r, andon.Errorf(andon.Unavailable, "the network is down")
	}
	return b.Store.PutRecord(ctx, r)
}

func (b *busy) DeleteRecord(ctx context.Context, r andon.Record) error {
	if do := b.before; do != nil && r.Kind == records.OpenKind {
		b.before = nil
		do()
	}
	return b.Store.DeleteRecord(ctx, r)
}

// TestForgetWhileChanged: an incident of a device that was purged goes though somebody changes it
// meanwhile.
func TestForgetWhileChanged(t *testing.T) {
	store := &busy{Store: memstore.New()}
	in := records.NewIncidents(store, func() andon.Time { return begin })
	h := opened(t, store, in, "d")
	store.before = func() {
		if err := in.Put(t.Context(), "default", h); err != nil {
			t.Error(err)
		}
	}
	err := in.Forget(t.Context(), "default", "d", andon.Position{Feed: 1, Sequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := in.Open(t.Context(), "default"); err != nil || len(all) > 0 {
		t.Errorf("%v are open, %v", all, err)
	}
}

// TestForgetHalfClosed: an incident goes of which a process was killed as it put it among those
// that are closed.
func TestForgetHalfClosed(t *testing.T) {
	store := &busy{Store: memstore.New(), fails: "incident_of"}
	in := records.NewIncidents(store, func() andon.Time { return begin })
	h := opened(t, store, in, "d")
	h.Close(&people.Setting{Now: begin, Known: &people.Known{}}, "")
	if err := in.Put(t.Context(), "default", h); andon.KindOf(err) != andon.Unavailable {
		t.Fatal(err)
	}
	store.fails = ""
	err := in.Forget(t.Context(), "default", "d", andon.Position{Feed: 1, Sequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if is, err := in.Get(t.Context(), "default", h.ID); andon.KindOf(err) != andon.NotFound {
		t.Errorf("there is %+v, %v", is, err)
	}
}
