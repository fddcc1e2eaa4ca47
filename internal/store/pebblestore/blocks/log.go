package blocks

import (
	"context"
	"sync/atomic"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Log is the blocks of one kind of values, of all tenants.
type Log struct {
	*Env
	Kind
	tenants func() []*Tenant // those that there are
	join    func() joiner
	merges  merges
	// flushing is held by a flush and by a deletion, so that a flush never writes again what a
	// deletion has deleted.
	flushing engine.RWMutex
	Merged   atomic.Int64 // blocks that were merged since the store was opened
}

// NewLog returns a log. codec makes a codec for each merge.
func NewLog[T any](e *Env, k Kind, codec func() Codec[T], tenants func() []*Tenant) *Log {
	l := &Log{
		Env: e, Kind: k, tenants: tenants,
		join: func() joiner { return &join[T]{codec: codec()} },
	}
	l.flushing.Rank, l.merges.running.Rank, l.merges.mu.Rank = k.Flush, k.Merge, k.List
	return l
}

// Tenant is what is in memory of the blocks of a tenant.
type Tenant struct {
	Number uint32
	Runs   atomic.Pointer[RunList]
}

// NewTenant returns a tenant without blocks.
func NewTenant(number uint32) *Tenant {
	t := &Tenant{Number: number}
	t.Runs.Store(&RunList{})
	return t
}

// Open reads which runs there are. The flushes up to a sequence have ended.
func (l *Log) Open(flushed uint64) error {
	l.merges.candidates = map[tenantDay]bool{}
	l.merges.flushed[0] = flushed
	for _, t := range l.tenants() {
		var list RunList
		prefix := layout.NewKey(l.Runs, t.Number)
		for it, err := range engine.Rows(context.Background(), l.DB, prefix) {
			if err != nil {
				return err
			}
			value, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			day, r, ok := layout.ReadRun(it.Key()[len(prefix):], value)
			if !ok {
				return layout.ErrDamaged
			}
			if r.Dropped {
				l.merges.drop(t.Number, day, r)
				continue
			}
			if n := len(list); n == 0 || list[n-1].day != day {
				list = append(list, dayRuns{day: day})
			}
			of := &list[len(list)-1]
			if of.runs = append(of.runs, r); len(of.runs) >= quietRuns {
				l.merges.candidates[tenantDay{t.Number, day}] = true
			}
		}
		t.Runs.Store(&list)
	}
	return nil
}

// Flush calls do for one flush. It waits while a flush runs, and while something is deleted.
func (l *Log) Flush(do func() error) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	return do()
}

// Ended says that the flush of a sequence has ended: that all is in blocks is on the disk, and
// merges may take its runs.
func (l *Log) Ended(sequence uint64) {
	m := &l.merges
	m.mu.Lock()
	copy(m.flushed[1:], m.flushed[:])
	m.flushed[0] = sequence
	m.mu.Unlock()
	m.Want()
}
