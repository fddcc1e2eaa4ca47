package pebblestore

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/current"
)

// note is what the store remembers of each device beyond what it shows: what it has written of it
// already, so that it is not written again. Only who stages looks at it.
type note struct {
	number uint32 // of the device within its tenant
	named  bool   // a record or the checkpoint holds its id

	day  uint32 // the last day that was entered in the table of days
	hour uint32 // with hourOperator: the last hint for an operator
	// hourOperator is a string of the fleet's, shared with the device that it belongs to.
	hourOperator string
}

type (
	fleet   = current.Fleet[note]
	slot    = current.Slot[note]
	changes = current.Changes[note]
)

// order lets one write stage at a time. What is staged goes into the write-ahead log before the
// next one stages, so a write is never on disk without all those it was worked out from. Notes may
// therefore be made while staging.
type order struct {
	sync.Mutex
	next uint64 // sequence of the next record
}

// staged is a write that is in the log but perhaps not on the disk yet.
type staged struct {
	sequence uint64 // of its last record
	tenant   *tenant
	changes  *changes // nil where nothing that is shown changed
}

// line shows what was staged, in that order, once it is on the disk.
type line struct {
	sync.Mutex
	waiting []staged
	shown   uint64 // all records before this one are shown
}

// commit puts a staged write into the log and leaves the ordered section, then waits for the disk
// and for the write to be shown. The caller holds s.order, which commit unlocks.
func (s *Store) commit(batch *pebble.Batch, w *staging) error {
	size, err := w.setRecords(s.order.next)
	if err == nil {
		err = s.db.ApplyNoSyncWait(batch, pebble.Sync)
	}
	if err != nil {
		// Slots already lead to what this write staged: there is no way on.
		s.order.Unlock()
		return s.fatal(fmt.Errorf("write store: %w", err))
	}
	s.order.next += uint64(len(w.records))
	sequence := s.order.next - 1
	s.line.Lock()
	s.line.waiting = append(s.line.waiting, staged{sequence, w.tenant, w.changes})
	s.line.Unlock()
	s.order.Unlock()

	if err := batch.SyncWait(); err != nil {
		return s.fatal(fmt.Errorf("write store to disk: %w", err))
	}
	s.showThrough(sequence)
	s.checkpoints.grow(size)
	return nil
}

// setRecords puts the records into the batch under sequences from first on, and returns their size.
func (w *staging) setRecords(first uint64) (size int, err error) {
	for i, record := range w.records {
		if err := w.batch.Set(recordKey(first+uint64(i)), record, nil); err != nil {
			return size, err
		}
		size += len(record)
	}
	return size, nil
}

// showThrough shows every write up to one that is on the disk: the log is written in order, so the
// earlier ones are on the disk as well.
func (s *Store) showThrough(sequence uint64) {
	s.line.Lock()
	defer s.line.Unlock()
	if s.line.shown > sequence {
		return
	}
	n := 0
	s.mu.Lock()
	for ; n < len(s.line.waiting) && s.line.waiting[n].sequence <= sequence; n++ {
		if w := s.line.waiting[n]; w.changes != nil {
			w.tenant.fleet.Show(w.changes)
		}
		s.line.waiting[n] = staged{}
	}
	s.mu.Unlock()
	s.line.waiting = s.line.waiting[n:]
	s.line.shown = sequence + 1
}

// fatal ends the process. Where it comes back, as in a test, the error is the write's.
func (s *Store) fatal(err error) error {
	s.options.Fatal(err)
	return err
}
