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

func (t *talkative) Capabilities() andon.Capabilities {
	return andon.Capabilities{Name: "ring 5", Whole: true}
}

func (t *talkative) Diagnose(
	_ context.Context, report func(name, value, source string, advice ...string),
) error {
	report("replication", "1 in eu-1", "DESCRIBE KEYSPACE andon", "use 3")
	return t.err
}

func (t *talkative) Figures(report func(name, help string, value float64, labels ...string)) {
	report("nodes", "Nodes of the ring.", 5)
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
		{Name: "engine", Value: "ring 5", Source: declared},
		{Name: "acknowledged events are shown", Value: "in a moment", Source: declared},
		{Name: "the events of a request are kept", Value: "may be in part", Source: declared},
		{Name: "the assignments of a request are kept", Value: "may be in part", Source: declared},
		{
			Name: "can't serve", Source: declared,
			Value: "devices in orders other than by id; one metric across devices; " +
				"entries of all devices in one list; " +
				"withdrawing an entry; purging a device; " +
				"another severity of a state that has entries; " +
				"how many devices a name has; a feed of changes; " +
				"entries in the order of their arrival",
		},
		{Name: "tenants", Value: "2", Source: records},
		{Name: "retention of 2 tenants", Value: "events forever, readings 30d", Source: records},
		{"replication", "1 in eu-1", "DESCRIBE KEYSPACE andon", "use 3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = wrap.Facts(t.Context(), &talkative{s, errors.New("gone")})
	if err == nil || len(got) != len(want) {
		t.Errorf("got %d facts, %v", len(got), err)
	}
	got, err = wrap.Facts(t.Context(), s)
	if err != nil || len(got) != 7 {
		t.Errorf("a store that has nothing to add: %v, %v", got, err)
	}
}
