package records_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

const (
	liz   = `{"contacts": [{"channel": "mail", "address": "liz@example.com"}]}`
	line3 = `{"layers": [{"people": ["Liz"], "from": "2026-01-01", "turn": "1d",` +
		` "hand_over": "06:00"}]}`
	policy = `{"match": {}, "steps": [{"after": "0s", "to": "schedule line-3"}]}`
)

// house is Documents of two processes on one store.
type house struct {
	*testing.T
	now         andon.Time
	here, there *records.Documents
	store       andon.Store
}

func newHouse(t *testing.T) *house {
	store := memstore.New()
	h := &house{T: t, now: andon.MinTime + 1e15, store: store}
	clock := func() andon.Time { return h.now }
	h.here, h.there = records.NewDocuments(store, clock), records.NewDocuments(store, clock)
	return h
}

func (h *house) put(
	kind people.DocumentKind, name, text string, over ...uint64,
) (records.Document, error) {
	return h.here.Put(h.Context(), andon.DefaultTenant, kind,
		records.Document{Name: name, Data: andon.JSON(text)}, over)
}

func (h *house) known(d *records.Documents) int {
	k, err := d.Known(h.Context(), andon.DefaultTenant)
	if err != nil {
		h.Fatal(err)
	}
	return len(k.People) + len(k.Rosters) + len(k.Policies) + len(k.Maintenance)
}

func (h *house) failsAt(err error, kind andon.Kind, place string) {
	h.Helper()
	if andon.KindOf(err) != kind {
		h.Fatalf("%v is not %s", err, kind)
	}
	if place == "" {
		return
	}
	if e := new(records.Faulty); !asFaulty(err, &e) || place != faultAt(e) {
		h.Fatalf("%v is not at %s", err, place)
	}
}

// all are documents that need each other.
func all() []records.Change {
	return []records.Change{
		{Kind: people.Policies, Document: records.Document{Name: "p", Data: policy}},
		{Kind: people.Schedules, Document: records.Document{Name: "line-3", Data: line3}},
		{Kind: people.Persons, Document: records.Document{Name: "Liz", Data: liz}},
	}
}

func TestDocuments(t *testing.T) {
	h, ctx, tenant := newHouse(t), t.Context(), andon.DefaultTenant
	n := h.known(h.here) + h.known(h.there) + h.known(h.there) // the second time it is kept
	if n != 0 {
		h.Fatal("there are documents:", n)
	}
	_, err := h.put(people.Schedules, "line-3", line3)
	h.failsAt(err, andon.Invalid, "body.layers[0].people[0]")
	_, err = h.put(people.Policies, "p", policy)
	h.failsAt(err, andon.Invalid, "body.steps[0].to")

	if _, err := h.here.PutAll(ctx, tenant, all(), true); err != nil || h.known(h.here) != 0 {
		h.Fatal("a dry run:", err, h.known(h.here))
	}
	kept, err := h.here.PutAll(ctx, tenant, all(), false)
	if err != nil || kept[0].Name != "p" || kept[0].Before != 0 || kept[0].Version == 0 {
		h.Fatal(kept, err)
	}
	if h.known(h.here) != 3 || h.known(h.there) != 0 {
		h.Error("at once:", h.known(h.here), "here,", h.known(h.there), "elsewhere")
	}
	h.now += 1e6
	if h.known(h.there) != 3 {
		h.Error("after a second:", h.known(h.there), "elsewhere")
	}
	record := andon.NewTenant("made again")
	for range 2 {
		if _, err := h.store.PutTenant(ctx, record); err != nil {
			h.Fatal(err)
		}
		if k, err := h.here.Known(ctx, record.ID); err != nil || len(k.People) != 0 {
			h.Fatal("what is known of a tenant that was made in this second:", k, err)
		}
		if _, err := h.here.PutAll(ctx, record.ID, all(), false); err != nil {
			h.Fatal(err)
		}
		if k, err := h.here.Known(ctx, record.ID); err != nil || len(k.People) != 1 {
			h.Fatal(k, err)
		}
		if err := h.store.DeleteTenant(ctx, record.ID); err != nil {
			h.Fatal(err)
		}
	}
	_, err = h.here.Known(ctx, "nobody")
	h.failsAt(err, andon.NotFound, "")
}

// TestStatesOfPolicies: a policy for a state that no event may have would never begin.
func TestStatesOfPolicies(t *testing.T) {
	h := newHouse(t)
	const text = `{"match":{"states":["WARNING1","WARNIG2"]},
		"steps":[{"after":"5m","to":"operator"}]}`
	if _, err := h.put(people.Policies, "p", text, 0); err != nil {
		t.Fatal("where states may be unknown:", err)
	}
	tenant, err := h.store.Tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Unknown = andon.RefuseUnknown
	if _, err := h.store.PutTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	_, err = h.put(people.Policies, "q", text, 0)
	h.failsAt(err, andon.Invalid, "body.match.states[1]")
}

func TestVersionsOfDocuments(t *testing.T) {
	h, ctx, tenant := newHouse(t), t.Context(), andon.DefaultTenant
	kept, err := h.here.PutAll(ctx, tenant, all(), false)
	if err != nil {
		t.Fatal(err)
	}
	first := kept[2]
	again, err := h.put(people.Persons, "Liz", " "+liz, first.Version)
	if err != nil || again.Version != first.Version || again.Before != first.Version {
		h.Error("equal content:", again, err)
	}
	changed, err := h.put(people.Persons, "Liz", `{}`, first.Version)
	if err != nil || changed.Version == first.Version || changed.Before != first.Version {
		h.Error("a change:", changed, err)
	}
	_, err = h.put(people.Persons, "Liz", liz, first.Version)
	h.failsAt(err, andon.Conflict, "")
	_, err = h.put(people.Persons, "Liz", liz, 0)
	h.failsAt(err, andon.Conflict, "")

	for _, c := range []struct {
		kind people.DocumentKind
		name string
		want andon.Kind // 0: it is deleted
	}{
		{people.Persons, "Liz", andon.Conflict}, {people.Persons, "Tom", andon.NotFound},
		{people.Policies, "p", 0}, {people.Schedules, "line-3", 0}, {people.Persons, "Liz", 0},
	} {
		err := h.here.Delete(ctx, tenant, c.kind, c.name, nil)
		if c.want == 0 && err != nil || c.want != 0 && andon.KindOf(err) != c.want {
			h.Errorf("delete %s %s: %v", c.kind, c.name, err)
		}
	}
	if h.known(h.here) != 0 {
		h.Error("what was deleted is known")
	}
}

// TestBegun: a rule begins when it is made or switched on, and not when it is changed or put again.
// Its text is that of who wrote it.
func TestBegun(t *testing.T) {
	const when = `{"name":"r","when":{"expr":"t == 1"},"state":"WARNING1"`
	const off = `,"disabled":"why"`
	h := newHouse(t)
	begun := andon.Time(0)
	for _, c := range []struct {
		text string
		anew bool
	}{
		{"", false}, {`}`, true}, {`}`, false}, {`,"message":"m"}`, false}, {off + `}`, false},
		{`}`, true}, {"", false}, {`}`, true},
	} {
		h.now++
		if c.text == "" {
			_ = h.here.Delete(t.Context(), andon.DefaultTenant, people.Rules, "r", nil)
			continue
		}
		is, err := h.put(people.Rules, "r", when+c.text)
		if c.anew {
			begun = h.now
		}
		if err != nil || is.Begun != begun || is.Data != andon.JSON(when+c.text) {
			t.Errorf("%q is %+v: %v; want it to have begun at %d", c.text, is, err, begun)
		}
		got, err := h.there.Get(t.Context(), andon.DefaultTenant, people.Rules, "r")
		if got.Begun != begun || got.Data != is.Data || err != nil {
			t.Errorf("%q is read as %+v: %v", c.text, got, err)
		}
	}
}

// overtaken is a store to which another process writes before the next put or deletion.
type overtaken struct {
	andon.Store
	by func()
}

func (o *overtaken) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	o.overtake()
	return o.Store.PutRecord(ctx, r)
}

func (o *overtaken) DeleteRecord(ctx context.Context, r andon.Record) error {
	o.overtake()
	return o.Store.DeleteRecord(ctx, r)
}

func (o *overtaken) overtake() {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
}

// TestOvertaken: whoever names no version is not told that another process was faster, and whoever
// names one is.
func TestOvertaken(t *testing.T) {
	h, ctx, tenant := newHouse(t), t.Context(), andon.DefaultTenant
	store, turn := &overtaken{Store: h.store}, 0
	there := records.NewDocuments(store, func() andon.Time { return h.now })
	overtake := func() {
		turn++
		text := fmt.Sprintf(`{"contacts": [{"channel": "mail", "address": "%d@x.org"}]}`, turn)
		if _, err := h.put(people.Persons, "Liz", text, records.Existing, 0); err != nil {
			h.Fatal(err)
		}
	}
	put := func(text andon.JSON, over records.Versions) (records.Document, error) {
		store.by = overtake
		return there.Put(ctx, tenant, people.Persons,
			records.Document{Name: "Liz", Data: text}, over)
	}
	_, err := put(liz, records.Versions{0})
	h.failsAt(err, andon.Conflict, "")
	was, err := put(liz, nil)
	if err != nil || was.Before == 0 {
		t.Fatal(was, err)
	}
	_, err = put(`{"contacts": []}`, records.Versions{was.Version})
	h.failsAt(err, andon.Conflict, "")
	store.by = overtake
	if err := there.Delete(ctx, tenant, people.Persons, "Liz", nil); err != nil {
		t.Error(err)
	}
}

// TestOverridesMadeMeanwhile: a schedule that keeps its overrides keeps one that another process
// makes while it is stored.
func TestOverridesMadeMeanwhile(t *testing.T) {
	h := newHouse(t)
	store := &overtaken{Store: h.store}
	there := records.NewDocuments(store, func() andon.Time { return h.now })
	const layers = `"layers": [{"people": ["Liz"], "from": "2026-01-12", "turn": "%dd",
		"hand_over": "06:00"}]`
	put := func(text string, turn int) {
		t.Helper()
		text = fmt.Sprintf("{"+layers+text+"}", turn)
		if _, err := h.put(people.Schedules, "line", text, records.Existing, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.put(people.Persons, "Liz", string(liz), 0); err != nil {
		t.Fatal(err)
	}
	put("", 7)
	store.by = func() {
		put(`, "overrides": [{"from": "2026-12-24", "to": "2026-12-25", "person": "Liz"}]`, 7)
	}
	all, err := there.PutAll(t.Context(), andon.DefaultTenant, []records.Change{{
		Kind: people.Schedules, KeepsOverrides: true,
		Document: records.Document{Name: "line", Data: andon.JSON(fmt.Sprintf("{"+layers+"}", 1))},
	}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(all[0].Data); !strings.Contains(text, `"turn":"1d"`) ||
		!strings.Contains(text, "2026-12-24") {
		t.Error(text)
	}
}
