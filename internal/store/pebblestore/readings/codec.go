package readings

import (
	"cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/varint"
)

// kind says where readings are. A device is its name there.
var kind = blocks.Kind{
	Name: "readings", Blocks: layout.TableReadingBlock, Runs: layout.TableReadingRun,
	Days: layout.TableReadingDay, Count: readingblock.Count,
	Merge: engine.LockMergeReadings, Flush: engine.LockFlushReadings,
	List: engine.LockReadingRuns,
}

// codec implements blocks.Codec.
type codec struct {
	encoder readingblock.Encoder
	decoder readingblock.Decoder
}

func newCodec() blocks.Codec[andon.Reading] {
	return &codec{decoder: readingblock.Decoder{Names: varint.NewInterner()}}
}

// Decode implements blocks.Codec.
func (c *codec) Decode(
	readings []andon.Reading, block []byte, newest andon.Time,
) ([]andon.Reading, error) {
	all, err := c.decoder.Readings(block, newest, readingblock.Wanted{})
	return append(readings, all...), err
}

// Encode implements blocks.Codec.
func (c *codec) Encode(b []byte, readings []andon.Reading) (block []byte, n int) {
	n = readingblock.BlockOf(readings)
	return c.encoder.Append(b, readings[:n]), n
}

// Time implements blocks.Codec.
func (*codec) Time(r *andon.Reading) andon.Time { return r.Time }

// Compare implements blocks.Codec.
func (*codec) Compare(a, b *andon.Reading) int { return cmp.Compare(b.Time, a.Time) }

// Join implements blocks.Codec.
func (*codec) Join(earlier, later andon.Reading) andon.Reading { return join(earlier, later) }

// join makes one reading of two parts: metric by metric the later value wins, and of the metadata
// the later that is there.
func join(earlier, later andon.Reading) andon.Reading {
	earlier.Metrics = earlier.Metrics.Join(later.Metrics)
	if later.Metadata != "" {
		earlier.Metadata = later.Metadata
	}
	return earlier
}
