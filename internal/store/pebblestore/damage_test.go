package pebblestore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// storeWithHistory makes a store with days of entries in tables.
func storeWithHistory(t *testing.T, fs vfs.FS, compacted bool) {
	t.Helper()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for day := range uint32(historyDays) {
		var events []andon.Event
		for i := range historyDevices {
			events = append(events, andon.Event{
				Device: numbered(i), Time: andon.DayStart(100+day) + andon.Time(i),
				State: "WARNING1", Message: randomText(rng),
			})
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, events); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.flushDue(), s.db.Flush()); err != nil {
		t.Fatal(err)
	}
	if compacted {
		if err := s.db.Compact(t.Context(), []byte{0}, []byte{255}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	historyDays    = 10
	historyDevices = 40
)

// randomText is not made smaller by compression.
func randomText(rng *rand.Rand) string {
	b := make([]byte, 500)
	for i := range b {
		b[i] = byte('!' + rng.IntN(90))
	}
	return string(b)
}

// ask asks for each day of history, and returns how many were answered rightly. An answer that is
// short, or an error of another kind, fails the test.
func ask(t *testing.T, s *Store) (answered int, refused error) {
	t.Helper()
	for day := range uint32(historyDays) {
		from := andon.DayStart(100 + day)
		n := 0
		q := andon.EventQuery{
			Span: andon.Span{From: from, To: from + 1_000_000}, Limit: 10, Order: andon.Asc,
		}
		var failed error
		for i := range historyDevices {
			for _, err := range s.DeviceEvents(t.Context(), andon.DefaultTenant, numbered(i), q) {
				if err != nil {
					failed = err
					break
				}
				n++
			}
		}
		switch {
		case failed == nil && n == historyDevices:
			answered++
		case andon.KindOf(failed) == andon.Damaged && strings.Contains(failed.Error(), ".sst"):
			refused = failed
		default:
			t.Errorf("day %d: %d entries, %v", day, n, failed)
		}
	}
	return answered, refused
}

// TestDamageIsReportedAtOnce: a query that meets damage again and again does not wait, for it holds
// the turn of a reader.
func TestDamageIsReportedAtOnce(t *testing.T) {
	fs := vfs.NewCrashableMem()
	storeWithHistory(t, fs, true)
	table := largestTable(t, fs)
	info, err := fs.Stat(table)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, fs, table, info.Size()/2)
	s, err := Open("store", Options{FS: fs, pause: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := ask(t, s)
		asked <- err
	}()
	select {
	case err = <-asked:
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err == nil {
		t.Error("no query met damage")
	}
}

// TestDamagedReadingsStay: rows of readings of which some can't be read are not flushed, so none of
// them is deleted.
func TestDamagedReadingsStay(t *testing.T) {
	const n, id = 200, andon.DefaultTenant
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range andon.Time(n) {
		r := andon.Reading{
			Device: "d", Time: andon.MinTime + i, Metrics: andon.Metrics{{Name: "t", Value: 1}},
			Metadata: andon.JSON(randomText(rng)),
		}
		if err := s.AppendReadings(t.Context(), id, 1, []andon.Reading{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.db.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	table := largestTable(t, fs)
	info, err := fs.Stat(table)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, fs, table, info.Size()/2)
	s = openMem(t, fs)
	if err := s.flushReadings(); andon.KindOf(err) != andon.Damaged {
		t.Errorf("they are flushed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, fs, table, info.Size()/2)
	s = openMem(t, fs)
	defer s.Close()
	got, err := howMany(s.DeviceReadings(t.Context(), id, "d", andon.ReadingQuery{Limit: 2 * n}))
	if err != nil || got != n {
		t.Errorf("%d readings of %d are left, %v", got, n, err)
	}
}

// TestSerialDamagedTable flips bits of the largest table, one at a time. The store opens or says
// what is damaged; no answer is wrong; what needs the damaged block is refused, the rest is
// answered; and what is written then is there.
func TestSerialDamagedTable(t *testing.T) {
	was := vfs.NewCrashableMem()
	storeWithHistory(t, was, true)
	table := largestTable(t, was)
	content := read(t, was, table)
	rng := rand.New(rand.NewPCG(6, 6))
	met, elsewhere := 0, 0
	for range 25 {
		fs := again(was)
		at := rng.Int64N(int64(len(content)))
		flip(t, fs, table, at)
		s, err := Open("store", Options{FS: fs, pause: noPause})
		if err != nil {
			if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), ".sst") {
				t.Errorf("bit at %d: opening: %v", at, err)
			}
			continue
		}
		answered, refused := ask(t, s)
		if refused != nil {
			met++
			if damaged := s.Damage(); !slices.Contains(damaged, table[6:]) {
				t.Errorf("bit at %d: %v was said, and damaged are %v", at, refused, damaged)
			}
			if answered > 0 {
				elsewhere++
			}
		}
		appendOne(t, s, "press-new")
		if _, err := s.Device(t.Context(), andon.DefaultTenant, "press-new"); err != nil {
			t.Errorf("bit at %d: written next to the damage: %v", at, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("bit at %d: closing: %v", at, err)
		}
	}
	if met < 10 || elsewhere < 5 {
		t.Errorf("only %d bits were met, and %d left others an answer", met, elsewhere)
	}
}

// TestSerialDamageDoesNotStopWriting damages a table that compactions need, and writes until they
// are due again and again. Where it is in level 0, Pebble can't go on for ever, and writing would
// hang then: it is refused before.
func TestSerialDamageDoesNotStopWriting(t *testing.T) {
	for _, compacted := range []bool{true, false} {
		fs := vfs.NewCrashableMem()
		storeWithHistory(t, fs, compacted)
		err := writeNextToDamage(t, fs)
		if compacted && err != nil || !compacted && andon.KindOf(err) != andon.Damaged {
			t.Errorf("compacted %t: %v", compacted, err)
		}
	}
}

func writeNextToDamage(t *testing.T, fs vfs.FS) error {
	t.Helper()
	table := largestTable(t, fs)
	info, err := fs.Stat(table)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, fs, table, info.Size()/2)
	s, err := Open("store", Options{
		FS: fs, memTable: 64 << 10, Memory: 256 << 10, maxWait: time.Minute,
		pause: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		s.dir.Disk.Refresh() // look again now
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, someEvents(rng)); err != nil {
			return err
		}
	}
	m := s.db.Metrics()
	if m.Flush.Count < 30 || m.Compact.FailedCount == 0 {
		t.Errorf("%d flushes, %d compactions failed: too few to show anything",
			m.Flush.Count, m.Compact.FailedCount)
	}
	return nil
}

func largestTable(t *testing.T, fs vfs.FS) (table string) {
	t.Helper()
	size := int64(0)
	for _, name := range list(t, fs) {
		info, err := fs.Stat("store/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".sst") && info.Size() > size {
			table, size = "store/"+name, info.Size()
		}
	}
	return table
}
