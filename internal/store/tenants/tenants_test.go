package tenants

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestTenantsComeBack: all that is set of a tenant is stored.
func TestTenantsComeBack(t *testing.T) {
	states, err := andon.NewStateSet([]andon.StateDef{{Name: "OK"}, {Name: "BAD", Severity: 7}})
	if err != nil {
		t.Fatal(err)
	}
	want := andon.Tenant{
		ID: "plant", Version: 3, Events: andon.NewTenant("a").Readings,
		Readings: andon.NewTenant("a").Readings, MaxFuture: 4, SilentAfter: 5, States: states,
		LongestShelf: 12,
		Unknown:      andon.RefuseUnknown,
		Floor:        andon.Horizon{Events: andon.MinTime + 6, Readings: andon.MinTime + 7},
		Reordering:   true, Clock: andon.ClockMark{Believed: andon.MinTime + 8},
	}
	for i := range reflect.TypeOf(want).NumField() {
		if reflect.ValueOf(want).Field(i).IsZero() {
			t.Errorf("%s is not set here", reflect.TypeOf(want).Field(i).Name)
		}
	}
	own := Own{Place: 9, Generation: 10, Former: []Severities{{Generation: 11}}}
	record, err := Encode(&want, own)
	if err != nil {
		t.Fatal(err)
	}
	got, gotOwn, err := Decode(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.States.Defs(), got.States.Defs()); diff != "" {
		t.Error(diff)
	}
	got.States = want.States
	if diff := cmp.Diff(own, gotOwn); diff != "" || got != want {
		t.Errorf("got %+v, want %+v; %s", got, want, diff)
	}
}
