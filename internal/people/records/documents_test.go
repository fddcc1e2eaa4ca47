package records_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

const (
	liz    = `{"contacts": [{"channel": "mail", "address": "liz@example.com"}]}`
	line3  = `{"layers": [{"people": ["Liz"], "from": "2026-01-01", "turn": "1d", "hand_over": "06:00"}]}`
	policy = `{"match": {}, "steps": [{"after": "0s", "to": "schedule line-3"}]}`
)

func TestDocuments(t *testing.T) {
	store, now := memstore.New(), andon.MinTime+1e15
	clock := func() andon.Time { return now }
	here, there := records.NewDocuments(store, clock), records.NewDocuments(store, clock)
	ctx, tenant := t.Context(), andon.DefaultTenant
	put := func(kind people.DocumentKind, name, text string, version uint64) (records.Document, error) {
		return here.Put(ctx, tenant, kind,
			records.Document{Name: name, Data: andon.JSON(text), Version: version})
	}
	known := func(d *records.Documents) int {
		k, err := d.Known(ctx, tenant)
		if err != nil {
			t.Fatal(err)
		}
		return len(k.People) + len(k.Rosters) + len(k.Policies) + len(k.Maintenance)
	}
	failsAt := func(err error, kind andon.Kind, place string) {
		t.Helper()
		if andon.KindOf(err) != kind {
			t.Fatalf("%v is not %s", err, kind)
		}
		if place == "" {
			return
		}
		if e := new(records.Faulty); !asFaulty(err, &e) || place != faultAt(e) {
			t.Fatalf("%v is not at %s", err, place)
		}
	}
	if known(here)+known(there)+known(there) != 0 { // from the second time on it is kept
		t.Fatal("there are documents")
	}
	_, err := put(people.Schedules, "line-3", line3, records.AnyVersion)
	failsAt(err, andon.Invalid, "body.layers[0].people[0]")
	_, err = put(people.Policies, "p", policy, records.AnyVersion)
	failsAt(err, andon.Invalid, "body.steps[0].to")

	all := []records.Change{
		{Kind: people.Policies, Document: records.Document{Name: "p", Data: policy, Version: records.AnyVersion}},
		{Kind: people.Schedules, Document: records.Document{Name: "line-3", Data: line3, Version: records.AnyVersion}},
		{Kind: people.Persons, Document: records.Document{Name: "Liz", Data: liz}},
	}
	if _, err := here.PutAll(ctx, tenant, all, true); err != nil || known(here) != 0 {
		t.Fatal("a dry run:", err, known(here))
	}
	kept, err := here.PutAll(ctx, tenant, all, false)
	if err != nil || kept[0].Name != "p" || kept[0].Before != 0 || kept[0].Version == 0 {
		t.Fatal(kept, err)
	}
	if known(here) != 3 || known(there) != 0 {
		t.Error("at once:", known(here), "here,", known(there), "elsewhere")
	}
	now += 1e6
	if known(there) != 3 {
		t.Error("after a second:", known(there), "elsewhere")
	}

	first := kept[2]
	again, err := put(people.Persons, "Liz", " "+liz, first.Version)
	if err != nil || again.Version != first.Version || again.Before != first.Version {
		t.Error("equal content:", again, err)
	}
	changed, err := put(people.Persons, "Liz", `{}`, first.Version)
	if err != nil || changed.Version == first.Version || changed.Before != first.Version {
		t.Error("a change:", changed, err)
	}
	_, err = put(people.Persons, "Liz", liz, first.Version)
	failsAt(err, andon.Conflict, "")
	_, err = put(people.Persons, "Liz", liz, 0)
	failsAt(err, andon.Conflict, "")

	failsAt(here.Delete(ctx, tenant, people.Persons, "Liz", records.AnyVersion), andon.Conflict, "")
	failsAt(here.Delete(ctx, tenant, people.Persons, "Tom", records.AnyVersion), andon.NotFound, "")
	for _, kind := range []people.DocumentKind{people.Policies, people.Schedules, people.Persons} {
		name := map[people.DocumentKind]string{
			people.Policies: "p", people.Schedules: "line-3", people.Persons: "Liz",
		}[kind]
		if err := here.Delete(ctx, tenant, kind, name, records.AnyVersion); err != nil {
			t.Error(err)
		}
	}
	if known(here) != 0 {
		t.Error("what was deleted is known")
	}
	_, err = here.Known(ctx, "nobody")
	failsAt(err, andon.NotFound, "")
}
