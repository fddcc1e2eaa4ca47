package readings

import (
	"bytes"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// Merger joins the rows of one device and time within the engine. Joining is associative and leaves
// one reading.
var Merger = &pebble.Merger{
	Name: "andon.reading.1",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		return &merging{only: bytes.Clone(value)}, nil
	},
}

// merging implements pebble.ValueMerger. Nearly all readings have one row, which is not decoded.
type merging struct {
	only    []byte // the row, while there is one
	reading andon.Reading
}

// decode decodes what there is, and another row.
func (m *merging) decode(value []byte) (other andon.Reading, err error) {
	if m.only != nil {
		first := m.only
		m.only = nil
		if m.reading, err = read(first); err != nil {
			return other, err
		}
	}
	return read(value)
}

func read(value []byte) (r andon.Reading, err error) {
	r.Metrics, r.Metadata, err = layout.ReadReading(nil, value, nil)
	return r, err
}

// MergeNewer joins a row that is newer than all so far.
func (m *merging) MergeNewer(value []byte) error {
	newer, err := m.decode(value)
	m.reading = join(m.reading, newer)
	return err
}

// MergeOlder joins a row that is older than all so far.
func (m *merging) MergeOlder(value []byte) error {
	older, err := m.decode(value)
	m.reading = join(older, m.reading)
	return err
}

// Finish returns the joined reading.
func (m *merging) Finish(bool) ([]byte, io.Closer, error) {
	if m.only != nil {
		return m.only, nil, nil
	}
	return layout.AppendReading(nil, m.reading.Metrics, m.reading.Metadata), nil, nil
}
