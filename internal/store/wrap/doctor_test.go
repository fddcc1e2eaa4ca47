package wrap_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// talkative is a store that has something to add.
type talkative struct {
	andon.Store
	err error
}

func (t *talkative) Capabilities() andon.Capabilities { return andon.Capabilities{Name: "ring 5"} }

func (t *talkative) Diagnose(_ context.Context, tell func(name, value, source string)) error {
	tell("replication", "3 in eu-1", "DESCRIBE KEYSPACE andon")
	return t.err
}

func TestFacts(t *testing.T) {
	s := memstore.New()
	if _, err := s.PutTenant(t.Context(), andon.NewTenant("plant")); err != nil {
		t.Fatal(err)
	}
	got, err := wrap.Facts(t.Context(), &talkative{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	const declared, records = "what the store declares", "the records of the tenants"
	want := []wrap.Fact{
		{"engine", "ring 5", declared},
		{"acknowledged events are shown", "in a moment", declared},
		{"the events of a request are kept", "may be in part", declared},
		{"can't serve", "devices in orders other than by id; one metric across devices", declared},
		{"tenants", "2", records},
		{"retention of 2", "events forever, readings 30d", records},
		{"replication", "3 in eu-1", "DESCRIBE KEYSPACE andon"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = wrap.Facts(t.Context(), &talkative{s, errors.New("gone")})
	if err == nil || len(got) != len(want) {
		t.Errorf("got %d facts, %v", len(got), err)
	}
	got, err = wrap.Facts(t.Context(), s)
	if err != nil || len(got) != 5 {
		t.Errorf("a store that has nothing to add: %v, %v", got, err)
	}
}
