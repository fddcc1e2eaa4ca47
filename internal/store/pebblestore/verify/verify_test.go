package verify_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/verify"
)

// one is a store with one tenant, which has the device "press-7" with the number 0 and the state
// NORMAL. All of it is flushed.
type one struct{ runs runs }

func (o one) Load(context.Context, *pebble.DB) (verify.Loaded, error) {
	return verify.Loaded{
		Tenants: map[uint32]verify.Tenant{1: o.tenant()},
		Shown:   100, Flushed: 100, FirstReadings: 100,
	}, nil
}
func (one) CheckRow([]byte) error { return nil }
func (one) Devices(
	context.Context, func(andon.DeviceID, string), func(done, total int),
) (int64, error) {
	return 0, nil
}
func (o one) tenant() verify.Tenant {
	r := verify.Runs{
		On:      func(uint32) []layout.Run { return o.runs },
		Dropped: func(uint32, layout.RunID) bool { return false },
	}
	if len(o.runs) > 0 {
		r.Days = []uint32{day}
	}
	return verify.Tenant{
		ID: andon.DefaultTenant, States: map[andon.State]andon.State{"NORMAL": "NORMAL"},
		Device:  func(n uint32) (andon.DeviceID, bool) { return "press-7", n == 0 },
		Entries: r, Readings: r,
	}
}

// runs are those of one day.
type runs []layout.Run

const (
	noon = andon.MinTime + 12*3600*1e6
	day  = 1
)

// verified writes rows, and returns what is reported of them.
func verified(t *testing.T, store one, rows map[string]string) (reports []string) {
	t.Helper()
	fs := vfs.NewMem()
	options := func() *pebble.Options { return &pebble.Options{FS: fs, Logger: quiet{}} }
	db, err := pebble.Open("store", options())
	if err != nil {
		t.Fatal(err)
	}
	for k, value := range rows {
		if err := db.Set([]byte(k), []byte(value), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	_, err = verify.Run(t.Context(), verify.Config{
		FS: fs, Dir: "store", Desc: desc, Options: options, Store: store,
		OpenError: func(err error) error { return err },
		Report:    func(place, what string) { reports = append(reports, place+": "+what) },
		Progress:  func(int64, int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// quiet is a logger of Pebble.
type quiet struct{}

func (quiet) Infof(string, ...any)      {}
func (quiet) Errorf(string, ...any)     {}
func (quiet) Fatalf(f string, _ ...any) { panic(f) }

// TestMalformedRows: of each table a row that can't be decoded is reported once, with its table.
func TestMalformedRows(t *testing.T) {
	for _, table := range []byte("BRacdhgikmnpqsuvwxyz") {
		what := layout.Describe(table)
		if what == "" {
			continue
		}
		k := layout.NewKey(table, 1)
		reports := verified(t, one{}, map[string]string{string(k) + "\xff": "\xff\xff\xff"})
		if len(reports) != 1 || !strings.HasPrefix(reports[0], what+", key ") {
			t.Errorf("table %c (%s): %q", table, what, reports)
		}
	}
}

// TestWhatLeadsToABlock: each row that a reader needs to find a block is reported while it is
// missing.
func TestWhatLeadsToABlock(t *testing.T) {
	run := layout.Run{
		RunID: layout.RunID{Sequence: 7}, Oldest: noon, Newest: noon, Entries: 1,
	}
	entries := []eventlog.Entry{{Time: noon, State: "NORMAL", Operator: "Liz"}}
	var encoder eventlog.Encoder
	block := layout.NewKey(layout.TableBlock, 1).Run(day, run.RunID).Number(0).
		Times(day, noon, noon)
	rows := map[string]string{string(block): string(encoder.Append(nil, entries))}
	store := one{}
	expect := func(want string) {
		t.Helper()
		reports := verified(t, store, rows)
		found := slices.ContainsFunc(reports, func(r string) bool {
			return strings.Contains(r, want)
		})
		if found != (want != "") || len(reports) > 1 || want == "" && len(reports) > 0 {
			t.Errorf("reported: %q, want %q", reports, want)
		}
	}
	expect("nothing says that device press-7 has entries on the day")
	rows[string(layout.NewKey(layout.TableDay, 1).Number(0).Inverted(day))] = ""
	expect("no run of the day has its entries")
	store.runs = runs{run}
	expect("no posting says that Liz has an entry of device press-7")
	milli := eventlog.MilliOf(noon)
	posting := layout.NewKey(layout.TablePosting, 1).Text("Liz").Number(noon.Hour()).
		Uint(7, layout.SequenceBytes).Uint(0, 2)
	rows[string(posting)] = string(layout.AppendPosting(nil,
		[]layout.InHour{{Device: 0, Oldest: milli, Newest: milli}}))
	expect("")
	run.Entries = 2
	rows[string(layout.NewKey(layout.TableRun, 1).Run(day, run.RunID))] = string(run.Value(day))
	expect("1 entries of the day that begins at")
	run.Entries = 1
	rows[string(layout.NewKey(layout.TableRun, 1).Run(day, run.RunID))] = string(run.Value(day))
	expect("")
	delete(rows, string(block))
	delete(rows, string(layout.NewKey(layout.TableRun, 1).Run(day, run.RunID)))
	expect("device press-7 has no block of the day")
}
