package dynamostore

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// TestDamagedItem: an item of Devices that can't be read is left out of what reads all of them, and
// told once; one that is not Andon's is not told at all.
func TestDamagedItem(t *testing.T) {
	o := newTables(t)
	o.Recount = time.Hour
	var log strings.Builder
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := withDamage(t, o)
	ctx := t.Context()
	if err := s.countAll(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []andon.TenantID{"good", "bad"} {
		if n, err := s.Counts(ctx, id, 0); err != nil || len(n) != 1 || n[0].Count != 1 {
			t.Errorf("counts of %s: %v, %v, want one device", id, n, err)
		}
		is, err := s.Tenant(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		is.States = otherSeverities(t)
		if _, err := s.PutTenant(ctx, is); err != nil {
			t.Fatal(err)
		}
		if is, err = s.Reorder(ctx, id); err != nil || is.Reordering {
			t.Errorf("severities of %s: reordering is %v, %v", id, is.Reordering, err)
		}
	}
	if _, err := s.Device(ctx, "bad", "c"); andon.KindOf(err) != andon.Damaged {
		t.Errorf("the damaged device answers %v", err)
	}
	if _, err := s.Sweep(ctx, "bad", andon.Horizon{Events: minute(1)}); err != nil {
		t.Errorf("sweep: %v", err)
	}
	if diff := cmp.Diff([]string{"Devices bad#c"}, s.Damage()); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const told = "level=ERROR"
	if n := strings.Count(log.String(), told); n != 1 || !strings.Contains(log.String(), "bad#c") {
		t.Errorf("told %d times, want once, with the key:\n%s", n, &log)
	}
}

// TestDamagedItemIsDeleted: with its tenant, and with its entries. What belongs to others stays.
func TestDamagedItemIsDeleted(t *testing.T) {
	o := newTables(t)
	s := withDamage(t, o)
	ctx := t.Context()
	if err := s.DeleteTenant(ctx, "bad"); err != nil {
		t.Fatal(err)
	}
	if err := s.purgeAll(ctx, 0); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]map[string]int{
		items.TableLog: {"good#a": 1}, items.TableDevices: {"good#a": 1, "foreign": 1},
	} {
		got := map[string]int{}
		found, _, err := s.db.Scan(ctx, table, nil, ddb.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range found {
			got[i.Text(items.AttrDevice)]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

// withDamage opens a store with an entry of one device in tenant good and of two in tenant bad, of
// which the item of c is damaged then. The table has an item of somebody else, too.
func withDamage(t *testing.T, o Options) *Store {
	t.Helper()
	s := begin(t, o)
	ctx := t.Context()
	for id, devices := range map[andon.TenantID][]andon.DeviceID{
		"good": {"a"}, "bad": {"b", "c"},
	} {
		if _, err := s.PutTenant(ctx, andon.NewTenant(id)); err != nil {
			t.Fatal(err)
		}
		for _, d := range devices {
			e := andon.Event{Device: d, Time: minute(1), State: "WARNING1"}
			if err := s.Append(ctx, id, minute(1), []andon.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, i := range []ddb.Item{
		{items.AttrDevice: ddb.Text("bad#c"), items.AttrShown: ddb.Text("garbage"),
			items.AttrVersion: ddb.Number(5)},
		{items.AttrDevice: ddb.Text("foreign"), "what": ddb.Text("x")},
	} {
		if err := s.db.Write(ctx, ddb.Write{Table: items.TableDevices, Put: i}); err != nil {
			t.Fatal(err)
		}
	}
	end(t, s)
	return open(t, o)
}

func otherSeverities(t *testing.T) *andon.StateSet {
	t.Helper()
	set, err := andon.NewStateSet([]andon.StateDef{{Name: "NORMAL"}, {Name: "WARNING1",
		Severity: 90}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPurgeGoesOn: a tenant that can't be read keeps no other from being purged.
func TestPurgeGoesOn(t *testing.T) {
	s := open(t, newTables(t))
	ctx := t.Context()
	if _, err := s.PutTenant(ctx, andon.NewTenant("good")); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTenant(ctx, "good"); err != nil {
		t.Fatal(err)
	}
	bad := items.DocumentKey("", &andon.Record{Kind: andon.TenantKind, ID: "bad"})
	bad[items.AttrVersion], bad[items.AttrData] = ddb.Number(1), ddb.Text("{")
	err := s.db.Write(ctx, ddb.Write{Table: items.TableRecords, Put: bad})
	if err == nil {
		err = s.markOver(ctx, "bad")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.purgeAll(ctx, 0); andon.KindOf(err) != andon.Damaged {
		t.Errorf("got %v, want that the record of tenant bad is damaged", err)
	}
	var left []string
	for i, err := range s.db.Items(ctx, items.Records("over")) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, i.Text(items.AttrSort))
	}
	if diff := cmp.Diff([]string{"bad"}, left); diff != "" {
		t.Error("left to purge (-want +got):\n" + diff)
	}
}
