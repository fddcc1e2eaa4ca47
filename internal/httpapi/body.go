package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
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

// typeProblem is the media type of an error (RFC 9457).
const typeProblem = "application/problem+json"

// body returns the text of the request's body, decompressed, once its turn to be worked at has
// come. Its memory is bounded twice: by andon.MaxRequestBytes for each request, and by intake for
// all requests together until the end of the call.
//
// The body is read whole before its turn comes, so that a slow client keeps no one waiting; and
// decompressed after, so that there are no more decompressors than work.
func (c *call) body() (string, error) {
	if c.r.ContentLength > andon.MaxRequestBytes {
		return "", errBodyTooLarge
	}
	open, err := decompressorFor(c.r.Header.Values("Content-Encoding"))
	if err != nil {
		return "", err
	}
	sent := received{call: c, most: andon.MaxRequestBytes}
	raw := c.r.Body
	if c.r.ContentLength < 0 { // else it ends there
		raw = http.MaxBytesReader(c.x, raw, andon.MaxRequestBytes)
	}
	err = sent.readFrom(raw, c.r.ContentLength)
	c.x.bodyBegun = sent.text.Len() > 0
	if err != nil {
		return "", bodyError(err)
	}
	c.x.setReadDeadline(time.Time{})
	c.x.bodyEnded = true
	if open == nil {
		return sent.text.String(), c.beginWith(int64(sent.text.Len()))
	}
	return c.decompress(&sent, open)
}

// decompress returns what a compressed body holds. How much that is shows only once it is done, so
// it waits for its turn as if it held a good deal.
func (c *call) decompress(sent *received, open decompressor) (string, error) {
	const usual = 8 // times as long as what was sent
	size := min(usual*int64(sent.text.Len()), andon.MaxRequestBytes)
	if err := c.beginWith(size); err != nil {
		return "", err
	}
	plain, end, err := open(strings.NewReader(sent.text.String()))
	if err != nil {
		return "", bodyError(err)
	}
	defer end()
	whole := received{call: c, most: andon.MaxRequestBytes}
	if err := whole.readFrom(plain, size/2); err != nil {
		return "", bodyError(err)
	}
	sent.drop()
	return whole.text.String(), nil
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

// received is a body while it arrives. It takes memory from the budget before it uses it, and only
// as much as what has arrived makes likely, so that a client can't claim much more than it sends.
type received struct {
	*call
	most int64
	text strings.Builder
}

const (
	leastBody = 512
	// bodyGrowth is how many times what has arrived a body may take. It is copied when it grows, so
	// by that it is copied once more in all.
	bodyGrowth = 4
	mostChunk  = 32 << 10
)

// readFrom reads all of plain. expected is how long it will be, as far as the client says: 0 or -1
// where it does not.
func (b *received) readFrom(plain io.Reader, expected int64) error {
	// One byte more than the limit tells a body of just that length from one that is too long, and
	// one more than expected meets the end without growing.
	most, expected := b.most+1, expected+1
	chunk := make([]byte, min(max(expected, leastBody), mostChunk))
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
		case int64(b.text.Len()) > b.most:
			return errBodyTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// grow makes space for n bytes in all. While it copies, it has the old memory and the new.
func (b *received) grow(n int64) error {
	if err := b.take(n); err != nil {
		return err
	}
	size, received := int64(b.text.Cap()), b.text.String()
	b.text.Reset()
	b.text.Grow(int(n))
	b.text.WriteString(received)
	b.give(size)
	return nil
}

// drop gives the memory back before the call ends.
func (b *received) drop() {
	b.give(int64(b.text.Cap()))
	b.text.Reset()
}

// maxWindow is the most memory that a zstd body may make its decoder keep; RFC 8878, section
// 3.1.1.1.2, recommends 8 MB for what is exchanged.
const maxWindow = 8 << 20

// decompressor returns a reader of what is compressed, and a function that ends it.
type decompressor func(io.Reader) (plain io.Reader, end func(), err error)

// decompressorFor returns the decompressor for the encodings that a client named; nil where nothing
// is encoded.
func decompressorFor(encodings []string) (decompressor, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
		return nil, nil
	case "gzip", "x-gzip":
		return openGzip, nil
	case "zstd":
		return openZstd, nil
	}
	return nil, &httpError{
		status:  http.StatusUnsupportedMediaType,
		message: "the Content-Encoding is not one of gzip, zstd",
		header:  http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

func openGzip(raw io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(raw)
	return z, func() {}, err
}

func openZstd(raw io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(andon.MaxRequestBytes))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
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
