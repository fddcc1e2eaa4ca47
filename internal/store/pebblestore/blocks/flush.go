package blocks

import (
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// RunWriter writes the blocks of a flush of one tenant, as a run of each of their days. The caller
// is within Log.Flush.
type RunWriter[T any] struct {
	log      *Log
	codec    Codec[T]
	out      *Tables
	tenant   *Tenant
	sequence uint64
	runs     map[uint32]*layout.Run // by day: those that have blocks
	key      layout.Key
	value    []byte
}

// NewRunWriter returns a writer that writes into Tables. Its runs have a sequence.
func NewRunWriter[T any](
	l *Log, codec Codec[T], out *Tables, t *Tenant, sequence uint64,
) *RunWriter[T] {
	return &RunWriter[T]{
		log: l, codec: codec, out: out, tenant: t, sequence: sequence,
		runs: map[uint32]*layout.Run{}, key: layout.NewKey(0, 0),
	}
}

// Write writes values of a device and day, newest first. Where a device has several calls for a
// day, those of a later call are older than those of the calls before.
func (w *RunWriter[T]) Write(device []byte, day uint32, values []T) error {
	r := w.run(day)
	for len(values) > 0 {
		block, n := w.codec.Encode(w.value[:0], values)
		w.value = block
		newest, oldest := w.codec.Time(&values[0]), w.codec.Time(&values[n-1])
		r.Newest, r.Oldest = max(r.Newest, newest), min(r.Oldest, oldest)
		r.Entries += uint64(n)
		w.key = w.log.device(w.key, w.tenant.Number, day, r.RunID, device).
			Times(day, newest, oldest)
		if err := w.out.Put(w.key, block); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// run returns the run of a day. It is entered with its first block, and as of the whole day.
func (w *RunWriter[T]) run(day uint32) *layout.Run {
	if r := w.runs[day]; r != nil {
		return r
	}
	r := layout.NewRun(day, w.sequence)
	w.enter(day, r)
	r.Oldest, r.Newest, r.Entries = r.Newest, r.Oldest, 0
	w.runs[day] = &r
	return &r
}

// enter enters a run of a day: for readers, and as a row.
func (w *RunWriter[T]) enter(day uint32, r layout.Run) {
	w.log.addRun(w.tenant, day, r)
	w.out.Add(w.log.run(w.tenant.Number, day, r.RunID), r.Value(day))
}

// End says when the runs begin and end, and how many values they have.
func (w *RunWriter[T]) End() error {
	for day, r := range w.runs {
		w.enter(day, *r)
	}
	return w.out.Spill()
}
