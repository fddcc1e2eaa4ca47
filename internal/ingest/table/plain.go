package table

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
)

const (
	window = 64 << 10 // bytes that are read at once

	// maxWindow is the most memory that zstd may make its decoder keep: what zstd --long takes.
	maxWindow = 128 << 20
)

// PlainText decompresses what is gzip or zstd, skips a byte order mark, and refuses what is
// no text, by what it is.
func PlainText(r io.Reader) (*bufio.Reader, error) {
	plain, err := decompressed(bufio.NewReaderSize(r, window))
	if err != nil {
		return nil, err
	}
	head, err := begin(plain)
	if len(head) == 0 && err != nil && err != io.EOF {
		return nil, broken(err)
	}
	if what := notText(head); what != "" {
		return nil, andon.Errorf(andon.Invalid, "the file is %s", what)
	}
	if mark := "\uFEFF"; bytes.HasPrefix(head, []byte(mark)) {
		_, err = plain.Discard(len(mark))
		return plain, err
	}
	return plain, nil
}

// begin returns the first bytes of a file, without waiting for more than it takes to recognise
// gzip and zstd: what writes to a pipe may be slow.
func begin(r *bufio.Reader) ([]byte, error) {
	const magic, enough = 4, 512
	if head, err := r.Peek(magic); err != nil {
		return head, err
	}
	return r.Peek(min(r.Buffered(), enough))
}

const (
	magicGzip = "\x1f\x8b"
	magicZstd = "\x28\xb5\x2f\xfd"
)

func decompressed(r *bufio.Reader) (*bufio.Reader, error) {
	head, _ := begin(r)
	var unzipped io.Reader
	var err error
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		unzipped, err = gzip.NewReader(r)
	case bytes.HasPrefix(head, []byte(magicZstd)):
		// With a concurrency of 1 a decoder has no goroutine, so it need not be closed.
		unzipped, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindow))
	default:
		return r, nil
	}
	if err != nil {
		return nil, broken(err)
	}
	return bufio.NewReaderSize(unzipped, window), nil
}

// notText returns what a binary file is, and what to do; "" if the file may be text. It looks at
// the first line: one such byte far on makes its row wrong.
func notText(head []byte) string {
	for _, kind := range []struct{ magic, what string }{
		{"\xff\xfe", "UTF-16: save it as UTF-8"},
		{"\xfe\xff", "UTF-16: save it as UTF-8"},
		{"PK\x03\x04", "a zip archive or an .xlsx sheet: " +
			"unpack the archive, or save the sheet as CSV"},
		{magicGzip, "compressed twice: unpack it first"},
		{magicZstd, "compressed twice: unpack it first"},
	} {
		if bytes.HasPrefix(head, []byte(kind.magic)) {
			return kind.what
		}
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.ContainsAny(first, "\x00\x01\x02\x03\x04\x05\x06\x07\x08") {
		return "binary, not text: write its table out as CSV, in UTF-8"
	}
	return ""
}
