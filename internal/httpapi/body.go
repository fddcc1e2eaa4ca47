package httpapi

import (
	"net/http"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/body"
)

// Media types that a body may have.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// body returns the text of the request's body, decompressed, once the call has its slot. Its memory
// is bounded twice: by andon.MaxRequestBytes for each request, and by intake for all requests
// together until the end of the call.
//
// The body is read before the slot is taken, so that a slow client keeps no one waiting; and
// decompressed after, so that there are no more decompressors than slots.
func (c *call) body() (string, error) {
	if c.r.ContentLength > andon.MaxRequestBytes {
		return "", body.ErrTooLarge
	}
	open, err := body.DecompressorFor(c.r.Header.Values("Content-Encoding"))
	if err != nil {
		return "", err
	}
	raw := c.r.Body
	if c.r.ContentLength < 0 { // else it ends there
		raw = http.MaxBytesReader(c.x, raw, andon.MaxRequestBytes)
	}
	sent, err := body.Read(raw, c.r.ContentLength, c)
	size := sent.Size()
	c.x.BodyBegun = size > 0
	if err != nil {
		return "", err
	}
	c.x.SetReadDeadline(time.Time{})
	c.x.BodyEnded = true
	if open == nil {
		return sent.Text(), c.beginWith(size)
	}
	// How much it holds shows only once it is decompressed, so it waits as if that were a lot.
	const usual = 8 // times as long as what was sent
	size = min(usual*size, andon.MaxRequestBytes)
	if err := c.beginWith(size); err != nil {
		return "", err
	}
	return sent.Decompress(open, size/2)
}

// object returns the body of a request that takes one JSON object.
func (c *call) object() (string, error) {
	if _, err := body.MediaType(c.r.Header.Get("Content-Type"), typeJSON); err != nil {
		return "", err
	}
	return c.body()
}
