package measure

import (
	"fmt"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// benchBar shows how far the measuring of one store is, where somebody looks. The zero value shows
// nothing.
type benchBar struct {
	bars *mpb.Progress
	bar  *mpb.Bar
	step atomic.Pointer[bench.Step] // the present one
}

const benchBarParts = 1000 // of the whole bar

// newBenchBar shows a bar on standard error for the store that stands at a place among so many.
func newBenchBar(p *command.Program, store string, place, stores int) *benchBar {
	b := &benchBar{}
	if !draw.IsTerminal(p.Stderr) {
		return b
	}
	if stores > 1 {
		store = fmt.Sprintf("%s (%d of %d)", store, place+1, stores)
	}
	b.step.Store(&bench.Step{})
	b.bars = mpb.New(mpb.WithOutput(p.Stderr))
	b.bar = b.bars.AddBar(benchBarParts, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(store)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			return " " + b.step.Load().Load
		})),
	)
	return b
}

// show takes a step of the run. It may be called concurrently.
func (b *benchBar) show(s bench.Step) {
	if b.bar == nil {
		return
	}
	b.step.Store(&s)
	b.bar.SetCurrent(int64(benchBarParts * (float64(s.Number-1) + s.Done) / float64(s.Of)))
}

// end takes the bar away.
func (b *benchBar) end() {
	if b.bars != nil {
		b.bar.Abort(true)
		b.bars.Wait()
	}
}
