package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
)

// Media types that a body may have.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// body returns the text of the request's body, decompressed, once its turn to be worked at has
// come. What it takes of memory is bounded twice: by andon.MaxRequestBytes for each request, and
// for all together by intake, which gets its room back at the end of the call.
//
// The body is read whole before its turn comes, so that a slow client keeps no one waiting; and
// decompressed after, so that there are no more decompressors than work.
func (c *call) body() (string, error) {
	if c.r.ContentLength > andon.MaxRequestBytes {
		return "", errBodyTooLarge
	}
	open, err := c.unpack.of(c.r.Header.Values("Content-Encoding"))
	if err != nil {
		return "", err
	}
	sent := filling{call: c, most: andon.MaxRequestBytes}
	raw := c.r.Body
	if c.r.ContentLength < 0 { // else it ends there
		raw = http.MaxBytesReader(c.x, raw, andon.MaxRequestBytes)
	}
	err = sent.readFrom(raw, c.r.ContentLength)
	c.x.bodyBegun = len(sent.bytes) > 0
	if err != nil {
		return "", bodyError(err)
	}
	c.x.setReadDeadline(time.Time{})
	c.x.bodyEnded = true
	if open == nil {
		size := int64(len(sent.bytes))
		return sent.text(), c.beginWith(size)
	}
	return c.unpacked(&sent, open)
}

// unpacked returns what a compressed body holds. How much that is shows only once it is done, so it
// waits for its turn as if it held a good deal.
func (c *call) unpacked(sent *filling, open opener) (string, error) {
	const usual = 8 // times as long as what was sent
	size := min(usual*int64(len(sent.bytes)), andon.MaxRequestBytes)
	if err := c.beginWith(size); err != nil {
		return "", err
	}
	plain, done, err := open(bytes.NewReader(sent.bytes))
	if err != nil {
		return "", bodyError(err)
	}
	defer done()
	text := filling{call: c, most: andon.MaxRequestBytes}
	if err := text.readFrom(plain, size/2); err != nil {
		return "", bodyError(err)
	}
	sent.drop()
	return text.text(), nil
}

var errBodyTooLarge = andon.Errorf(andon.TooLarge,
	"the body is larger than %d MB after decompression: send parts", andon.MaxRequestBytes>>20)

// bodyError says what kept a body from being read. Nothing of it was kept.
func bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errBodyTooLarge
	}
	if _, ok := errors.AsType[*andon.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*httpError](err); ok {
		return err
	}
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return errBodyTooLarge
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return andon.Errorf(andon.TooLarge, "the zstd window is larger than %d MB", maxWindow>>20)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &httpError{status: http.StatusRequestTimeout, message: "the body took too long"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return andon.AtField("body", "the body ends before it is complete; nothing of it was kept")
	}
	return andon.AtField("body", "the body can't be read: %s", err)
}

// filling is a body while it arrives: it takes room before it fills it, and only as much as what
// has arrived makes likely, so that a client can't claim much more than it sends.
type filling struct {
	*call
	most  int64
	bytes []byte
}

const (
	leastRoom = 512
	// roomGrowth is how many times what has arrived a body may take. It is copied when it grows, so
	// by that it is copied once more in all.
	roomGrowth = 4
)

// readFrom reads all of plain. expected is how long it will be, as far as the client says: 0 or -1
// where it does not.
func (f *filling) readFrom(plain io.Reader, expected int64) error {
	// One byte more than the limit tells a body of just that length from one that is too long, and
	// one more than expected meets the end without growing.
	most, expected := f.most+1, expected+1
	for {
		if n := int64(len(f.bytes)); n == int64(cap(f.bytes)) {
			next := max(n*roomGrowth, leastRoom)
			if expected > n && expected < next {
				next = expected
			}
			if err := f.grow(min(next, most)); err != nil {
				return err
			}
		}
		n, err := plain.Read(f.bytes[len(f.bytes):cap(f.bytes)])
		f.bytes = f.bytes[:len(f.bytes)+n]
		switch {
		case int64(len(f.bytes)) == most:
			return errBodyTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// grow makes room for n bytes in all. While it copies it has both the old room and the new.
func (f *filling) grow(n int64) error {
	if err := f.take(n); err != nil {
		return err
	}
	was := int64(cap(f.bytes))
	f.bytes = append(make([]byte, 0, n), f.bytes...)
	f.give(was)
	return nil
}

// text returns the body, and gives up the memory that it is in: events are parts of it, a store may
// keep it, and the garbage collector owns it. To copy it would take as much memory once more.
func (f *filling) text() string {
	bytes := f.bytes
	f.bytes = nil
	return unsafe.String(unsafe.SliceData(bytes), len(bytes))
}

// drop gives the room back before the call ends.
func (f *filling) drop() {
	f.give(int64(cap(f.bytes)))
	f.bytes = nil
}

// maxWindow is the most memory that a zstd body may make its decoder keep; RFC 8878, section
// 3.1.1.1.2, recommends 8 MB for what is exchanged.
const maxWindow = 8 << 20

// unpackers are the decompressors that are not in use.
type unpackers struct {
	gzip, zstd sync.Pool
}

// opener returns a reader of what is compressed, and how to give it back.
type opener func(io.Reader) (plain io.Reader, done func(), err error)

// of returns the opener for the encodings that a client named; nil where nothing is encoded.
func (u *unpackers) of(encodings []string) (opener, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
		return nil, nil
	case "gzip", "x-gzip":
		return u.openGzip, nil
	case "zstd":
		return u.openZstd, nil
	}
	return nil, &httpError{
		status:  http.StatusUnsupportedMediaType,
		message: "the Content-Encoding is not one of gzip, zstd",
		header:  http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

func (u *unpackers) openGzip(raw io.Reader) (io.Reader, func(), error) {
	z, ok := u.gzip.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	if err := z.Reset(raw); err != nil {
		return nil, nil, err
	}
	return z, func() { u.gzip.Put(z) }, nil
}

func (u *unpackers) openZstd(raw io.Reader) (io.Reader, func(), error) {
	z, ok := u.zstd.Get().(*zstd.Decoder)
	if !ok {
		var err error
		// With a concurrency of 1 a decoder has no goroutine, so the pool may forget it.
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(andon.MaxRequestBytes))
		if err != nil {
			return nil, nil, err
		}
	}
	if err := z.Reset(raw); err != nil {
		return nil, nil, err
	}
	giveBack := func() {
		_ = z.Reset(nil) // drops the connection; it can't fail
		u.zstd.Put(z)
	}
	return z, giveBack, nil
}

// mediaType returns which of the types the body has; without a Content-Type the first.
func (c *call) mediaType(types ...string) (string, error) {
	header := c.r.Header.Get("Content-Type")
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
	return "", &httpError{
		status: http.StatusUnsupportedMediaType,
		message: "send the body as " + strings.Join(types, " or ") +
			", in UTF-8, and say so in Content-Type",
		header: http.Header{"Accept": {strings.Join(types, ", ")}},
	}
}

// object returns the body of a request that takes one JSON object.
func (c *call) object() (string, error) {
	if _, err := c.mediaType(typeJSON); err != nil {
		return "", err
	}
	return c.body()
}
