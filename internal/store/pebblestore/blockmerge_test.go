package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

const mergedDevices = 5

// inRounds settles an entry of each device in each of some rounds, and sends each of the first
// again with another message in the last one.
func inRounds(t *testing.T, s *Store, rounds int) {
	t.Helper()
	for n := range rounds {
		var events []andon.Event
		for d := range mergedDevices {
			e := andon.Event{
				Device: andon.DeviceID(fmt.Sprint("d", d)), State: "NORMAL", Operator: "Liz",
				Time: andon.MinTime + andon.Time(n)*1e6, Message: fmt.Sprint("message ", n),
				Attributes: `{"line":"L3"}`,
			}
			events = append(events, e)
			if n > 0 && n == rounds-1 {
				e.Time, e.Message = andon.MinTime, "sent again"
				events = append(events, e)
			}
		}
		events = andon.SortBatch(events)
		err := s.Append(t.Context(), andon.DefaultTenant, 1, events)
		if err := cmp.Or(err, s.checkpoint()); err != nil {
			t.Fatal(err)
		}
	}
}

// blocks counts the blocks that there are.
func (s *Store) blocks(t *testing.T) (n int) {
	t.Helper()
	for range s.rows(key{tableBlock}) {
		n++
	}
	return n
}

// told returns all entries of the devices.
func told(t *testing.T, s *Store) (all []andon.Event) {
	t.Helper()
	for d := range mergedDevices {
		device := andon.DeviceID(fmt.Sprint("d", d))
		for e, err := range s.DeviceEvents(
			context.Background(), andon.DefaultTenant, device, andon.EventQuery{Limit: 1000},
		) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// TestBlocksAreMerged: a device has one block of a day that was settled in many rounds, whose
// answers are those of before, and which is all that is read for them.
func TestBlocksAreMerged(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	const rounds = mergeRounds - 1
	inRounds(t, s, rounds)
	if err := s.mergeBlocks(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if n := s.blocks(t); n != rounds*mergedDevices {
		t.Errorf("%d blocks: some were merged that are too few", n)
	}
	want := told(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs) // which days are loose is stored
	defer s.Close()
	later := andon.Event{
		Device: "d0", Time: andon.MinTime + rounds*1e6, State: "NORMAL", Message: "the last",
	}
	err := s.Append(t.Context(), andon.DefaultTenant, 1, []andon.Event{later})
	if err := cmp.Or(err, s.checkpoint()); err != nil {
		t.Fatal(err)
	}
	want = append([]andon.Event{later}, want...)
	if err := s.mergeBlocks(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if n := s.blocks(t); n != mergedDevices {
		t.Errorf("%d blocks, want one of each device", n)
	}
	if diff := gocmp.Diff(want, told(t, s)); diff != "" {
		t.Error(diff)
	}
	steps := explained(t, func(ctx context.Context) (int, error) {
		return howMany(s.DeviceEvents(ctx, andon.DefaultTenant, "d1",
			andon.EventQuery{Limit: rounds}))
	}, rounds)
	atMost(t, steps, "table b", 2, 1)
	if err := s.db.Compact(t.Context(), key{tableBlock}, key{tableBlock}.end(), false); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, told(t, s)); diff != "" {
		t.Errorf("compacted: %s", diff)
	}
}

// TestMergeGoesOn merges devices in several steps, and goes on where it was interrupted.
func TestMergeGoesOn(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	inRounds(t, s, mergeRounds)
	want := told(t, s)
	m := blockMerge{
		day: s.merges.loose[0], key: newKey(0, 0), from: 1, bytes: mergeBytes - 1,
		out: tables{store: s, name: mergeTables},
	}
	if err := cmp.Or(m.read(s), m.write(s)); err != nil {
		t.Fatal(err)
	}
	if m.last || m.behind != 2 {
		t.Errorf("a step ended before device %d, and was the last: %v", m.behind, m.last)
	}
	if n := s.blocks(t); n != (mergedDevices-1)*mergeRounds+1 {
		t.Errorf("%d blocks behind the merge of one device", n)
	}
	asked := 0
	if err := s.mergeBlocks(func() bool { asked++; return asked > 1 }); err != nil {
		t.Fatal(err)
	}
	if err := s.mergeBlocks(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if n := s.blocks(t); n != mergedDevices {
		t.Errorf("%d blocks, want one of each device", n)
	}
	if diff := gocmp.Diff(want, told(t, s)); diff != "" {
		t.Error(diff)
	}
	if d := s.merges.loose[0]; d.due() || d.Merged != mergeRounds || d.next != 0 {
		t.Errorf("%+v behind its merge", d)
	}
}

// TestPowerCutInAMerge has the power fail before each step that a merge takes on the disk.
func TestPowerCutInAMerge(t *testing.T) {
	mem := vfs.NewCrashableMem()
	rng := rand.New(rand.NewPCG(1, 5))
	var mu sync.Mutex
	var cuts []*vfs.MemFS
	on := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			for unsynced := range 2 {
				cuts = append(cuts, mem.CrashClone(vfs.CrashCloneCfg{
					UnsyncedDataPercent: 100 * unsynced, RNG: rng,
				}))
			}
		}
		return nil
	})}
	s, err := Open("store", Options{FS: errorfs.Wrap(mem, &on)})
	if err != nil {
		t.Fatal(err)
	}
	inRounds(t, s, mergeRounds)
	want := told(t, s)
	on.On()
	if err := s.mergeBlocks(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	on.Off()
	merged := s.blocks(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	both := map[int]bool{}
	for _, fs := range append(cuts, mem) {
		s := openMem(t, fs)
		both[s.blocks(t)] = true
		if diff := gocmp.Diff(want, told(t, s)); diff != "" {
			t.Error(diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if merged != mergedDevices || len(both) != 2 || !both[merged] {
		t.Errorf("%d blocks were left, by power cuts %v: want those of before or behind the merge",
			merged, both)
	}
}

// TestMergeLeavesExpiredDays: a day that expires while it is merged does not come back.
func TestMergeLeavesExpiredDays(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	inRounds(t, s, mergeRounds)
	m := blockMerge{
		day: s.merges.loose[0], key: newKey(0, 0),
		out: tables{store: s, name: mergeTables},
	}
	if err := m.read(s); err != nil {
		t.Fatal(err)
	}
	horizon := andon.Horizon{Events: andon.MinTime.Add(2 * 86_400_000_000)}
	if err := cmp.Or(s.Expire(t.Context(), andon.DefaultTenant, horizon), m.write(s)); err != nil {
		t.Fatal(err)
	}
	if n := s.blocks(t); n != 0 {
		t.Errorf("%d blocks of a day that expired", n)
	}
}

// TestWhichDaysAreMerged goes through rounds that give two days blocks.
func TestWhichDaysAreMerged(t *testing.T) {
	var m merges
	today, before := tenantDay{1, 11}, tenantDay{1, 10}
	round := func(days ...tenantDay) (due []uint32) {
		of := map[tenantDay]bool{}
		for _, d := range days {
			of[d] = true
		}
		m.loose = m.after(of)
		for i := range m.loose {
			if d := &m.loose[i]; d.due() {
				due = append(due, d.Day)
				d.Merged, d.Rounds = d.Merged+d.Rounds, 0
			}
		}
		return due
	}
	got := map[int][]uint32{}
	for n := 1; n <= 100; n++ {
		days := []tenantDay{today}
		if n <= restRounds {
			days = append(days, before)
		}
		if due := round(days...); len(due) > 0 {
			got[n] = due
		}
	}
	want := map[int][]uint32{
		restRounds + quietAt: {10}, mergeRounds: {11}, 2 * mergeRounds: {11}, 4 * mergeRounds: {11},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := map[tenantDay]bool{}
	for day := range uint32(2 * mostLoose) {
		many[tenantDay{2, day}] = true
	}
	if all := m.after(many); len(all) != mostLoose {
		t.Errorf("%d days are remembered, want %d", len(all), mostLoose)
	}
}
