package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// toFile exports to a file. Until it is whole it is FILE.part, and FILE.part.json beside it says
// how far it is.
func (e *export) toFile(ctx context.Context) error {
	part, err := e.openPart()
	if err != nil {
		return err
	}
	defer part.Close()
	begun := time.Now()
	run := exportRun{
		export: e, header: part.Size == 0, behind: part.Behind,
		entries: part.Entries, whole: part.Devices,
	}
	run.done = func(at place) error { return part.note(at, &run) }
	err = e.Ask(ctx, func(c *client.Client) error { return run.all(ctx, c, part.w) })
	if err == nil {
		err = part.finish()
	}
	if err != nil {
		return part.abandon(&run, err)
	}
	io.WriteString(e.Stderr, run.unknown.note())
	_, err = fmt.Fprintf(e.Stdout, "%s to %s in %.1fs\n",
		run.outcome(), e.file, time.Since(begun).Seconds())
	return err
}

// progressOf is how far an export to a file is: it is whole up to Size, which is behind the device
// Behind. It is written only after the file is on the disk so far.
type progressOf struct {
	Query   exported `json:"query"`
	Behind  *place   `json:"behind"`
	Size    int64    `json:"size"`
	Entries int      `json:"entries"`
	Devices int      `json:"devices"`
}

// exported tells one export from another.
type exported struct {
	URL     string     `json:"url"`
	Tenant  string     `json:"tenant"`
	Kind    string     `json:"kind"`
	Format  string     `json:"format"`
	Device  []string   `json:"device"`
	Metrics []string   `json:"metrics"`
	From    andon.Time `json:"from"`
	To      andon.Time `json:"to"`
}

func (q exported) equal(o exported) bool {
	return q.URL == o.URL && q.Tenant == o.Tenant && q.Kind == o.Kind && q.Format == o.Format &&
		slices.Equal(q.Device, o.Device) && slices.Equal(q.Metrics, o.Metrics) &&
		q.From == o.From && q.To == o.To
}

// partFile is an export that is not whole yet.
type partFile struct {
	*os.File
	progressOf
	target string // the name that it gets when it is whole
	w      *bufio.Writer
	noted  int64 // size when its progress was last written down
}

const notedEvery = 4 << 20 // bytes: what a kill costs at most, beside the last device

func (e *export) openPart() (*partFile, error) {
	p := &partFile{target: e.file, progressOf: progressOf{Query: exported{
		URL: e.URL, Tenant: e.Tenant, Kind: e.kind.Value, Format: e.format.Value,
		Device: e.devices, Metrics: e.metrics, From: e.from, To: e.to,
	}}}
	if e.goOn {
		if err := p.resume(); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(p.target+".part", os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "open --file: %w", err)
	}
	p.File = file
	if err := p.rewind(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p.w = bufio.NewWriterSize(file, 64<<10)
	return p, nil
}

// resume reads how far an interrupted run came. Where there was none, this one is the first.
func (p *partFile) resume() error {
	text, err := os.ReadFile(p.progressFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var was progressOf
	if err := json.Unmarshal(text, &was); err != nil {
		return nil // cut off while it was written: the beginning is always safe
	}
	if !was.Query.equal(p.Query) {
		return andon.Errorf(andon.Invalid, "%s.part is of an export with other flags: "+
			"give the same, or leave out --continue", p.target)
	}
	p.progressOf = was
	return nil
}

// rewind cuts off what is behind the last device that is whole. A file that is shorter than its
// progress says is not the one that was written.
func (p *partFile) rewind() error {
	info, err := p.Stat()
	if err != nil {
		return err
	}
	if info.Size() < p.Size {
		p.progressOf = progressOf{Query: p.Query}
	}
	if p.Size == 0 { // an old progress must not outlive what it is of
		if err := os.Remove(p.progressFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	p.noted = p.Size
	if err := p.Truncate(p.Size); err != nil {
		return err
	}
	_, err = p.Seek(p.Size, io.SeekStart)
	return err
}

func (p *partFile) progressFile() string { return p.target + ".part.json" }

// note remembers that a device is whole, and now and then writes it down.
func (p *partFile) note(at place, run *exportRun) error {
	written, err := p.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	p.Behind, p.Size = &at, written+int64(p.w.Buffered())
	p.Entries, p.Devices = run.entries, run.whole
	if p.Size-p.noted < notedEvery {
		return nil
	}
	return p.writeDown()
}

// writeDown writes the progress, after what it is of.
func (p *partFile) writeDown() error {
	if err := errors.Join(p.w.Flush(), p.Sync()); err != nil {
		return err
	}
	text, err := json.Marshal(p.progressOf)
	if err != nil {
		return err
	}
	next := p.progressFile() + ".next"
	if err := os.WriteFile(next, text, 0o640); err != nil {
		return err
	}
	p.noted = p.Size
	return os.Rename(next, p.progressFile())
}

// finish gives the file its name.
func (p *partFile) finish() error {
	if err := errors.Join(p.w.Flush(), p.Sync()); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.target); err != nil {
		return err
	}
	if err := os.Remove(p.progressFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// abandon ends an export that is not whole, so that it can go on. The error says what there is.
func (p *partFile) abandon(run *exportRun, err error) error {
	if run.whole == 0 {
		return errors.Join(err, os.Remove(p.Name()))
	}
	if failed := p.writeDown(); failed != nil {
		if p.noted == 0 { // nothing could go on from it
			failed = errors.Join(failed, os.Remove(p.Name()))
		}
		return errors.Join(err, failed)
	}
	// %s: what went well so far is no wrong use any more
	return fmt.Errorf("%s to %s, then it ended: %s\n"+
		"The same command with --continue goes on from there, without it begins anew",
		exportedCounts(p.Entries, run.kind.Value, p.Devices), p.Name(), err)
}
