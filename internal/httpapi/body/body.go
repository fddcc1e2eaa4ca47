// Package body reads the bodies of requests: bounded, decompressed, and of a media type that is
// taken. It takes memory from a budget before it uses it.
//
// The package knows no route and no format of entries.
package body

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Memory is what a body takes before it uses it, and gives back.
type Memory interface {
	Take(bytes int64) error
	Give(bytes int64)
}

// ErrTooLarge is the error of a body beyond andon.MaxRequestBytes.
var ErrTooLarge = andon.Errorf(andon.TooLarge,
	"the body is larger than %d MB after decompression: send parts", andon.MaxRequestBytes>>20)

// readError says what kept a body from being read. Nothing of it was kept.
func readError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return ErrTooLarge
	}
	if _, ok := errors.AsType[*andon.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return ErrTooLarge
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return andon.Errorf(andon.TooLarge, "the zstd window is larger than %d MB", maxWindow>>20)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &access.Refusal{
			Status: http.StatusRequestTimeout, Message: "the body took too long",
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return andon.AtField("body", "the body ends before it is complete; nothing of it was kept")
	}
	return andon.AtField("body", "the body can't be read: %s", err)
}

// Received is a body while it arrives. It takes memory before it uses it, and only as much as what
// has arrived makes likely, so that a client can't claim much more than it sends.
type Received struct {
	memory Memory
	text   strings.Builder
}

// Read reads a body of a length; -1 where the client does not say it. What has arrived is returned
// with an error, too.
func Read(raw io.Reader, length int64, memory Memory) (*Received, error) {
	b := &Received{memory: memory}
	if err := b.readFrom(raw, length); err != nil {
		return b, readError(err)
	}
	return b, nil
}

// Size is how many bytes have arrived.
func (b *Received) Size() int64 { return int64(b.text.Len()) }

// Text returns what has arrived, without the byte order mark that it may begin with.
func (b *Received) Text() string { return strings.TrimPrefix(b.text.String(), "\uFEFF") }

// Decompress returns what a compressed body holds, and gives back the memory of what was sent.
func (b *Received) Decompress(open Decompressor, expected int64) (string, error) {
	plain, err := open(strings.NewReader(b.text.String()))
	if err != nil {
		return "", readError(err)
	}
	defer plain.Close()
	whole, err := Read(plain, expected, b.memory)
	if err != nil {
		return "", err
	}
	b.memory.Give(int64(b.text.Cap()))
	b.text.Reset()
	return whole.Text(), nil
}

// Array returns JSON that is an array. It makes one of a body that is one object alone, and reports
// that.
func Array(text string) (array string, alone bool, err error) {
	s := jsonscan.Scanner{Text: text}
	switch c := s.Next(); {
	case s.At == len(text):
		return "", false, andon.AtField("body", "the body is empty")
	case c == '[':
		return text, false, nil
	}
	if f := jsonscan.Whole(text); f != nil {
		return "", false, andon.AtField("body", "%s", f)
	}
	return "[" + text + "]", true, nil
}

const (
	leastBody = 512
	// bodyGrowth is how many times what has arrived a body may take. It is copied when it grows, so
	// by that it is copied once more in all.
	bodyGrowth = 16
	mostChunk  = 32 << 10
)

// readFrom reads all of plain. expected is how long it will be, as far as the client says: 0 or -1
// where it does not.
func (b *Received) readFrom(plain io.Reader, expected int64) error {
	// One byte more than the limit tells a body of just that length from one that is too long, and
	// one more than expected meets the end without growing.
	most, expected := int64(andon.MaxRequestBytes)+1, expected+1
	chunk := make([]byte, min(cmp.Or(expected, leastBody), mostChunk))
	for {
		size, space := int64(b.text.Len()), b.text.Cap()-b.text.Len()
		if space == 0 {
			next := max(size*bodyGrowth, leastBody)
			if expected > size && expected < next {
				next = expected
			}
			if err := b.grow(min(next, most)); err != nil {
				return err
			}
			space = b.text.Cap() - b.text.Len()
		}
		n, err := plain.Read(chunk[:min(space, len(chunk))])
		b.text.Write(chunk[:n])
		switch {
		case int64(b.text.Len()) > andon.MaxRequestBytes:
			return ErrTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// grow makes space for n bytes in all. While it copies, it has the old memory and the new.
func (b *Received) grow(n int64) error {
	if err := b.memory.Take(n); err != nil {
		return err
	}
	size, received := int64(b.text.Cap()), b.text.String()
	b.text.Reset()
	b.text.Grow(int(n))
	b.text.WriteString(received)
	b.memory.Give(size)
	return nil
}

// maxWindow is the most memory that a zstd body may make its decoder keep; RFC 8878, section
// 3.1.1.1.2, recommends 8 MB for what is exchanged.
const maxWindow = 8 << 20

// Decompressor returns a reader of what is compressed.
type Decompressor func(*strings.Reader) (io.ReadCloser, error)

// DecompressorFor returns the decompressor for the encodings that a client named; nil where nothing
// is encoded.
func DecompressorFor(encodings []string) (Decompressor, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
		return nil, nil
	case "gzip", "x-gzip":
		return openGzip, nil
	case "zstd":
		return openZstd, nil
	}
	return nil, &access.Refusal{
		Status:  http.StatusUnsupportedMediaType,
		Message: "the Content-Encoding is not one of gzip, zstd",
		Header:  http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

func openGzip(raw *strings.Reader) (io.ReadCloser, error) {
	z, err := gzip.NewReader(raw)
	if err == nil {
		z.Multistream(false)
	}
	return members{z, raw}, err
}

// members reads the members of gzip data one by one: RFC 1952, section 2.2. So it knows where
// something follows that is none.
type members struct {
	*gzip.Reader
	raw *strings.Reader
}

// Read implements io.Reader.
func (m members) Read(to []byte) (int, error) {
	n, err := m.Reader.Read(to)
	if err != io.EOF || m.raw.Len() == 0 {
		return n, err
	}
	end := m.raw.Size() - int64(m.raw.Len())
	if m.Reset(m.raw) != nil {
		return n, andon.AtField("body", "the first %d bytes of the body are gzip, and what "+
			"follows them is not", end)
	}
	m.Multistream(false)
	return n, nil
}

func openZstd(raw *strings.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(andon.MaxRequestBytes))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// MediaType returns which of the types a Content-Type names; the first where it is empty.
func MediaType(header string, types ...string) (string, error) {
	if header == "" {
		return types[0], nil
	}
	if slices.Contains(types, header) {
		return header, nil
	}
	media, params, err := mime.ParseMediaType(header)
	charset, named := params["charset"]
	utf8 := !named || strings.EqualFold(charset, "utf-8")
	if err == nil && utf8 && slices.Contains(types, media) {
		return media, nil
	}
	return "", &access.Refusal{
		Status: http.StatusUnsupportedMediaType,
		Message: "send the body as " + strings.Join(types, " or ") +
			", in UTF-8, and say so in Content-Type",
		Header: http.Header{"Accept": {strings.Join(types, ", ")}},
	}
}
