package draw

import (
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Bar is a progress bar. It shows nothing unless it is on a terminal. Its methods may be called
// concurrently.
type Bar struct {
	w    io.Writer
	bars *mpb.Progress // nil: no terminal
	bar  *mpb.Bar
}

// NewBar shows a bar with a name on w, if that is a terminal, with what note returns
// after it.
func NewBar(w io.Writer, name string, total int64, note func(done, total int64) string) *Bar {
	return newBar(w, name, total, decor.Any(func(s decor.Statistics) string {
		return note(s.Current, s.Total)
	}))
}

// NewFileBar is NewBar for a file that is read. A size of 0 means that it is unknown.
func NewFileBar(w io.Writer, file string, size int64) *Bar {
	done := decor.Percentage(decor.WCSyncSpace)
	if size == 0 {
		done = decor.CurrentKibiByte("% .1f", decor.WCSyncSpace)
	}
	return newBar(w, file, size, done, decor.AverageSpeed(decor.SizeB1024(0), " % .1f"))
}

func newBar(w io.Writer, name string, total int64, after ...decor.Decorator) *Bar {
	b := &Bar{w: w}
	if IsTerminal(w) {
		b.bars = mpb.New(mpb.WithOutput(w))
		b.bar = b.bars.AddBar(total, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(name)), mpb.AppendDecorators(after...))
	}
	return b
}

// Show sets how much of how many is done.
func (b *Bar) Show(done, total int64) {
	if b.bar != nil {
		b.bar.SetTotal(total, false)
		b.bar.SetCurrent(done)
	}
}

// Add adds to what is done.
func (b *Bar) Add(n int) {
	if b.bar != nil {
		b.bar.IncrBy(n)
	}
}

// Reader counts what is read through it.
func (b *Bar) Reader(r io.Reader) io.Reader {
	if b.bar != nil {
		if counted, err := b.bar.ProxyReader(r); err == nil {
			return counted
		}
	}
	return r
}

// Write writes above the bar.
func (b *Bar) Write(text []byte) (int, error) {
	if b.bars == nil {
		return b.w.Write(text)
	}
	return b.bars.Write(text)
}

// End removes the bar.
func (b *Bar) End() {
	if b.bars != nil {
		b.bar.Abort(true)
		b.bars.Wait()
	}
}
