package pebblestore

import (
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// readingMerger joins the messages of one device and time: metric by metric the later value
// stands, and of the metadata the later that is there. So a reading is appended without reading
// what is there. Joining is associative and leaves one reading, so a message sent again and again
// takes no room.
var readingMerger = &pebble.Merger{
	Name: "andon.reading.1",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		j := &joining{}
		return j, j.MergeNewer(value)
	},
}

type joining struct {
	metrics  andon.Metrics
	metadata andon.JSON
}

// MergeNewer joins an operand that is newer than all so far.
func (j *joining) MergeNewer(value []byte) error {
	metrics, metadata, err := layout.ReadReading(value)
	if err != nil {
		return err
	}
	j.metrics = j.metrics.Join(metrics)
	if metadata != "" {
		j.metadata = metadata
	}
	return nil
}

// MergeOlder joins an operand that is older than all so far.
func (j *joining) MergeOlder(value []byte) error {
	metrics, metadata, err := layout.ReadReading(value)
	if err != nil {
		return err
	}
	j.metrics = metrics.Join(j.metrics)
	if j.metadata == "" {
		j.metadata = metadata
	}
	return nil
}

// Finish returns the joined reading.
func (j *joining) Finish(bool) ([]byte, io.Closer, error) {
	return layout.AppendReading(nil, j.metrics, j.metadata), nil, nil
}
