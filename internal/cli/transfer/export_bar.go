package transfer

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
)

// exportBar shows how far an export is, where somebody looks. The zero value shows nothing.
type exportBar struct {
	bars    *mpb.Progress
	bar     *mpb.Bar
	entries atomic.Int64 // counted by the run, read by the bar
}

// newBar shows a bar on standard error, unless the entries themselves go to a terminal.
func (r *exportRun) newBar(ctx context.Context, c *client.Client) *exportBar {
	if !draw.IsTerminal(r.Stderr) || r.file == "" && draw.IsTerminal(r.Stdout) {
		return &exportBar{}
	}
	b := &exportBar{bars: mpb.New(mpb.WithOutput(r.Stderr))}
	entries := decor.Any(func(s decor.Statistics) string {
		return fmt.Sprintf(" %d, %d of %d devices", b.entries.Load(), s.Current, s.Total)
	})
	b.bar = b.bars.AddBar(r.expected(ctx, c), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(r.kind.Value)),
		mpb.AppendDecorators(entries),
	)
	return b
}

// expected is how many devices there will be, as far as that can be known.
func (r *exportRun) expected(ctx context.Context, c *client.Client) int64 {
	if r.export.devices[0] == "*" {
		if _, total, err := c.States(ctx); err == nil {
			return int64(total)
		}
	}
	return int64(len(r.export.devices))
}

// device says that one more device is whole.
func (b *exportBar) device() {
	if b.bar != nil {
		b.bar.Increment()
	}
}

// entry says that one more entry is written.
func (b *exportBar) entry() { b.entries.Add(1) }

// end takes the bar away.
func (b *exportBar) end() {
	if b.bars != nil {
		b.bar.Abort(true)
		b.bars.Wait()
	}
}
