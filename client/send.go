package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

const (
	jsonForm   = "application/json"
	ndjsonForm = "application/x-ndjson"
	maxPause   = 10 * time.Second
	maxAnswer  = 256 << 20 // bytes; a server that sends more is not ours
)

// request is one request, which may be sent several times.
type request struct {
	method string
	path   string
	query  url.Values
	value  any    // to be sent as JSON; nil where there is none, or body is
	form   string // content type of body
	body   []byte
	accept string // media type of the answer; JSON unless set
	after  string // position of a stream that is resumed
	// once: what was sent may have arrived although no answer came, and arriving twice is not the
	// same as arriving once. So it is sent again only where the server said that it took nothing
	// (429).
	once bool
	// plain: the path is outside the base path, and the answer counts as it is now: it is asked for
	// once, however busy the server is.
	plain bool
	// readOnly: it changes nothing, although it is no GET.
	readOnly bool
	// status, where it is not nil, is set to that of an answer that is no error.
	status *int
}

// reads reports whether a request asks what the server's store holds, and changes nothing.
func (r *request) reads() bool { return !r.plain && (r.method == http.MethodGet || r.readOnly) }

// with returns the request with a parameter, unless its value is zero.
func (r request) with(name string, value any) request {
	r.query = maps.Clone(r.query)
	if r.query == nil {
		r.query = url.Values{}
	}
	set(r.query, name, reflect.ValueOf(value))
	return r
}

// ask sends a request until it is answered, and returns the answer.
func ask[T any](ctx context.Context, c *Client, r request) (answer T, err error) {
	err = c.do(ctx, r, &answer)
	return answer, err
}

func get[T any](ctx context.Context, c *Client, elements ...string) (T, error) {
	return ask[T](ctx, c, request{method: http.MethodGet, path: path(elements...)})
}

// submit asks with a value as the body, which is sent as JSON.
func submit[T any](
	ctx context.Context, c *Client, method string, value any, elements ...string,
) (T, error) {
	return ask[T](ctx, c, request{method: method, path: path(elements...), value: value})
}

// do is ask. The answer goes into out, which may be nil.
func (c *Client) do(ctx context.Context, r request, out any) (err error) {
	if r.value != nil {
		if r.body, err = json.Marshal(r.value); err != nil {
			return err
		}
		r.form = jsonForm
	}
	if r.reads() {
		r = r.with("consistency", c.options.Consistency.String())
	}
	if c.plan != nil {
		if !r.reads() {
			return errors.New("what writes, or asks about the server itself, has no plan")
		}
		r, out = r.with("explain", true), c.plan
	}
	return c.repeat(ctx, r, out)
}

// repeat sends a request until it is answered.
func (c *Client) repeat(ctx context.Context, r request, out any) error {
	for attempt := 1; ; attempt++ {
		err := c.send(ctx, r, out)
		if err == nil || attempt >= c.options.Attempts || !again(ctx, r, err) {
			return err
		}
		if err := sleep.For(ctx, c.pause(attempt, err)); err != nil {
			return err
		}
	}
}

// again reports whether sending a request once more can help.
func again(ctx context.Context, r request, err error) bool {
	var e *Error
	switch {
	case ctx.Err() != nil, r.plain:
		return false
	case !errors.As(err, &e):
		return !r.once || !connected(err)
	case e.Status == http.StatusTooManyRequests:
		return true
	}
	return e.Status == http.StatusServiceUnavailable && !r.once
}

// connected reports whether the request may have reached the server: where there was no connection,
// nothing was sent.
func connected(err error) bool {
	var e *net.OpError
	return !errors.As(err, &e) || e.Op != "dial"
}

// pause returns how long to wait after an attempt: as long as the server says, else twice as long
// each time. A part of it is random, so that many clients do not come back together.
func (c *Client) pause(attempt int, err error) time.Duration {
	wait := min(c.options.Pause<<(attempt-1), maxPause)
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	return wait + rand.N(wait/4+1)
}

// send sends a request once, and decodes the answer.
func (c *Client) send(ctx context.Context, r request, out any) error {
	answer, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if r.status != nil {
		*r.status = answer.StatusCode
	}
	if out == nil {
		return nil
	}
	return decode(answer.Body, out)
}

// open sends a request once, and returns an answer that is no error. The caller closes its body.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	req, err := c.build(ctx, r)
	if err != nil {
		return nil, err
	}
	answer, err := c.options.HTTP.Do(req)
	if err != nil {
		return nil, reach(err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		defer answer.Body.Close()
		return nil, errorOf(answer)
	}
	return answer, nil
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	for element := range strings.SplitSeq(r.path[1:], "/") {
		if element == "" || element == "." || element == ".." { // it would be another path
			return nil, andon.Errorf(andon.Invalid, "%q is no id or name: see %s", element, r.path)
		}
	}
	address := c.base.String() + "/api/v1" + r.path
	if r.plain {
		address = c.base.String() + r.path
	}
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	compress := c.options.Compress != nil && len(r.body) > 0
	if compress {
		r.body = c.options.Compress(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if compress {
		req.Header.Set("Content-Encoding", "zstd")
	}
	req.Header.Set("Accept", cmp.Or(r.accept, jsonForm))
	if r.after != "" {
		req.Header.Set("Last-Event-Id", r.after)
	}
	if c.options.Tenant != andon.DefaultTenant {
		req.Header.Set("Andon-Tenant", string(c.options.Tenant))
	}
	if r.form != "" {
		req.Header.Set("Content-Type", r.form)
	}
	if c.options.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	return req, nil
}

// reach says that the server did not answer, and why. The address in the error of net/http is left
// out: its query is long and says nothing.
func reach(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("reach the server: %w", err)
}

func decode(body io.Reader, out any) error {
	if err := json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
