package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

const otherTenant = andon.TenantID("other")

// randomMessage returns readings as a device sends them: some late, some of a time that has one
// already, with other metrics or metadata.
func randomMessage(rng *rand.Rand, now int) []andon.Reading {
	var readings []andon.Reading
	at := andon.DayStart(100) + andon.Time(now)*600_000_000
	for range 1 + rng.IntN(6) {
		r := andon.Reading{
			Device: andon.DeviceID(fmt.Sprint("d", rng.IntN(3))),
			Time:   at - andon.Time(rng.IntN(1+rng.IntN(300)))*600_000_000,
		}
		for m := range 3 {
			if rng.IntN(3) > 0 {
				r.Metrics = append(r.Metrics, andon.Metric{
					Name: andon.MetricName(fmt.Sprint("m", m)), Value: float64(rng.IntN(1000)) / 10,
				})
			}
		}
		if len(r.Metrics) == 0 || rng.IntN(4) == 0 {
			r.Metadata = andon.JSON(fmt.Sprintf(`{"n":%d}`, rng.IntN(5)))
		}
		if !slices.ContainsFunc(readings, func(is andon.Reading) bool {
			return is.Device == r.Device && is.Time == r.Time
		}) {
			readings = append(readings, r)
		}
	}
	return readings
}

// readingAnswers are those of a store to many queries about readings.
func readingAnswers(t *testing.T, s andon.Store, id andon.TenantID, rng *rand.Rand) (all []any) {
	t.Helper()
	ctx := context.Background()
	at := func() andon.Time { return andon.DayStart(99) + andon.Time(rng.IntN(800))*600_000_000 }
	devices := []andon.DeviceID{"d0", "d1", "d2", "d3"}
	for range 12 {
		q := andon.ReadingQuery{Order: []andon.Order{andon.Desc, andon.Asc}[rng.IntN(2)]}
		q.Limit = []int{1, 2, 7, 1 << 20}[rng.IntN(4)]
		if rng.IntN(2) == 0 {
			q.Span.From = at()
			q.Span.To = q.Span.From + andon.Time(rng.IntN(300))*600_000_000
		}
		if rng.IntN(3) == 0 {
			q.Metrics = []andon.MetricName{"m1", "m2"}[:1+rng.IntN(2)]
		}
		if rng.IntN(3) == 0 {
			q.After = at()
		}
		for r, err := range s.DeviceReadings(ctx, id, devices[rng.IntN(4)], q) {
			all = append(all, r, err)
		}
	}
	latest, err := s.LatestReadings(ctx, id, devices, at())
	for i := range latest {
		all = append(all, latest[i])
	}
	all = append(all, err)
	of := andon.MetricQuery{Metric: "m2", Span: andon.Span{From: at()}, Limit: 1 + rng.IntN(100)}
	for r, err := range s.MetricReadings(ctx, id, of) {
		all = append(all, r, err)
	}
	return all
}

// noMetrics takes no list of metrics for an empty one.
func noMetrics() cmp.Option {
	return cmp.Comparer(func(a, b andon.Metrics) bool { return slices.Equal(a, b) })
}

// TestReadingsInBlocksAreThoseThatWereSent compares a store with the reference, while flushes and
// merges run, a flush is broken off, and the power is cut.
func TestReadingsInBlocksAreThoseThatWereSent(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { readingHistory(t, seed) })
	}
}

func readingHistory(t *testing.T, seed uint64) {
	rng, ctx := rand.New(rand.NewPCG(seed, 1)), t.Context()
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	reference := memstore.New()
	for _, store := range []andon.Store{s, reference} {
		if _, err := store.PutTenant(ctx, andon.NewTenant(otherTenant)); err != nil {
			t.Fatal(err)
		}
	}
	for now := range 120 {
		id := []andon.TenantID{andon.DefaultTenant, otherTenant}[rng.IntN(2)]
		message := randomMessage(rng, now)
		err := errors.Join(s.AppendReadings(ctx, id, 1, slices.Clone(message)),
			reference.AppendReadings(ctx, id, 1, message))
		switch rng.IntN(16) {
		case 0, 1, 2:
			err = errors.Join(err, s.flushReadings())
		case 3:
			err = errors.Join(err, s.flushReadings(), s.readings.MergeAll())
		case 4:
			err = errors.Join(err, breakOff(s))
			s, fs = crashed(t, s, fs)
		case 5:
			s, fs = crashed(t, s, fs)
		case 6, 7:
			want := readingAnswers(t, reference, id, rand.New(rand.NewPCG(seed, uint64(now))))
			got := readingAnswers(t, s, id, rand.New(rand.NewPCG(seed, uint64(now))))
			if diff := cmp.Diff(want, got, noMetrics()); diff != "" {
				t.Fatalf("after %d messages: %s", now, diff)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := verifyMem(t, fs); len(found) > 0 {
		t.Errorf("it is said to be damaged: %q", found)
	}
}

// breakOff does a flush up to where it would end: its blocks are on the disk, its rows are not
// deleted.
func breakOff(s *Store) error {
	err := s.readings.Flush(endsWithRuns{context.Background(), s})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, s.sync())
}

// endsWithRuns is a context that ends once the runs of a flush are counted, which is its last step
// before it says that all is flushed.
type endsWithRuns struct {
	context.Context
	store *Store
}

func (c endsWithRuns) Err() error {
	for _, t := range c.store.everyTenant() {
		for _, day := range t.readings.Runs.Load().Days() {
			for _, r := range t.readings.Runs.Load().On(day) {
				if r.Sequence >= c.store.readings.First() && r.Entries != layout.Uncounted {
					return context.Canceled
				}
			}
		}
	}
	return nil
}

// TestARepeatedReadingWinsAfterABrokenFlush: what is sent after a flush that was broken
// off is of a later generation, or the blocks of that flush would be next to it as equals.
func TestARepeatedReadingWinsAfterABrokenFlush(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	send := func(at andon.Time, value float64) {
		t.Helper()
		r := andon.Reading{Device: "d", Time: at, Metrics: andon.Metrics{{Name: "m", Value: value}}}
		err := s.AppendReadings(t.Context(), andon.DefaultTenant, 1, []andon.Reading{r})
		if err != nil {
			t.Fatal(err)
		}
	}
	send(andon.MinTime+1, 1)
	if err := breakOff(s); err != nil {
		t.Fatal(err)
	}
	s, fs = crashed(t, s, fs)
	send(andon.MinTime+1, 2)
	send(andon.MinTime, 2)
	for range 2 {
		if err := s.flushReadings(); err != nil {
			t.Fatal(err)
		}
	}
	s, _ = crashed(t, s, fs)
	defer s.Close()
	q := andon.ReadingQuery{Limit: 10}
	for r, err := range s.DeviceReadings(t.Context(), andon.DefaultTenant, "d", q) {
		if err != nil || r.Metrics[0].Value != 2 {
			t.Errorf("%+v, %v, want what was sent last", r, err)
		}
	}
}

// TestNoReaderMissesAReadingDuringAFlush reads what was acknowledged while flushes run all the
// time, and cuts the power in between.
func TestNoReaderMissesAReadingDuringAFlush(t *testing.T) {
	fs := newCrashable()
	s, err := Open("store", Options{FS: fs, readings: 4 << 10, table: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 100
	var acknowledged [writers]atomic.Int64
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for n := range each {
				if err := sendReading(s, w, n); err != nil {
					t.Error(err)
					return
				}
				acknowledged[w].Store(int64(n) + 1)
				if n%7 == 0 && !showsReadings(t, s, w, n+1) {
					return
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 4 {
		var there [writers]int64
		for w := range there {
			there[w] = acknowledged[w].Load()
		}
		after := fs.crash(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		crashed := openMem(t, after)
		for w := range there {
			showsReadings(t, crashed, w, int(there[w]))
		}
		if err := crashed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	running.Wait()
	if err := s.Close(); err != nil { // it waits for the flush that is wanted
		t.Fatal(err)
	}
	if s.readings.First() < 2 {
		t.Error("there was no flush")
	}
}

func sendReading(s *Store, device, n int) error {
	r := andon.Reading{
		Device: andon.DeviceID(fmt.Sprint("d", device)), Time: andon.MinTime + andon.Time(n)*1e9,
		Metrics: andon.Metrics{
			{Name: "n", Value: float64(n)}, {Name: "of", Value: float64(device)},
		},
	}
	return s.AppendReadings(context.Background(), andon.DefaultTenant, 1, []andon.Reading{r})
}

// showsReadings reports whether the first readings of a device are there, each once.
func showsReadings(t *testing.T, s *Store, device, readings int) bool {
	n := 0
	q := andon.ReadingQuery{Order: andon.Asc, Limit: 1 << 20}
	id := andon.DeviceID(fmt.Sprint("d", device))
	for r, err := range s.DeviceReadings(context.Background(), andon.DefaultTenant, id, q) {
		at := andon.MinTime + andon.Time(n)*1e9
		if err != nil || r.Time != at || r.Metrics[0].Value != float64(n) || len(r.Metrics) != 2 {
			t.Errorf("reading %d of device %s is %+v, %v", n, id, r, err)
			return false
		}
		n++
	}
	if n < readings {
		t.Errorf("of device %s there are %d readings, %d were acknowledged", id, n, readings)
	}
	return n >= readings
}

// TestSmallBlocksAreMerged: a device has few blocks of a day, however many flushes there were and
// however often its readings were sent again.
func TestSmallBlocksAreMerged(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := openMem(t, vfs.NewCrashableMem())
		const flushes = 150
		for n := range flushes {
			at := n
			if again {
				at = n % 3
			}
			err := errors.Join(sendReading(s, 0, at), s.flushReadings(), s.readings.Merge())
			if err != nil {
				t.Fatal(err)
			}
		}
		many := 0
		for range s.rows(
			layout.NewKey(layout.TableReadingBlock, s.tenants[andon.DefaultTenant].number)) {
			many++
		}
		// Readings are 1,000 s apart, so on two days: of each flushes that no merge has taken.
		if most := 2*blocks.MergeRuns + flushes/blocks.MergeRuns; many > most {
			t.Errorf("sent again %t: %d blocks, more than %d", again, many, most)
		}
		showsReadings(t, s, 0, map[bool]int{true: 3, false: flushes}[again])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLatestReadingOpensOneBlock counts what the queries that are asked most read.
func TestTheLatestReadingOpensOneBlock(t *testing.T) {
	s := openMem(t, vfs.NewCrashableMem())
	defer s.Close()
	for n := range 86 {
		if err := sendReading(s, 0, n); err != nil {
			t.Fatal(err)
		}
		if n%5 == 3 { // but for the last two
			if err := s.flushReadings(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		q    andon.ReadingQuery
		most int
	}{
		{andon.ReadingQuery{Limit: 1}, 0},
		{andon.ReadingQuery{Limit: 2}, 0},
		{andon.ReadingQuery{Limit: 3}, 1},
		{andon.ReadingQuery{Limit: 1, Span: andon.Span{To: andon.MinTime + 20e9}}, 1},
		{andon.ReadingQuery{Limit: 1, Order: andon.Asc}, 1},
		{andon.ReadingQuery{Limit: 9, Span: andon.Span{From: andon.MinTime + 30e9}}, 3},
	} {
		ctx, plan := andon.WithPlan(t.Context())
		q := test.q
		if _, err := howMany(s.DeviceReadings(ctx, andon.DefaultTenant, "d0", q)); err != nil {
			t.Error(err)
		}
		keys := 0
		for _, step := range plan.Steps() {
			switch step.Statement[:len("table v")] {
			case "table v":
				if step.Rows > test.most {
					t.Errorf("%+v: %d blocks were opened, want %d", q, step.Rows, test.most)
				}
				keys += step.Scanned
			case "table k":
				keys += step.Scanned
			}
		}
		if test.most == 0 && keys > q.Limit+1 { // the last may have had another part
			t.Errorf("%+v: %d keys were looked at", q, keys)
		}
	}
}

// TestTheNewestReadingsOfManyDevices compares them with the reference. Some devices have none, some
// many rows, and others only older days or blocks: what is close after a row is often another one.
func TestTheNewestReadingsOfManyDevices(t *testing.T) {
	s, reference := openMem(t, vfs.NewCrashableMem()), memstore.New()
	defer s.Close()
	defer reference.Close()
	rng := rand.New(rand.NewPCG(3, 3))
	device := func() andon.DeviceID { return andon.DeviceID(fmt.Sprint("d", rng.IntN(400))) }
	at := func() andon.Time { return andon.DayStart(100) + andon.Time(rng.IntN(600))*600_000_000 }
	const id = andon.DefaultTenant
	for round := range 40 {
		d, now := device(), at()
		var readings []andon.Reading
		for n := range 1 + rng.IntN(30) {
			if rng.IntN(4) > 0 {
				d, now = device(), at()
			}
			readings = append(readings, andon.Reading{
				Device: d, Time: now + andon.Time(n),
				Metrics: andon.Metrics{{Name: "m", Value: float64(100*round + n)}},
			})
		}
		for _, to := range []andon.Store{s, reference} {
			if err := to.AppendReadings(t.Context(), id, now, readings); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(8) == 0 {
			if err := s.flushReadings(); err != nil {
				t.Fatal(err)
			}
		}
		asked := make([]andon.DeviceID, rng.IntN(200))
		for i := range asked {
			asked[i] = device()
		}
		from := []andon.Time{0, at()}[rng.IntN(2)]
		got, err := s.LatestReadings(t.Context(), id, asked, from)
		want, wanted := reference.LatestReadings(t.Context(), id, asked, from)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || wanted != nil ||
			diff != "" {
			t.Fatalf("round %d: %v, %v, -want +got:\n%.2000s", round, err, wanted, diff)
		}
	}
}

// TestLargeReadingsAreReadInPages lists readings of 60 KB that are in rows. Of those few are in
// memory at a time, however many are asked for.
func TestLargeReadingsAreReadInPages(t *testing.T) {
	const many, most = 60, (1<<20)/(60<<10) + 1
	s := openMem(t, vfs.NewCrashableMem())
	defer s.Close()
	var sent []andon.Reading
	for i := range andon.Time(many) {
		text := fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 60<<10))
		sent = append(sent, andon.Reading{
			Device: "d", Time: andon.MinTime + i, Metadata: andon.JSON(text),
			Metrics: andon.Metrics{{Name: "m", Value: float64(i)}},
		})
	}
	if err := s.AppendReadings(t.Context(), andon.DefaultTenant, andon.MinTime, sent); err != nil {
		t.Fatal(err)
	}
	for _, order := range []andon.Order{andon.Asc, andon.Desc} {
		q := andon.ReadingQuery{Limit: 1000, Order: order}
		ctx, plan := andon.WithPlan(t.Context())
		for _, err := range s.DeviceReadings(ctx, andon.DefaultTenant, "d", q) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		for _, step := range plan.Steps() {
			if step.Rows > most {
				t.Errorf("%v: %q read %d rows for one reading", order, step.Statement, step.Rows)
			}
		}
		got, err := seq.Collect(s.DeviceReadings(t.Context(), andon.DefaultTenant, "d", q))
		if order == andon.Desc {
			slices.Reverse(got)
		}
		if diff := cmp.Diff(sent, got); err != nil || diff != "" {
			t.Errorf("%v: %v, -sent +got:\n%.1000s", order, err, diff)
		}
	}
}

// TestSmallReadingsAfterLargeOnes: the pages after one of large readings are as long as any.
func TestSmallReadingsAfterLargeOnes(t *testing.T) {
	const large, many = 20, 520
	s := openMem(t, vfs.NewCrashableMem())
	defer s.Close()
	var sent []andon.Reading
	for i := range andon.Time(many) {
		text := strings.Repeat("x", map[bool]int{true: 60 << 10, false: 1}[i < large])
		sent = append(sent, andon.Reading{
			Device: "d", Time: andon.MinTime + i, Metadata: andon.JSON(`{"text":"` + text + `"}`),
		})
	}
	if err := s.AppendReadings(t.Context(), andon.DefaultTenant, andon.MinTime, sent); err != nil {
		t.Fatal(err)
	}
	ctx, plan := andon.WithPlan(t.Context())
	q := andon.ReadingQuery{Limit: 1000, Order: andon.Asc}
	got, err := seq.Collect(s.DeviceReadings(ctx, andon.DefaultTenant, "d", q))
	if err != nil || len(got) != many {
		t.Errorf("%d readings, %v, want %d", len(got), err, many)
	}
	for _, step := range plan.Steps() { // a page looks at one row after its own
		if step.Scanned > many+5 {
			t.Errorf("%q looked at %d rows for %d readings", step.Statement, step.Scanned, many)
		}
	}
}

// TestNothingIsLeftOfReadingsThatAreDeleted purges a device, and deletes a tenant, whose readings
// are in rows of two generations and in blocks, while a flush was broken off.
func TestNothingIsLeftOfReadingsThatAreDeleted(t *testing.T) {
	ctx := t.Context()
	for _, purge := range []bool{true, false} {
		s := openMem(t, vfs.NewCrashableMem())
		if _, err := s.PutTenant(ctx, andon.NewTenant(otherTenant)); err != nil {
			t.Fatal(err)
		}
		send := func(at andon.Time) {
			t.Helper()
			r := andon.Reading{Device: "d", Time: at, Metrics: andon.Metrics{{Name: "m", Value: 1}}}
			if err := s.AppendReadings(ctx, otherTenant, 1, []andon.Reading{r}); err != nil {
				t.Fatal(err)
			}
		}
		number := s.tenants[otherTenant].number
		send(andon.MinTime)
		err := s.flushReadings()
		send(andon.MinTime + 1)
		err = errors.Join(err, breakOff(s))
		send(andon.MinTime + 2)
		if purge {
			err = errors.Join(err, s.Purge(ctx, otherTenant, "d"))
		} else {
			err = errors.Join(err, s.DeleteTenant(ctx, otherTenant))
		}
		if err := errors.Join(err, s.flushReadings(), s.flushReadings()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []byte{layout.TableReading, layout.TableReadingBlock,
			layout.TableReadingRun, layout.TableReadingDay, layout.TableMetric} {
			if purge && table == layout.TableReadingRun {
				continue // they may be empty
			}
			for k := range s.rows(layout.NewKey(table, number)) {
				t.Errorf("purge %t: table %c still has %q", purge, table, k)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
