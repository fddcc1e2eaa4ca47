package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
)

// Media types that a body may have.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// body returns the text of the request's body, decompressed. What it may take of memory is bounded
// twice: by andon.MaxRequestBytes for each request, and for all together by intake, which gets its
// room back at the end of the call.
func (c *call) body() (string, error) {
	if c.r.ContentLength > andon.MaxRequestBytes {
		return "", errBodyTooLarge
	}
	raw := http.MaxBytesReader(c.x, c.r.Body, andon.MaxRequestBytes)
	plain, done, err := c.unpack.open(raw, c.r.Header.Values("Content-Encoding"))
	if err != nil {
		return "", bodyError(err)
	}
	defer done()
	text := &filling{reserve: c.intake.Reserve}
	c.undo = append(c.undo, text.release)
	if err := text.readFrom(plain, c.r.ContentLength); err != nil {
		return "", bodyError(err)
	}
	c.x.setReadDeadline(time.Time{})
	c.x.received = time.Now()
	return text.String(), nil
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

// filling is a body while it arrives: it reserves room before it takes it, and doubles it, so that
// a client can't claim much more than it sends.
type filling struct {
	strings.Builder
	reserve func(int64) (release func(), err error)
	taken   []func()
	room    int64
}

func (f *filling) release() {
	for _, give := range f.taken {
		give()
	}
}

// readFrom reads all of plain. expected is how long it will be, as far as the client says: 0 or -1
// where it does not, or fewer than that where the body is compressed.
func (f *filling) readFrom(plain io.Reader, expected int64) error {
	const leastRoom, mostTrust = 512, 1 << 20
	if err := f.grow(min(max(expected, leastRoom), mostTrust)); err != nil {
		return err
	}
	chunk := make([]byte, min(f.room, 32<<10))
	// One byte more than the limit tells a body of just that length from one that is too long.
	limited := &io.LimitedReader{R: plain, N: andon.MaxRequestBytes + 1}
	if _, err := io.CopyBuffer(f, limited, chunk); err != nil {
		return err
	}
	if limited.N == 0 {
		return errBodyTooLarge
	}
	return nil
}

// Write appends p.
func (f *filling) Write(p []byte) (int, error) {
	if need := int64(f.Len() + len(p)); need > f.room {
		if err := f.grow(max(need, 2*f.room)); err != nil {
			return 0, err
		}
	}
	return f.Builder.Write(p)
}

func (f *filling) grow(room int64) error {
	release, err := f.reserve(room - f.room)
	if err != nil {
		return err
	}
	f.taken, f.room = append(f.taken, release), room
	f.Grow(int(room) - f.Len())
	return nil
}

// maxWindow is the most memory that a zstd body may make its decoder keep; RFC 8878, section
// 3.1.1.1.2, recommends 8 MB for what is exchanged.
const maxWindow = 8 << 20

// unpackers are the decompressors that are not in use.
type unpackers struct {
	gzip, zstd sync.Pool
}

// open returns a reader through the encodings that a client named, and how to give it back.
func (u *unpackers) open(raw io.Reader, encodings []string) (io.Reader, func(), error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
		return raw, func() {}, nil
	case "gzip", "x-gzip":
		return u.openGzip(raw)
	case "zstd":
		return u.openZstd(raw)
	}
	return nil, nil, &httpError{
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
