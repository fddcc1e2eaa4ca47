package blocks

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// pair is a value of the tests: of one time the later delivery wins.
type pair struct {
	at    andon.Time
	value byte
}

// pairs implements Codec. A block has a byte of its length, and 9 bytes a pair.
type pairs struct{}

func (pairs) Decode(all []pair, block []byte, _ andon.Time) ([]pair, error) {
	for b := block[1:]; len(b) > 0; b = b[9:] {
		all = append(all, pair{andon.Time(binary.BigEndian.Uint64(b)), b[8]})
	}
	return all, nil
}

func (pairs) Encode(b []byte, all []pair) ([]byte, int) {
	n := min(len(all), 3)
	b = append(b, byte(n))
	for _, p := range all[:n] {
		b = append(binary.BigEndian.AppendUint64(b, uint64(p.at)), p.value)
	}
	return b, n
}

func (pairs) Time(p *pair) andon.Time { return p.at }

func (pairs) Compare(a, b *pair) int { return cmp.Compare(b.at, a.at) }

func (pairs) Join(_, later pair) pair { return later }

var ofPairs = Kind{
	Name: "pairs", Blocks: layout.TableBlock, Runs: layout.TableRun, Days: layout.TableDay,
	Count: func(block []byte) (int, bool) { return int(block[0]), len(block) == 1+9*int(block[0]) },
	Merge: engine.LockMerge, Flush: engine.LockFlush, List: engine.LockRuns,
}

const pairDay = uint32(100)

func pairAt(n int) andon.Time { return andon.DayStart(pairDay) + andon.Time(n) }

// openPairs returns a log of one tenant.
func openPairs(t *testing.T) (*Log, *Tenant) {
	t.Helper()
	fs := vfs.NewMem()
	options := func() *pebble.Options {
		return &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatValueSeparation}
	}
	db, err := pebble.Open("", options())
	if err != nil {
		t.Fatal(err)
	}
	pacing := engine.NewPacing(1 << 20)
	t.Cleanup(func() {
		pacing.Stop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	tenant := NewTenant(7)
	l := NewLog(&Env{
		DB: db, FS: fs, Table: 1 << 20, Pacing: pacing, Options: options,
		Log: slog.New(slog.DiscardHandler), Check: func() error { return nil },
	}, ofPairs, func() Codec[pair] { return pairs{} },
		func() []*Tenant { return []*Tenant{tenant} })
	if err := l.Open(0); err != nil {
		t.Fatal(err)
	}
	return l, tenant
}

// flushPairs does a flush of pairs by device, newest first.
func flushPairs(t *testing.T, l *Log, tenant *Tenant, sequence uint64, all map[string][]pair) {
	t.Helper()
	err := l.Flush(func() error {
		out := NewTables(l.Env, TablePrefix, nil, 0)
		w := NewRunWriter(l, pairs{}, &out, tenant, sequence)
		for device, some := range all {
			day := append(layout.NewKey(layout.TableDay, tenant.Number), device...)
			err := errors.Join(w.Write([]byte(device), pairDay, some),
				out.Put(day.Inverted(pairDay), nil))
			if err != nil {
				return err
			}
		}
		return errors.Join(w.End(), out.End(), l.DB.LogData(nil, pebble.Sync))
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Ended(sequence)
}

// readPairs returns what a reader finds of a device in its runs, the newest run first.
func readPairs(t *testing.T, r *Reader, device string) (all []pair) {
	t.Helper()
	for run := range r.Runs(pairDay, andon.Desc) {
		_, err := r.Device(pairDay, run.RunID, []byte(device), andon.Span{}, andon.Desc,
			func(at layout.BlockSpan, span andon.Span) (andon.Span, error) {
				block, err := r.ValueAndErr()
				if err == nil {
					all, err = pairs{}.Decode(all, block, at.Newest)
				}
				return span, err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func countRows(l *Log, table byte) (n int) {
	for range engine.Rows(context.Background(), l.DB, layout.Key{table}) {
		n++
	}
	return n
}

// TestMergeJoinsDeliveries merges runs in which a value comes again.
func TestMergeJoinsDeliveries(t *testing.T) {
	l, tenant := openPairs(t)
	for n := range 5 {
		flushPairs(t, l, tenant, uint64(n+1), map[string][]pair{
			"a": {{pairAt(10 + n), byte(n)}, {pairAt(5), byte(n)}}, "b": {{pairAt(n), 1}},
		})
	}
	if err := l.MergeAll(); err != nil {
		t.Fatal(err)
	}
	r, err := l.NewReader(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := []pair{{pairAt(14), 4}, {pairAt(13), 3}, {pairAt(12), 2}, {pairAt(11), 1},
		{pairAt(10), 0}, {pairAt(5), 4}}
	if diff := gocmp.Diff(want, readPairs(t, r, "a"), gocmp.AllowUnexported(pair{})); diff != "" {
		t.Error(diff)
	}
	runs := tenant.Runs.Load().On(pairDay)
	if len(runs) != 1 || runs[0].Entries != 11 || runs[0].Oldest != pairAt(0) ||
		runs[0].Newest != pairAt(14) || countRows(l, layout.TableRun) != 1 {
		t.Errorf("there are the runs %+v", runs)
	}
}

// TestMergeRefusesWhatIsIncomplete: runs of which one lacks a block stay as they are.
func TestMergeRefusesWhatIsIncomplete(t *testing.T) {
	l, tenant := openPairs(t)
	for n := range 2 {
		flushPairs(t, l, tenant, uint64(n+1), map[string][]pair{"a": {{pairAt(n), 1}}})
	}
	lost := l.device(nil, tenant.Number, pairDay, layout.RunID{Sequence: 1}, []byte("a"))
	if err := l.DB.DeleteRange(lost, lost.End(), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := l.MergeAll(); andon.KindOf(err) != andon.Damaged {
		t.Errorf("it was merged: %v", err)
	}
	if n := len(tenant.Runs.Load().On(pairDay)); n != 2 || countRows(l, layout.TableBlock) != 1 {
		t.Errorf("%d runs are left", n)
	}
}

// TestReaderThatOpensDuringAMerge has a merge begin and end while a reader opens, before its
// iterator is opened and after it.
func TestReaderThatOpensDuringAMerge(t *testing.T) {
	for _, before := range []bool{true, false} {
		l, tenant := openPairs(t)
		var want []pair
		for n := range 4 {
			flushPairs(t, l, tenant, uint64(n+1), map[string][]pair{"a": {{pairAt(n), 1}}})
			want = slices.Insert(want, 0, pair{pairAt(n), 1})
		}
		times := 0
		merge := func(now bool) {
			if times == 0 && now {
				if err := l.MergeAll(); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := l.newReader(tenant, func() (*engine.Iterator, error) {
			merge(before)
			k := layout.NewKey(l.Blocks, tenant.Number)
			it, err := engine.NewIterator(t.Context(), l.DB, k, k.End())
			merge(!before)
			times++
			return it, err
		})
		if err != nil {
			t.Fatal(err)
		}
		got := readPairs(t, r, "a")
		r.Close()
		diff := gocmp.Diff(want, got, gocmp.AllowUnexported(pair{}))
		if diff != "" || times != 2 {
			t.Errorf("opened %d times, a merge before the iterator %v: %s", times, before, diff)
		}
	}
}

// TestDeletionTakesWhatWasMerged: blocks of runs that were merged, and are yet to be excised, do
// not outlive the deletion of their device.
func TestDeletionTakesWhatWasMerged(t *testing.T) {
	l, tenant := openPairs(t)
	for n := range 3 {
		flushPairs(t, l, tenant, uint64(n+1),
			map[string][]pair{"a": {{pairAt(n), 1}}, "b": {{pairAt(n), 1}}})
	}
	list := *tenant.Runs.Load()
	l.merges.drop(tenant.Number, pairDay, list.On(pairDay)[:2]...)
	list = list.with(pairDay, list.On(pairDay)[2:])
	tenant.Runs.Store(&list)
	days := 0
	err := l.Exclusively(func(d *Deletion) error {
		b := engine.NewBatch(l.DB)
		defer b.Release()
		err := d.Device(t.Context(), b, tenant, []byte("a"), func(uint32) { days++ })
		return errors.Join(err, b.Write(pebble.Sync))
	})
	if n := countRows(l, layout.TableBlock); n != 1 || days != 1 || err != nil {
		t.Errorf("%v; %d blocks are left, of %d days", err, n, days)
	}
	if r := tenant.Runs.Load().On(pairDay)[0]; r.Entries != 1 {
		t.Errorf("the run has %d values", r.Entries)
	}
}

// TestReaderLeavesOutWhatIsNotWanted reads a part of the blocks of a device in both orders.
func TestReaderLeavesOutWhatIsNotWanted(t *testing.T) {
	l, tenant := openPairs(t)
	var all []pair
	for n := range 30 {
		all = append(all, pair{pairAt(30 - n), byte(n)})
	}
	flushPairs(t, l, tenant, 1, map[string][]pair{"a": all, "b": all, "c": all})
	r, err := l.NewReader(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	span := andon.Span{From: pairAt(12), To: pairAt(19)}
	for order, want := range map[andon.Order]string{
		andon.Desc: "[21 18 15 12]", andon.Asc: "[12 15 18 21]",
	} {
		var opened []andon.Time
		_, err := r.Device(pairDay, layout.RunID{Sequence: 1}, []byte("b"), span, order,
			func(at layout.BlockSpan, span andon.Span) (andon.Span, error) {
				opened = append(opened, at.Newest-andon.DayStart(pairDay))
				return span, nil
			})
		if got := fmt.Sprint(toInts(opened)); got != want || err != nil {
			t.Errorf("%v: the blocks %s were opened, want %s; %v", order, got, want, err)
		}
	}
	devices := map[string]int{}
	err = r.Run(pairDay, layout.RunID{Sequence: 1}, func(k *layout.BlockKey) (bool, error) {
		devices[string(k.Device)]++
		return string(k.Device) == "c", nil
	})
	want := map[string]int{"a": 1, "b": 1, "c": 10}
	if diff := gocmp.Diff(want, devices); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

func toInts(times []andon.Time) (all []int) {
	for _, t := range times {
		all = append(all, int(t))
	}
	return all
}

// TestAnInterruptedFlushIsRepeated: the blocks of before are replaced.
func TestAnInterruptedFlushIsRepeated(t *testing.T) {
	l, tenant := openPairs(t)
	broken := errors.New("broken")
	err := l.Flush(func() error {
		out := NewTables(l.Env, TablePrefix, nil, 0)
		w := NewRunWriter(l, pairs{}, &out, tenant, 1)
		err := w.Write([]byte("a"), pairDay, []pair{{pairAt(1), 1}})
		return errors.Join(err, out.Ingest(), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r := tenant.Runs.Load().On(pairDay)[0]
	if r.Entries != layout.Uncounted || !r.Holds(pairAt(99)) {
		t.Errorf("a run that is being written is %+v", r)
	}
	if err := l.MergeAll(); err != nil {
		t.Error(err)
	}
	flushPairs(t, l, tenant, 1, map[string][]pair{"a": {{pairAt(1), 1}}})
	runs := tenant.Runs.Load().On(pairDay)
	if len(runs) != 1 || runs[0].Entries != 1 || countRows(l, layout.TableBlock) != 1 {
		t.Errorf("there are the runs %+v", runs)
	}
	reopened := NewTenant(tenant.Number)
	l.tenants = func() []*Tenant { return []*Tenant{reopened} }
	if err := l.Open(1); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(runs, reopened.Runs.Load().On(pairDay)); diff != "" {
		t.Error(diff)
	}
}
