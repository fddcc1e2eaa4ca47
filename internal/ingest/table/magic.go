package table

import (
	"bufio"
	"bytes"
	"io"
	"strings"

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

func decompressed(r *bufio.Reader) (*bufio.Reader, error) {
	head, _ := begin(r)
	switch {
	case bytes.HasPrefix(head, []byte(magicGzip)):
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, broken(err)
		}
		return bufio.NewReaderSize(unzipped, window), nil
	case bytes.HasPrefix(head, []byte(magicZstd)):
		// With a concurrency of 1 a decoder has no goroutine, so it need not be closed.
		unzipped, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, broken(err)
		}
		return bufio.NewReaderSize(unzipped, window), nil
	}
	return r, nil
}

const (
	magicGzip = "\x1f\x8b"
	magicZstd = "\x28\xb5\x2f\xfd"
)

// kind is a kind of file that can't be imported, recognised by its first bytes.
type kind struct {
	magic  string
	offset int    // bytes before magic
	what   string // what it is, and what to do
}

func kinds() []kind {
	const table = "write its table out as CSV"
	return []kind{
		{"\xff\xfe", 0, "UTF-16: save it as UTF-8"},
		{"\xfe\xff", 0, "UTF-16: save it as UTF-8"},
		{"PK\x03\x04", 0, "a zip archive or an .xlsx sheet: " +
			"unpack the archive, or save the sheet as CSV"},
		{"PK\x05\x06", 0, "an empty zip archive"},
		{"\xd0\xcf\x11\xe0", 0, "an .xls sheet: save it as CSV"},
		{magicGzip, 0, "compressed twice: unpack it with gzip -d first"},
		{magicZstd, 0, "compressed twice: unpack it with zstd -d first"},
		{"BZh", 0, "compressed with bzip2: unpack it with bzip2 -d"},
		{"\xfd7zXZ", 0, "compressed with xz: unpack it with xz -d"},
		{"\x04\x22\x4d\x18", 0, "compressed with lz4: unpack it with lz4 -d"},
		{"7z\xbc\xaf", 0, "a 7z archive: unpack it"},
		{"ustar", 257, "a tar archive: unpack it, and import each file in it"},
		{"SQLite format 3\x00", 0, "an SQLite database: " + table},
		{"PAR1", 0, "a Parquet file: " + table},
		{"Obj\x01", 0, "an Avro file: " + table},
		{"%PDF-", 0, "a PDF document: " + table},
		{"<!DOCTYPE html", 0, "a web page, not what it links to"},
		{"<html", 0, "a web page, not what it links to"},
	}
}

// notText returns what a binary file is, and what to do; "" if the file may be text.
func notText(head []byte) string {
	for _, k := range kinds() {
		if len(head) > k.offset && bytes.HasPrefix(head[k.offset:], []byte(k.magic)) {
			return k.what
		}
	}
	// One such byte far on makes its row wrong; in the first line it shows what the file is.
	first, _, _ := strings.Cut(string(head), "\n")
	switch {
	case !strings.ContainsAny(first, "\x00\x01\x02\x03\x04\x05\x06\x07\x08"):
		return ""
	case strings.Count(first, "\x00") >= max(len(first)/2, 1):
		return "UTF-16 without a byte order mark: save it as UTF-8"
	}
	return "binary, not text"
}
