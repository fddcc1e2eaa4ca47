package checkpoint

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Marker is how far flushes have come, as sequences of rows. It changes in the last batch of a
// flush, which deletes rows.
type Marker struct {
	// Shown is the first row that the checkpoint does not hold: Load reads rows from here on.
	Shown uint64
	// Flushed is the first row whose entries are not in blocks: Fill reads rows from here on. It is
	// Shown, or after it.
	Flushed uint64
}

// keys are the fixed keys of the parts of a marker: 8 bytes each.
func (m *Marker) keys() map[string]*uint64 {
	return map[string]*uint64{"checkpoint": &m.Shown, "flushed": &m.Flushed}
}

// ReadMarker reads the marker of a store, of which a new one has none.
func ReadMarker(db *pebble.DB) (m Marker, err error) {
	for name, part := range m.keys() {
		if *part, err = engine.ReadUint(db, layout.FixedKey(name)); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Put puts the marker into the last batch of a flush.
func (m Marker) Put(b *engine.Batch) {
	for name, part := range m.keys() {
		b.Put(layout.FixedKey(name), binary.BigEndian.AppendUint64(nil, *part))
	}
}
