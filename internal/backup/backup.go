// Package backup is the form of a backup: the files of a store, with the sum of each, as a tar. It
// knows nothing of what is in the files.
//
// Two members belong to the backup itself. The first describes it; the last has the sums, so a
// backup without it was interrupted:
//
//	andon.backup   JSON: About
//	…              the files of the store
//	andon.sums     JSON: for each file its name, bytes and SHA-256
package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

const (
	aboutFile = "andon.backup"
	sumsFile  = "andon.sums"
	version   = 1
	mostText  = 64 << 20 // bytes of the members of our own
	mode      = 0o600
)

// About says what a backup is of.
type About struct {
	Andon   string     `json:"andon"`   // "backup"
	Version int        `json:"version"` // of this form
	Taken   andon.Time `json:"taken"`
	Program string     `json:"program"`         // which took it
	Store   string     `json:"store,omitempty"` // with the version of its engine
}

// sum is what is known of one file.
type sum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Write writes a backup of files of a directory as a tar. The files must not change.
func Write(ctx context.Context, w io.Writer, about About, dir string, files []string) error {
	about.Andon, about.Version = "backup", version
	x := writer{ctx: ctx, tar: tar.NewWriter(w), taken: about.Taken.Std()}
	if err := x.json(aboutFile, about); err != nil {
		return err
	}
	for _, name := range files {
		if name == aboutFile || name == sumsFile {
			continue // of a backup that became a store
		}
		if err := x.file(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("back up %s: %w", name, err)
		}
	}
	if err := x.json(sumsFile, x.sums); err != nil {
		return err
	}
	return x.tar.Close()
}

type writer struct {
	ctx   context.Context
	tar   *tar.Writer
	taken time.Time
	sums  []sum
}

func (x *writer) json(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return x.member(name, int64(len(text)), bytes.NewReader(text))
}

func (x *writer) member(name string, size int64, content io.Reader) error {
	header := tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: x.taken,
	}
	if err := x.tar.WriteHeader(&header); err != nil {
		return err
	}
	_, err := io.CopyN(x.tar, untilDone{x.ctx, content}, size)
	return err
}

func (x *writer) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return err
	}
	digest := sha256.New()
	name := filepath.Base(path)
	if err := x.member(name, is.Size(), io.TeeReader(f, digest)); err != nil {
		return err
	}
	x.sums = append(x.sums, sum{name, is.Size(), sumOf(digest)})
	return nil
}

func sumOf(digest hash.Hash) string { return hex.EncodeToString(digest.Sum(nil)) }

type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// Contents is what a backup has.
type Contents struct {
	About
	Files int
	Bytes int64
}

// Read reads a backup to its end, calls put for each file, and checks the sums. The error is
// Invalid if it is not a backup, and Damaged if it is damaged or was interrupted.
func Read(r io.Reader, put func(name string, content io.Reader) error) (Contents, error) {
	x := reader{tar: tar.NewReader(r), put: put, found: map[string]sum{}}
	err := x.about()
	for err == nil && !x.ended {
		err = x.next()
	}
	if err != nil {
		return x.Contents, err
	}
	_, err = x.tar.Next()
	if n, failed := io.Copy(io.Discard, r); !errors.Is(err, io.EOF) || n > 0 || failed != nil {
		return x.Contents, andon.Errorf(andon.Damaged,
			"the backup is damaged: there is something after its end, where nothing belongs")
	}
	return x.Contents, nil
}

type reader struct {
	Contents
	tar   *tar.Reader
	put   func(name string, content io.Reader) error
	found map[string]sum
	last  string
	ended bool
}

var errNoBackup = andon.Errorf(andon.Invalid, "it is not a backup that andon backup wrote")

func (x *reader) about() error {
	header, err := x.tar.Next()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, tar.ErrHeader):
		return errNoBackup
	case err != nil:
		return x.unreadable(err)
	case header.Name != aboutFile:
		return errNoBackup
	}
	text, err := x.readOwn(&x.About)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return x.unreadable(err)
	case err != nil || x.Andon != "backup":
		return errNoBackup
	case x.Version > version:
		return andon.Errorf(andon.Conflict, "the backup has form %d and this program reads up to "+
			"%d: use the program that wrote it, or a newer one", x.Version, version)
	}
	return x.put(aboutFile, bytes.NewReader(text))
}

// readOwn reads a member of the backup itself.
func (x *reader) readOwn(value any) (text []byte, err error) {
	if text, err = io.ReadAll(io.LimitReader(x.tar, mostText)); err != nil {
		return nil, err
	}
	return text, json.Unmarshal(text, value)
}

func (x *reader) next() error {
	header, err := x.tar.Next()
	if err != nil {
		return x.unreadable(err)
	}
	name := header.Name
	if name == sumsFile {
		x.ended = true
		return x.check()
	}
	if header.Typeflag != tar.TypeReg || !isPlain(name) {
		return andon.Errorf(andon.Damaged, "the backup is damaged: it has %q, which no store has",
			name)
	}
	digest := sha256.New()
	count := counted{r: io.TeeReader(x.tar, digest)}
	if err := x.put(name, &count); count.err != nil {
		return x.unreadable(count.err)
	} else if err != nil {
		return err
	}
	x.found[name] = sum{name, count.bytes, sumOf(digest)}
	x.last, x.Files, x.Bytes = name, x.Files+1, x.Bytes+count.bytes
	return nil
}

// isPlain reports whether a name is that of a file in the directory itself.
func isPlain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\`)
}

// counted is a reader that knows how much was read, and whether that failed.
type counted struct {
	r     io.Reader
	bytes int64
	err   error
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// unreadable is the error of a backup that can't be read up to its sums. An error of writing what
// was read, or of the connection, is returned unchanged.
func (x *reader) unreadable(err error) error {
	after := "before its first file"
	if x.last != "" {
		after = "after " + x.last
	}
	_, isOurs := errors.AsType[*andon.Error](err)
	e, ok := errors.AsType[*fs.PathError](err)
	switch {
	case isOurs, ok && e.Op == "write",
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return andon.Errorf(andon.Damaged,
			"the backup is not whole: it ends %s, without the sums that are written last", after)
	}
	return andon.Errorf(andon.Damaged, "the backup can't be read %s: %w", after, err)
}

func (x *reader) check() error {
	var sums []sum
	text, err := x.readOwn(&sums)
	if err != nil {
		return x.unreadable(err)
	}
	for _, want := range sums {
		got, there := x.found[want.Name]
		switch {
		case !there:
			return andon.Errorf(andon.Damaged, "the backup is damaged: %s is missing", want.Name)
		case got != want:
			return andon.Errorf(andon.Damaged, "the backup is damaged: %s has %d bytes with the "+
				"SHA-256 %s, and had %d bytes with %s", want.Name, got.Bytes, got.SHA256,
				want.Bytes, want.SHA256)
		}
	}
	if len(sums) != len(x.found) {
		return andon.Errorf(andon.Damaged, "the backup is damaged: it has %d files, and had %d",
			len(x.found), len(sums))
	}
	return x.put(sumsFile, bytes.NewReader(text))
}
