package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/eventlog"
)

// setFormer makes a store one of format 4 that is opened next.
func setFormer(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.Set(fixedKey(fixedFormat), []byte{0, 0, 0, 4}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

// formerRecordOf begins a record of format 4.
func formerRecordOf(tenant uint32, received andon.Time) []byte {
	b := binary.AppendUvarint(nil, uint64(tenant))
	return binary.AppendUvarint(b, uint64(received))
}

// former rewrites what a store has into the tables of format 4, as a program of that time wrote
// them: a key for each entry and its escalations, days, hours of operators, and a checkpoint, of
// some devices as records behind it, with numbers that have gaps.
func former(t *testing.T, s *Store) {
	t.Helper()
	ctx, id := t.Context(), andon.DefaultTenant
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	tenant := s.tenants[id]
	b := s.db.NewBatch()
	defer b.Close()
	set := func(k key, value []byte) {
		if err := b.Set(k, value, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []byte{
		tableBlock, tableRun, tableDay, tablePosting, tableEscalation, tableCheckpoint,
	} {
		if err := b.DeleteRange(key{table}, key{table + 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, slot := range tenant.slots(0, 1000) {
		shown := tenant.fleet.Shown(slot)
		d := &shown
		number := slot.Number()*3 + 1
		if number%2 == 0 {
			set(newKey(tableCheckpoint, tenant.number).number(number), appendCheckpointed(nil, d))
		} else {
			record := formerRecordOf(tenant.number, d.Received)
			record = binary.AppendUvarint(record, uint64(number))
			record = appendChange(record, allParts, true, d, d.Received)
			set(binary.BigEndian.AppendUint64(key{formerRecord}, s.order.next), record)
			s.order.next++
		}
		for e, err := range s.DeviceEvents(ctx, id, d.ID, andon.EventQuery{Limit: math.MaxInt}) {
			if err != nil {
				t.Fatal(err)
			}
			set(formerEventKey(tenant.number, e.Device, e.Time, e.State),
				appendEvent(nil, &e, e.Operator))
			set(newKey(formerDay, tenant.number).text(string(e.Device)).inverted(e.Time.Day()), nil)
			entry, err := s.Entry(ctx, id, e.Device, e.Time, e.State)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range entry.Escalations {
				k := formerEventKey(tenant.number, e.Device, e.Time, e.State).invertedTime(x.At)
				set(append(k, x.To...), appendEscalation(nil, &x))
			}
			if e.Operator != "" {
				set(newKey(formerOperator, tenant.number).text(string(e.Operator)).
					number(e.Time.Hour()).text(string(e.Device)), nil)
			}
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		t.Fatal(err)
	}
	setFormer(t, s)
}

// answers are those of a store to many questions.
func answers(t *testing.T, s *Store) (all []any) {
	t.Helper()
	ctx, id := t.Context(), andon.DefaultTenant
	whole := andon.EventQuery{Limit: math.MaxInt}
	for d, err := range s.Devices(ctx, id, andon.DeviceQuery{Limit: math.MaxInt}) {
		all = append(all, d, err)
		for e, err := range s.EscalatedEntries(ctx, id, d.ID, whole) {
			all = append(all, e, err)
		}
		for e, err := range s.DeviceEvents(ctx, id, d.ID, whole) {
			all = append(all, e, err)
		}
	}
	for _, person := range []andon.PersonID{"Liz", "Tom", "Sara"} {
		for e, err := range s.OperatorEvents(ctx, id, person, whole) {
			all = append(all, e, err)
		}
		for e, err := range s.SupervisorEvents(ctx, id, person, whole) {
			all = append(all, e, err)
		}
	}
	for name, err := range s.Names(ctx, id, andon.NameQuery{Limit: 100}) {
		all = append(all, name, err)
	}
	return all
}

func report(t *testing.T, s *Store) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	for n := range 40 {
		events := randomEvents(rng)
		for i := range events {
			events[i].Operator = []andon.PersonID{"", "Liz", "Tom"}[rng.IntN(3)]
			events[i].Message = fmt.Sprint("message ", rng.IntN(9))
			if rng.IntN(9) == 0 {
				events[i].EscalatedTo = "Sara"
			}
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, andon.Time(n+1), events); err != nil {
			t.Fatal(err)
		}
		e := andon.Escalation{
			Device: events[0].Device, Time: events[0].Time, State: events[0].State,
			At: andon.MaxTime/2 + andon.Time(n), By: "Liz", Note: "a note",
			To: []andon.PersonID{"Sara", "Tom", ""}[rng.IntN(3)],
		}
		if _, _, err := s.Escalate(t.Context(), andon.DefaultTenant, e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAStoreOfFormat4IsConverted: it answers as before, behind a crash, too, and has no row of the
// former tables. It is broken off after each part, as a power cut would.
func TestAStoreOfFormat4IsConverted(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	report(t, s)
	want := answers(t, s)
	former(t, s)
	s, fs = crashed(t, s, fs)
	check := func(s *Store) {
		t.Helper()
		if diff := cmp.Diff(want, answers(t, s)); diff != "" {
			t.Fatal(diff)
		}
		for _, table := range []byte{formerEvent, formerDay, formerOperator, formerRecord} {
			for k := range s.rows(key{table}) {
				t.Fatalf("table %c still has %q", table, k)
			}
		}
	}
	check(s)
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	s, _ = crashed(t, s, fs)
	check(s)
	report(t, s) // the same deliveries again
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSerialConversionGoesOn breaks a conversion off behind each of its parts.
func TestSerialConversionGoesOn(t *testing.T) {
	for _, c := range []struct {
		format string
		former func(*testing.T, *Store)
		parts  int // at least
	}{{"4", former, 10}, {"7", formerBlocks, 5}} {
		t.Run("format "+c.format, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := openMem(t, fs)
			report(t, s)
			want := answers(t, s)
			c.former(t, s)
			former := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if parts := breakingOff(t, former, want); parts < c.parts {
				t.Errorf("there were %d parts only", parts)
			}
		})
	}
}

// breakingOff breaks a conversion off behind each of its parts, and returns how many these are.
func breakingOff(t *testing.T, former *vfs.MemFS, want []any) (parts int) {
	t.Helper()
	for ; ; parts++ {
		fs := former.CrashClone(vfs.CrashCloneCfg{})
		o := Options{FS: fs, part: 1}
		broken, err := OpenContext(&leaving{t.Context(), parts}, "store", o)
		if err == nil {
			_ = broken.Close()
			return parts
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s := openMem(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: parts * 7 % 101,
			RNG: rand.New(rand.NewPCG(1, 1))}))
		if diff := cmp.Diff(want, answers(t, s)); diff != "" {
			t.Fatalf("broken off after %d parts: %s", parts, diff)
		}
		_ = s.Close()
	}
}

// formerBlocks rewrites the runs of a store into the blocks of format 7, of two rounds, of which
// the second has most entries again.
func formerBlocks(t *testing.T, s *Store) {
	t.Helper()
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	b := s.db.NewBatch()
	defer b.Close()
	n := 0
	for k, value := range s.rows(key{tableBlock}) {
		tenant, rest, _ := takeNumber(k)
		at, ok := splitBlock(rest)
		if !ok {
			t.Fatalf("key %x", k)
		}
		set := func(sequence uint64, value []byte) {
			k := newKey(formerBlock, tenant).number(at.day).number(at.number).
				times(at.day, at.newest, at.oldest).short(^sequence, sequenceBytes)
			if err := b.Set(k, value, nil); err != nil {
				t.Fatal(err)
			}
		}
		set(at.sequence, value)
		if n++; n%3 > 0 {
			set(at.sequence-1, otherTexts(t, value, at.newest))
		}
	}
	for _, table := range []byte{tableBlock, tableRun} {
		if err := b.DeleteRange(key{table}, key{table + 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Set(fixedKey(fixedFormat), []byte{0, 0, 0, 7}, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(pebble.Sync); err != nil || n < 5 {
		t.Fatalf("%d blocks, %v", n, err)
	}
}

// otherTexts returns a block with the same entries, and other texts.
func otherTexts(t *testing.T, value []byte, newest andon.Time) []byte {
	t.Helper()
	var d eventlog.Decoder
	entries, err := d.Entries(value, newest)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].Message = []byte("an earlier delivery")
	}
	var x eventlog.Encoder
	return x.Append(nil, entries)
}

// TestAStoreOfFormat7IsConverted: it answers as before, also behind a crash and later deliveries,
// has no row of the former table, and is whole.
func TestAStoreOfFormat7IsConverted(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	report(t, s)
	want := answers(t, s)
	formerBlocks(t, s)
	check := func() {
		t.Helper()
		s, fs = crashed(t, s, fs)
		if diff := cmp.Diff(want, answers(t, s)); diff != "" {
			t.Fatal(diff)
		}
		for k := range s.rows(key{formerBlock}) {
			t.Fatalf("there still is %x", k)
		}
	}
	check()
	report(t, s) // the same deliveries again
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	check()
	if err := s.mergeAll(); err != nil {
		t.Fatal(err)
	}
	closeWhole(t, s, fs)
}

// formerEventKey is the key of an event up to format 4.
func formerEventKey(
	tenant uint32, device andon.DeviceID, at andon.Time, state andon.State,
) key {
	return newKey(formerEvent, tenant).event(device, at, state)
}

// TestAStoreOfFormat5IsOpened: its rows are not packed, and the next ones are.
func TestAStoreOfFormat5IsOpened(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, fs)
	first := warnings(200)
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, first); err != nil {
		t.Fatal(err)
	}
	stored := map[string][]byte{}
	for k, value := range s.rows(key{tableRow}) {
		row, err := unpackRow(nil, value)
		if err != nil {
			t.Fatal(err)
		}
		stored[string(k)] = bytes.Clone(row)
	}
	for k, row := range stored {
		if err := s.db.Set(append(key{tableRow}, k...), row, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Set(fixedKey(fixedFormat), []byte{0, 0, 0, 5}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	s, fs = crashed(t, s, fs)
	second := warnings(200)
	for i := range second {
		second[i].Time++
	}
	if err := s.Append(t.Context(), andon.DefaultTenant, 1, second); err != nil {
		t.Fatal(err)
	}
	s, _ = crashed(t, s, fs)
	defer s.Close()
	if got, want := entriesOf(t, s), slices.Concat(first, second); len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	value, err := s.get(rowKey(s.order.next - 1))
	if err != nil || len(value) == 0 || value[0] != rowPacked {
		t.Errorf("the last row is %.8x…, %v, want a packed one", value, err)
	}
}

// entriesOf lists all entries of the first tenant.
func entriesOf(t *testing.T, s *Store) (all []andon.Event) {
	t.Helper()
	q := andon.EventQuery{Limit: 10_000}
	for e, err := range s.TenantEvents(t.Context(), andon.DefaultTenant, q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestDamagedPackedRow: what is no row is an error, and takes no memory.
func TestDamagedPackedRow(t *testing.T) {
	row := bytes.Repeat([]byte("row"), 1000)
	packed := packRow(nil, row)
	if got, err := unpackRow(nil, packed); !bytes.Equal(got, row) || err != nil {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if 4*len(packed) > len(row) {
		t.Errorf("%d of %d bytes", len(packed), len(row))
	}
	huge := binary.AppendUvarint([]byte{rowPacked}, 1<<31)
	for _, bad := range [][]byte{packed[:1], packed[:len(packed)-1], huge} {
		if _, err := unpackRow(nil, bad); !errors.Is(err, errDamaged) {
			t.Errorf("%.8x…: %v", bad, err)
		}
	}
}
