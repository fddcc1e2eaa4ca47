package transfer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// progress is how far an export to a file is: it is whole up to Size, with the device After as the
// last. It is written, to FILE.part.json, only after the file is on the disk so far.
type progress struct {
	Query   []string `json:"query"` // identifies the export
	After   *place   `json:"after"`
	Size    int64    `json:"size"`
	Entries int      `json:"entries"`
	Devices int      `json:"devices"`
}

// partFile is an export that is not whole yet.
type partFile struct {
	*os.File
	progress
	target string // the name that it gets when it is whole
	w      *bufio.Writer
	noted  int64 // size when its progress was last written down
}

const notedEvery = 4 << 20 // bytes that a kill costs at most, next to the last device

func (e *export) openPart() (*partFile, error) {
	p := &partFile{target: e.file, progress: progress{Query: slices.Concat([]string{
		e.URL, e.Tenant, e.kind.Value, e.format.Value, e.from.String(), e.to.String(),
		strings.Join(e.metrics, ","),
	}, e.devices)}}
	if e.goOn {
		if err := p.resume(); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(p.target+".part", os.O_RDWR|os.O_CREATE, 0o600)
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
	var was progress
	if err := json.Unmarshal(text, &was); err != nil {
		return nil // cut off while it was written: the beginning is always safe
	}
	if !slices.Equal(was.Query, p.Query) {
		return andon.Errorf(andon.Invalid, "%s.part is of an export with other flags: "+
			"give the same, or leave out --continue", p.target)
	}
	p.progress = was
	return nil
}

// rewind cuts off what follows the last device that is whole. A file that is shorter than its
// progress says is not the one that was written.
func (p *partFile) rewind() error {
	info, err := p.Stat()
	if err != nil {
		return err
	}
	if info.Size() < p.Size {
		p.progress = progress{Query: p.Query}
	}
	if p.Size == 0 { // an old progress must not outlive its file
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
	p.After, p.Size = &at, written+int64(p.w.Buffered())
	p.Entries, p.Devices = run.entries, run.whole
	if p.Size-p.noted < notedEvery {
		return nil
	}
	return p.writeDown()
}

// writeDown writes the progress, after the part of the file that it is about.
func (p *partFile) writeDown() error {
	if err := errors.Join(p.w.Flush(), p.Sync()); err != nil {
		return err
	}
	text, err := json.Marshal(p.progress)
	if err != nil {
		return err
	}
	next := p.progressFile() + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
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
func (p *partFile) abandon(r *exportRun, err error) error {
	if r.whole == 0 || r.done == nil {
		return errors.Join(err, os.Remove(p.Name()))
	}
	if failed := p.writeDown(); failed != nil {
		if p.noted == 0 { // nothing could go on from it
			failed = errors.Join(failed, os.Remove(p.Name()))
		}
		return errors.Join(err, failed)
	}
	r.entries, r.whole = p.Entries, p.Devices
	return endedBy(fmt.Errorf("%w\nThe same command with --continue goes on from there, without "+
		"it starts anew", err), r.outcome()+" to "+p.Name(), true)
}
