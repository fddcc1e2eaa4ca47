package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
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

// readingAnswers are those of a store to many questions about readings.
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

// TestReadingsInBlocksAreThoseThatWereSent compares a store with the reference, while rounds and
// merges run, a round is broken off, and the power is cut.
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
			err = errors.Join(err, s.settleReadings())
		case 3:
			err = errors.Join(err, s.settleReadings(), s.mergeReadingsNow())
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
	if told, _ := verifyMem(t, fs); len(told) > 0 {
		t.Errorf("it is told to be damaged: %q", told)
	}
}

// mergeReadingsNow merges without waiting for more rounds.
func (s *Store) mergeReadingsNow() error {
	s.measure.running.Lock()
	defer s.measure.running.Unlock()
	return s.mergeReadings(context.Background())
}

// breakOff does a round up to where it would end: its blocks are on the disk, its rows are not
// deleted.
func breakOff(s *Store) error {
	s.measure.running.Lock()
	defer s.measure.running.Unlock()
	err := s.measure.freeze()
	out := blocks.NewTables(s.env, blocks.ReadingTables, nil)
	x := readingRound{store: s, put: out.Put, key: layout.NewKey(0, 0)}
	for _, t := range s.everyTenant() {
		err = errors.Join(err, x.tenant(t))
	}
	return errors.Join(err, out.End(), s.sync())
}

// TestAReadingThatIsSentAgainBehindABrokenRoundStands: what is sent behind a round that was broken
// off is of a later generation, or the blocks of that round would stand beside it as equals.
func TestAReadingThatIsSentAgainBehindABrokenRoundStands(t *testing.T) {
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
		if err := s.settleReadings(); err != nil {
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

// TestNoReaderMissesAReadingInARound reads what was acknowledged while rounds run all the time, and
// cuts the power in between.
func TestNoReaderMissesAReadingInARound(t *testing.T) {
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
	if err := s.Close(); err != nil { // it waits for the round that is wanted
		t.Fatal(err)
	}
	if s.measure.settled.Load() < 2 {
		t.Error("there was no round")
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

// TestSmallBlocksAreMerged: a device has few blocks of a day, however many rounds there were and
// however often its readings were sent again, and a merge is bounded.
func TestSmallBlocksAreMerged(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := openMem(t, vfs.NewCrashableMem())
		const rounds = 150
		for n := range rounds {
			at := n
			if again {
				at = n % 3
			}
			if err := errors.Join(sendReading(s, 0, at), s.settleReadings()); err != nil {
				t.Fatal(err)
			}
		}
		blocks := 0
		for range s.rows(
			layout.NewKey(layout.TableReadingBlock, s.tenants[andon.DefaultTenant].number)) {
			blocks++
		}
		// Readings are 1,000 s apart, so 86 a day; and rounds that no merge has looked at.
		if most := rounds/86*mergeAt + 2*mergeAt; blocks > most {
			t.Errorf("sent again %t: %d blocks, more than %d", again, blocks, most)
		}
		showsReadings(t, s, 0, map[bool]int{true: 3, false: rounds}[again])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhichBlocksAreMerged keeps deliveries apart between which there is another one.
func TestWhichBlocksAreMerged(t *testing.T) {
	// blocks of a size and a time, from the earliest delivery to the latest
	of := func(sizes ...int) (all []sequenced) {
		for i, size := range sizes {
			b := layout.BlockSpan{Newest: andon.Time(10*i + 5), Oldest: andon.Time(10 * i)}
			all = append(all, sequenced{
				sequence: uint64(i + 1), largest: size, blocks: []layout.BlockSpan{b},
			})
		}
		return all
	}
	large := of(512, 512, 1, 1, 1, 1, 1, 1, 1, 1)
	large[2].blocks = make([]layout.BlockSpan, mergeMost+1)
	for name, test := range map[string]struct {
		all  []sequenced
		want []uint64
	}{
		"too few":             {of(1, 1, 1, 1, 1, 1, 1), nil},
		"enough":              {of(512, 1, 1, 1, 1, 1, 1, 1, 1), []uint64{2, 3, 4, 5, 6, 7, 8, 9}},
		"with smaller ones":   {of(8, 8, 8, 8, 1, 8, 8, 8, 8), []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"a large one between": {of(1, 1, 1, 1, 512, 1, 1, 1, 1), nil},
		"full":                {of(512, 512, 512, 512, 512, 512, 512, 512), nil},
		"too large at once":   {large, nil},
	} {
		var got []uint64
		for _, b := range toMerge(test.all) {
			got = append(got, b.sequence)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v are merged, want %v", name, got, test.want)
		}
	}
}

// TestTheLatestReadingOpensOneBlock counts what the questions that are asked most decode.
func TestTheLatestReadingOpensOneBlock(t *testing.T) {
	s := openMem(t, vfs.NewCrashableMem())
	defer s.Close()
	for n := range 86 {
		if err := sendReading(s, 0, n); err != nil {
			t.Fatal(err)
		}
		if n%5 == 3 { // but for the last two
			if err := s.settleReadings(); err != nil {
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
		scan, err := s.newReadingScan(t.Context(), s.tenants[andon.DefaultTenant])
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range scan.device("d0", test.q) {
			if err != nil {
				t.Error(err)
			}
		}
		if scan.opened > test.most {
			t.Errorf("%+v: %d blocks were opened, want %d", test.q, scan.opened, test.most)
		}
		if keys := scan.rows.Keys + scan.blocks.Keys; test.most == 0 && keys > test.q.Limit {
			t.Errorf("%+v: %d keys were looked at", test.q, keys)
		}
		scan.close()
	}
}

// TestNothingIsLeftOfReadingsThatAreDeleted purges a device, and deletes a tenant, whose readings
// are in rows of two generations and in blocks, while a round was broken off.
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
		err := s.settleReadings()
		send(andon.MinTime + 1)
		err = errors.Join(err, breakOff(s))
		send(andon.MinTime + 2)
		if purge {
			err = errors.Join(err, s.Purge(ctx, otherTenant, "d"))
		} else {
			err = errors.Join(err, s.DeleteTenant(ctx, otherTenant))
		}
		if err := errors.Join(err, s.settleReadings(), s.settleReadings()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []byte{layout.TableReading, layout.TableReadingBlock,
			layout.TableReadingDay, layout.TableMetric} {
			for k := range s.rows(layout.NewKey(table, number)) {
				t.Errorf("purge %t: table %c still has %q", purge, table, k)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
