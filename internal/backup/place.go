package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
)

// Into returns what puts each file of a backup into a directory, readable for its owner alone and
// on the disk.
func Into(dir string) func(name string, content io.Reader) error {
	return func(name string, content io.Reader) error {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		if _, err = io.Copy(f, content); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
}

// IsOwn reports whether a file is of the backup, and not of the store that is in it.
func IsOwn(name string) bool { return name == aboutFile || name == sumsFile }

// Compress returns a writer whose Close ends what is compressed.
func Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// Open opens a backup for Read: a tar, compressed or not. What is read of it goes through passed.
func Open(path string, passed func(io.Reader) io.Reader) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "open the backup: %w", err)
	}
	begins := make([]byte, len(aboutFile)) // a tar begins with the name of its first member
	if _, err := f.ReadAt(begins, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	if string(begins) == aboutFile {
		return opened{passed(f), f}, nil
	}
	if !bytes.HasPrefix(begins, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errNoBackup), f.Close())
	}
	unpacked, err := zstd.NewReader(passed(f))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened{unpacked, closing{unpacked, f}}, nil
}

type opened struct {
	io.Reader
	io.Closer
}

type closing struct {
	unpacked *zstd.Decoder
	f        *os.File
}

func (c closing) Close() error {
	c.unpacked.Close()
	return c.f.Close()
}
