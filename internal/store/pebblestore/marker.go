package pebblestore

import (
	"encoding/binary"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// marker is up to where rounds have come, as sequences of rows. It changes in the last batch of a
// round, which deletes rows.
type marker struct {
	// shown is the first row that the checkpoint does not hold: opening reads rows from here on.
	shown uint64
	// settled is the first row whose entries are not in blocks: opening takes them into the head
	// from here on. It is shown, or behind it.
	settled uint64
}

func (s *Store) readMarker() (m marker, err error) {
	for _, part := range []struct {
		name string
		into *uint64
	}{{fixedCheckpoint, &m.shown}, {fixedSettled, &m.settled}} {
		value, err := s.fixed(part.name)
		if err != nil {
			return m, err
		}
		if len(value) == 8 {
			*part.into = binary.BigEndian.Uint64(value)
		}
	}
	return m, nil
}

func (m marker) put(b *engine.Batch) {
	b.Put(layout.FixedKey(fixedCheckpoint), binary.BigEndian.AppendUint64(nil, m.shown))
	b.Put(layout.FixedKey(fixedSettled), binary.BigEndian.AppendUint64(nil, m.settled))
}
