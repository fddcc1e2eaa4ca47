package records_test

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestForgetAbsence: an absent metric of a device that is purged is forgotten, which may not be in
// the feed, and what it showed is not, which is.
func TestForgetAbsence(t *testing.T) {
	store := memstore.New()
	in := records.NewIncidents(store, func() andon.Time { return begin })
	s := &people.Setting{Now: begin, Known: &people.Known{
		Rules: []*rules.Rule{{Name: "r", When: rules.Condition{Absent: 1}}},
	}}
	in.Setting = func(context.Context, andon.TenantID) (*people.Setting, error) { return s, nil }
	opened(t, store, in, "d")
	kind := people.AbsentKind + "r"
	absent := &records.Held{Incident: people.Open(s, records.IDOf(begin, records.Place("d", kind)),
		"d", kind, &people.Observation{Holds: true, Since: begin})}
	if err := in.Put(t.Context(), "default", absent); err != nil {
		t.Fatal(err)
	}
	if err := in.Forget(t.Context(), "default", "d", andon.Position{}); err != nil {
		t.Fatal(err)
	}
	all, err := in.Open(t.Context(), "default")
	if err != nil || len(all) != 1 || all[0].Kind != people.StateKind {
		t.Errorf("%v are open, %v", all, err)
	}
}
