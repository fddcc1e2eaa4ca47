package records_test

import (
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
