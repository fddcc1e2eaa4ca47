package dynamostore

import (
	"errors"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// TestSeverityChangesAtTheFirstEntry: one process changes the severity of a state when another
// process, which does not know of it yet, writes the first entry of that state: no device stays as
// it was folded by the severity before.
func TestSeverityChangesAtTheFirstEntry(t *testing.T) {
	f := newFake()
	one, other := f.open(t), f.open(t)
	id := andon.DefaultTenant
	normal := func(state andon.State) (is andon.Tenant) {
		t.Helper()
		is, err := one.Tenant(t.Context(), id)
		if err == nil {
			is.States, err = andon.NewStateSet(append(slices.Clone(is.States.Defs()),
				andon.StateDef{Name: state, Severity: 0}))
		}
		if err == nil {
			is, err = one.PutTenant(t.Context(), is)
		}
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	_, known := other.Tenant(t.Context(), id)
	normal("FIRST")
	if err := errors.Join(known, send(other, "d", 0, "FIRST")); err != nil {
		t.Fatal(err)
	}
	d, err := other.Device(t.Context(), id, "d")
	if d.Severity != 0 || d.IncidentSince != 0 || err != nil {
		t.Errorf("after the change it shows %+v, %v", d, err)
	}
	f.failing(func(operation string) string {
		if operation != "PutItem" {
			return ""
		}
		f.failing(nil) // the record of the tenant is about to be stored
		if err := send(other, "d", 5, "SECOND"); err != nil {
			t.Error(err)
		}
		return ""
	})
	if is := normal("SECOND"); !is.Reordering {
		t.Error("a device that is folded by the severity before is not folded again")
	}
}
