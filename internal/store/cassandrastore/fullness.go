package cassandrastore

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"github.com/andonhq/andon"
)

// fullness counts what is in the partitions of those devices that write most, to know when a day of
// one needs more of them. It is apart from the slots, which devices that write less push out: of
// all partitions that are written to, it keeps those with most in memory of fixed size.
//
// When there are too many, the count of a middling one is taken off all, and those that had less
// are forgotten. So a count is too low by at most the number of all entries that were written
// meanwhile, divided by fullestKept/2 (Misra and Gries).
//
// What other processes wrote, and this one before it was started, is not in a count. So a partition
// that is on its way to be full is counted by Cassandra: at a fifth, and then again before it can
// be full if the others go on as they did.
type fullness struct {
	limit int64 // units of one partition

	mu   sync.Mutex
	seed maphash.Seed
	days map[uint64]filling // by a hash of partition
}

// partition is a day of a device that has so many shards: all of them, which fill alike.
type partition struct {
	tenant string
	device andon.DeviceID
	day    uint32
	shards int
}

// load is what is added. A unit is a row, or a KiB where a row has more, so that partitionUnits are
// half of the reference's limits, 100,000 rows and 100 MB.
type load struct{ rows, units int64 }

const (
	partitionUnits = 50_000
	fullestKept    = 1 << 16
)

func unitsOf(bytes int) int64 { return 1 + int64(bytes)>>10 }

// filling is what is known of one partition.
type filling struct {
	units   int64 // there are
	own     load  // of this process, since the rows were counted
	counted int64 // rows
	next    int64 // units from which on the rows are to be counted
}

func newFullness() *fullness {
	return &fullness{
		limit: partitionUnits, seed: maphash.MakeSeed(), days: map[uint64]filling{},
	}
}

func (f *fullness) sum(p partition) uint64 {
	return maphash.String(f.seed, p.tenant+"\x00"+string(p.device)+"\x00"+
		strconv.Itoa(int(p.day))+"\x00"+strconv.Itoa(p.shards))
}

// add counts what is written to a partition. It returns the units that there are, and whether the
// rows should be counted.
func (f *fullness) add(p partition, l load) (units int64, unsure bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.sum(p)
	is, known := f.days[key]
	if !known {
		f.makeRoom()
		is.next = f.limit * int64(p.shards) / 5
	}
	is.units += l.units
	is.own.rows += l.rows
	is.own.units += l.units
	f.days[key] = is
	return is.units, is.units >= is.next
}

// counted takes in how many rows there are. The rows that others wrote are taken to be as large as
// those of this process.
func (f *fullness) counted(p partition, rows int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, full := f.sum(p), f.limit*int64(p.shards)
	is, known := f.days[key]
	if !known || is.own.rows == 0 {
		return
	}
	is.units = max(is.units, rows*is.own.units/is.own.rows)
	grown := max(rows-is.counted, is.own.rows)
	left := max(full-is.units, 0) * is.own.rows / grown // of this process, until it is full
	is.next = is.units + max(left*4/5, full/20)
	is.counted, is.own = rows, load{}
	f.days[key] = is
}

// makeRoom sees to it that there is room for one more.
func (f *fullness) makeRoom() {
	if len(f.days) < fullestKept {
		return
	}
	all := make([]int64, 0, len(f.days))
	for _, is := range f.days {
		all = append(all, is.units)
	}
	slices.Sort(all)
	middling := all[len(all)/2]
	for key, is := range f.days {
		if is.units -= middling; is.units <= 0 {
			delete(f.days, key)
			continue
		}
		is.next -= middling
		f.days[key] = is
	}
}

// countRows counts the rows of partitions that others may have written to, too. All shards of a
// number fill alike, so that one speaks for all. What can't be counted now is when more is written.
func (s *Store) countRows(ctx context.Context, unsure []partition) {
	ask := question{"SELECT COUNT(*) FROM events_by_device " +
		"WHERE tenant = ? AND device = ? AND day = ? AND shard = ?", 4}
	err := parallel(ctx, len(unsure), func(ctx context.Context, i int) error {
		p := unsure[i]
		var rows int64
		args := []any{p.tenant, string(p.device), int(p.day), expand(shardsOf(p.shards))[0]}
		err := s.each(ctx, ask, args, []any{&rows}, func() {})
		if err == nil {
			s.fullness.counted(p, rows*int64(p.shards))
		}
		return err
	})
	if err != nil {
		s.options.Log.Debug("the rows of a partition can't be counted", "error", err)
	}
}
