package entries

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// kind says where entries are. A device is its number there.
var kind = blocks.Kind{
	Name: "entries", Blocks: layout.TableBlock, Runs: layout.TableRun, Days: layout.TableDay,
	Count: eventlog.BlockEntries,
	Merge: engine.LockMerge, Flush: engine.LockFlush, List: engine.LockRuns,
}

func deviceKey(number uint32) layout.Key { return layout.Key(nil).Number(number) }

// codec implements blocks.Codec.
type codec struct {
	encoder eventlog.Encoder
	decoder eventlog.Decoder
}

func newCodec() blocks.Codec[eventlog.Entry] { return &codec{} }

// Decode implements blocks.Codec. The decoder uses the memory of texts again, so they are copied.
func (c *codec) Decode(
	entries []eventlog.Entry, block []byte, newest andon.Time,
) ([]eventlog.Entry, error) {
	all, err := c.decoder.Entries(block, newest)
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range all {
		n += len(all[i].Message) + len(all[i].Attributes)
	}
	texts := make([]byte, 0, n)
	keep := func(text []byte) []byte {
		from := len(texts)
		texts = append(texts, text...)
		return texts[from:len(texts):len(texts)]
	}
	for _, e := range all {
		e.Message, e.Attributes = keep(e.Message), keep(e.Attributes)
		entries = append(entries, e)
	}
	return entries, nil
}

// Encode implements blocks.Codec.
func (c *codec) Encode(b []byte, entries []eventlog.Entry) (block []byte, n int) {
	n = eventlog.BlockOf(entries)
	return c.encoder.Append(b, entries[:n]), n
}

// Time implements blocks.Codec.
func (*codec) Time(e *eventlog.Entry) andon.Time { return e.Time }

// Compare implements blocks.Codec.
func (*codec) Compare(a, b *eventlog.Entry) int { return eventlog.CompareEntries(*a, *b) }

// Join implements blocks.Codec: the later delivery of an entry wins.
func (*codec) Join(_, later eventlog.Entry) eventlog.Entry { return later }
