package pebblestore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// verifyMem verifies the store of a file system, and returns what it reports.
func verifyMem(t *testing.T, fs vfs.FS) (found []string, rows map[string]int64) {
	t.Helper()
	tell := func(place, what string) { found = append(found, place+": "+what) }
	last := int64(0)
	rows, err := Verify(t.Context(), "store", Options{FS: fs}, tell, func(done, total int64) {
		if done < last || done > total {
			t.Errorf("%d of %d are done, after %d", done, total, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, rows
}

// closeWhole closes a store, which is whole then.
func closeWhole(t *testing.T, s *Store, fs vfs.FS) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := verifyMem(t, fs); len(found) > 0 {
		t.Errorf("verification: %q", found)
	}
}

// TestVerifyAfterALateReading: a reading of a day that expires while it is on its way is no damage,
// in rows and in blocks.
func TestVerifyAfterALateReading(t *testing.T) {
	const id = andon.DefaultTenant
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	late := []andon.Reading{{
		Device: "d", Time: andon.DayStart(100), Metrics: andon.Metrics{{Name: "t", Value: 1}},
	}}
	record, err := s.Tenant(t.Context(), id)
	record.Floor.Readings = andon.DayStart(101)
	_, put := s.PutTenant(t.Context(), record)
	if err := errors.Join(err, put); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := errors.Join(s.AppendReadings(t.Context(), id, 1, late),
			s.Expire(t.Context(), id, record.Floor), s.AppendReadings(t.Context(), id, 1, late))
		if err != nil {
			t.Fatal(err)
		}
		closeWhole(t, s, fs)
		s = openMem(t, fs)
		if err := s.flushReadings(); err != nil {
			t.Fatal(err)
		}
	}
	closeWhole(t, s, fs)
}

// TestVerifyBeforeReorder: a store that ended, or was copied, before its devices followed changed
// severities is whole.
func TestVerifyBeforeReorder(t *testing.T) {
	const id = andon.DefaultTenant
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	if err := s.Append(t.Context(), id, 1, warnings(3)); err != nil {
		t.Fatal(err)
	}
	record, err := s.Tenant(t.Context(), id)
	if err == nil {
		record.States, err = andon.NewStateSet([]andon.StateDef{{Name: "ODD", Severity: 0}})
	}
	if err == nil {
		record, err = s.PutTenant(t.Context(), record)
	}
	if err != nil || !record.Reordering {
		t.Fatalf("the record is %+v, %v", record, err)
	}
	closeWhole(t, s, fs)
	closeWhole(t, openMem(t, fs), fs)
}

// storeWithEverything makes a store that has rows of each table, in blocks and in requests.
func storeWithEverything(t *testing.T, fs vfs.FS) {
	t.Helper()
	const id = andon.DefaultTenant
	ctx := t.Context()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	send := func(device andon.DeviceID, at andon.Time, state andon.State) {
		t.Helper()
		e := andon.Event{Device: device, Time: at, State: state, Operator: "Liz"}
		if state == "WARNING1" {
			e.EscalatedTo = "Sara"
		}
		if err := s.Append(ctx, id, 1, []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	at := andon.DayStart(100)
	for n := range andon.Time(40) {
		send("press", at+n*3_600_000_000, []andon.State{"NORMAL", "WARNING1", "ODD"}[n%3])
		send("robot", at+n*7_200_000_000, "NORMAL")
	}
	reading := andon.Reading{
		Device: "press", Time: at, Metrics: andon.Metrics{{Name: "t", Value: 1}},
	}
	_, _, err = s.Withdraw(ctx, id, andon.Withdrawal{
		Device: "press", Time: at + 39*3_600_000_000, State: "NORMAL", At: at,
	})
	_, err2 := s.Assign(ctx, id, at, []andon.Assignment{{Device: "press", Operator: "Tom"}})
	if err := errors.Join(err, err2,
		s.AppendReadings(ctx, id, 1, []andon.Reading{reading}), s.flushReadings(),
		s.flushDue()); err != nil {
		t.Fatal(err)
	}
	reading.Time++
	if err := s.AppendReadings(ctx, id, 1, []andon.Reading{reading}); err != nil {
		t.Fatal(err)
	}
	for n := range andon.Time(5) {
		send("late", at+n, "NORMAL")
	}
	if err := errors.Join(s.db.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyWhole: a store that is whole is said to be so, and stays as it is.
func TestVerifyWhole(t *testing.T) {
	fs := vfs.NewMem()
	storeWithEverything(t, fs)
	before := list(t, fs)
	found, rows := verifyMem(t, fs)
	if len(found) > 0 {
		t.Errorf("verification found %q", found)
	}
	for what, want := range map[string]int64{
		"entries in blocks": 80, "rows of requests: newest entries and order of arrival": 89,
		"devices": 3, "readings": 1,
		"readings in blocks": 1,
		"withdrawals":        1, "assignments": 1,
	} {
		if rows[what] != want {
			t.Errorf("%d %s, want %d", rows[what], what, want)
		}
	}
	if after := list(t, fs); !slices.Equal(before, after) {
		t.Errorf("there were the files %q, and are %q", before, after)
	}
}

// TestSerialVerifyReportsNoLoss: a block that can't be read keeps those after it from being
// counted, so of these nothing is said to be lost.
func TestSerialVerifyReportsNoLoss(t *testing.T) {
	image := stepImage(t)
	met := false
	for _, name := range list(t, image) {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		mem := image.copied()
		flip(t, mem, "store/"+name, 30)
		found, _ := verifyMem(t, mem)
		all := strings.Join(found, "\n")
		met = met || strings.Contains(all, "blocks: after")
		if strings.Contains(all, "are lost") {
			t.Errorf("%s: %s", name, all)
		}
	}
	if !met {
		t.Error("no block could not be read")
	}
}

// TestVerifyFindsWhatIsLeftOut deletes one row of each table, or changes it: verification names it,
// by what it means.
func TestVerifyFindsWhatIsLeftOut(t *testing.T) {
	whole := vfs.NewCrashableMem()
	storeWithEverything(t, whole)
	for _, c := range []struct {
		table byte
		value string // in place of the row's; absent: the row is deleted
		found string
	}{
		{layout.TableBlock, "", "has no block of the day"},
		{layout.TableBlock, "\x07", "can't be decoded: up to all entries of device press"},
		{layout.TableDay, "", "are not found"},
		{layout.TablePosting, "", "no posting says that Liz has an entry of device press"},
		{layout.TablePosting, "\xff", "is not of its form"},
		{layout.TableStateSeen, "", "is not among those that have entries"},
		{layout.TableSupervisor, "", "nothing says that Sara was handed the entry of device press"},
		{layout.TableCheckpoint, "", "device number 0, which there is not"},
		{layout.TableCheckpoint, "press\x00\x01", "can't be decoded"},
		{layout.TableRow, "", "the row before it is missing: what a request brought is lost"},
		{layout.TableRow, "\x01", "can't be decoded: what a request brought is lost"},
		{layout.TableReadingDay, "", "has readings on the day"},
		{layout.TableMetric, "", "has the metric t"},
		{layout.TableReading, "\x05", "the reading of device press"},
		{layout.TableReadingBlock, "\x05", "can't be decoded: up to all readings of device press"},
		{layout.TableReadingBlock, "", "1 readings of the day that begins at"},
		{layout.TableReadingRun, "", "no run of the day has its readings of device press"},
		{layout.TableEscalation, "\x05", "the escalation of device press"},
		{layout.TableWithdrawal, "\x80", "key 77"},
		{layout.TableDocument, "\x80", "can't be read"},
	} {
		fs := again(whole)
		s, err := Open("store", Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		change(t, s, c.table, c.value)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		found, _ := verifyMem(t, fs)
		named := func(s string) bool { return strings.Contains(s, c.found) }
		if !slices.ContainsFunc(found, named) {
			t.Errorf("table %c, value %q: found %q, want %q", c.table, c.value, found, c.found)
		}
	}
}

// change deletes the first row of a table, or gives it another value.
func change(t *testing.T, s *Store, table byte, value string) {
	t.Helper()
	from := layout.Key{table}
	if table == layout.TableRow { // those before are kept for their order alone
		marker, _ := s.fixed("checkpoint")
		from = append(from, marker...)
	}
	changeFrom(t, s, from, value)
}

// changeFrom changes the first row of a table that is not before a key.
func changeFrom(t *testing.T, s *Store, from layout.Key, value string) {
	t.Helper()
	end := from[:1].End()
	for it, err := range engine.RowsBetween(t.Context(), s.db, from, end, andon.Asc) {
		if err != nil {
			t.Fatal(err)
		}
		k := bytes.Clone(it.Key())
		err = s.db.Delete(k, pebble.Sync)
		if value != "" {
			err = s.db.Set(k, []byte(value), pebble.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("table %c has no row", from[0])
}

// TestVerifyKeptRows: of a row that only the order of arrival needs, nothing else is lost.
func TestVerifyKeptRows(t *testing.T) {
	for value, want := range map[string]string{
		"": "the row before it is missing: what", "\x01": "can't be decoded: what",
	} {
		fs := vfs.NewMem()
		storeWithEverything(t, fs)
		s := openMem(t, fs)
		changeFrom(t, s, layout.RowKey(s.arrivals.First()+2), value)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		found, _ := verifyMem(t, fs)
		all := strings.Join(found, "\n")
		if len(found) != 1 || !strings.Contains(all, want+" a request brought is in blocks, and") {
			t.Errorf("verification found %q, want %q", all, want)
		}
	}
}

// TestVerifyComparesDevicesWithTheirEntries has a checkpoint say what no entry does.
func TestVerifyComparesDevicesWithTheirEntries(t *testing.T) {
	fs := vfs.NewMem()
	storeWithEverything(t, fs)
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	slot := s.tenants[andon.DefaultTenant].fleet.Slot("robot")
	d := s.tenants[andon.DefaultTenant].fleet.Shown(slot)
	d.State = "ODD"
	k := layout.NewKey(layout.TableCheckpoint, s.tenants[andon.DefaultTenant].number).
		Number(slot.Number())
	if err := errors.Join(s.db.Set(k, layout.AppendCheckpoint(nil, &d), pebble.Sync),
		s.Close()); err != nil {
		t.Fatal(err)
	}
	found, _ := verifyMem(t, fs)
	if len(found) != 1 || !strings.HasPrefix(found[0], "device robot: it shows ODD since ") ||
		!strings.Contains(found[0], "its entries say NORMAL since ") {
		t.Errorf("%q", found)
	}
}

// TestSerialVerifyFindsFlippedBits flips bits of tables, logs and the manifest, one at a time: each
// is named.
func TestSerialVerifyFindsFlippedBits(t *testing.T) {
	was := vfs.NewCrashableMem()
	storeWithHistory(t, was, true)
	rng := rand.New(rand.NewPCG(3, 9))
	for _, name := range list(t, was) {
		table := strings.HasSuffix(name, ".sst")
		if !table && !strings.HasPrefix(name, "MANIFEST-") {
			continue
		}
		content := read(t, was, "store/"+name)
		for range 8 {
			fs, at := again(was), rng.Int64N(int64(len(content)))
			flip(t, fs, "store/"+name, at)
			var found []string
			tell := func(place, what string) { found = append(found, place+": "+what) }
			_, err := Verify(t.Context(), "store", Options{FS: fs}, tell, func(int64, int64) {})
			named := slices.ContainsFunc(found, func(s string) bool {
				return strings.Contains(s, name+": the block of ") ||
					strings.Contains(s, name) && !strings.Contains(s, "block")
			})
			if !named && err == nil {
				t.Errorf("%s, bit at %d: %v, verification found %q", name, at, err, found)
			}
		}
	}
}

// TestVerifyFindsDamagedLogs cuts off what was on the disk of a log.
func TestVerifyFindsDamagedLogs(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	for range 3 {
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, warnings(50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range list(t, fs) {
		if strings.HasSuffix(name, ".log") {
			flip(t, fs, "store/"+name, 100)
		}
	}
	found, _ := verifyMem(t, fs)
	if len(found) == 0 || !strings.Contains(found[0], ".log is damaged at byte ") {
		t.Errorf("%q", found)
	}
	// A log that the engine does not open with leaves the sums of tables to be checked.
	fs = vfs.NewMem()
	storeWithHistory(t, fs, true)
	table := largestTable(t, fs)
	flip(t, fs, table, 1000)
	for _, name := range list(t, fs) {
		if strings.HasPrefix(name, "MANIFEST-") {
			write(t, fs, "store/"+name, []byte("no manifest"))
		}
	}
	found, _ = verifyMem(t, fs)
	if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, table[6:]) }) {
		t.Errorf("without a manifest: %q", found)
	}
}

// TestDamagedManifestIsRefused flips a bit of the manifest: the engine would use the records before
// it alone, and delete tables.
func TestDamagedManifestIsRefused(t *testing.T) {
	fs := vfs.NewCrashableMem()
	storeWithHistory(t, fs, true)
	desc, err := pebble.Peek("store", fs)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, fs, desc.ManifestFilename, 100)
	before := list(t, fs)
	_, err = Open("store", Options{FS: fs})
	if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), "MANIFEST-") {
		t.Errorf("a damaged manifest: %v", err)
	}
	if after := list(t, fs); !slices.Equal(before, after) {
		t.Errorf("there were %q, and are %q", before, after)
	}
}

func TestVerifyNeedsAStore(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("store", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Verify(t.Context(), "store", Options{FS: fs}, nil, nil)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "no store") {
		t.Errorf("an empty directory: %v", err)
	}
	s := openMem(t, fs)
	defer s.Close()
	if _, err := Verify(t.Context(), "store", Options{FS: fs}, nil, nil); andon.KindOf(err) !=
		andon.Conflict {
		t.Errorf("a store in use: %v", err)
	}
}
