package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/jsonout"
)

// Server makes a target of a server that is reached over HTTP. Without a tenant, requests do not
// name one.
func Server(name, address, token string, tenant andon.TenantID) Target {
	head := ""
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	if tenant != "" {
		head += "Andon-Tenant: " + string(tenant) + "\r\n"
	}
	return Target{
		Name: name, Queries: true,
		Dial: func(ctx context.Context) (Conn, error) { return dial(ctx, address, head) },
		Usage: func(ctx context.Context, _ bool) (Usage, error) {
			return usage(ctx, address, token)
		},
	}
}

// Client is a connection of HTTP/1.1. It implements Conn. The client of net/http would take as much
// of the processor as the server that is measured.
type Client struct {
	net.Conn
	reader *bufio.Reader
	head   string // lines after the first
	lines  []byte // the body that was sent last
	sent   []byte
	body   bytes.Buffer
}

func dial(ctx context.Context, address, head string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "--url: %w", err)
	}
	var d interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	port := "80"
	if u.Scheme == "https" {
		d, port = &tls.Dialer{Config: &tls.Config{NextProtos: []string{"http/1.1"}}}, "443"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &Client{
		Conn: c, reader: bufio.NewReaderSize(c, 64<<10), head: "Host: " + u.Host + "\r\n" + head,
	}, nil
}

// Do sends a request and returns the body of the answer, which holds until the next one. It calls
// begin, unless that is nil, when the request is ready to be sent. An answer that is not a success
// is an error.
func (c *Client) Do(
	_ context.Context, method, path string, body []byte, begin func(),
) ([]byte, error) {
	const timeout = time.Minute
	c.sent = fmt.Appendf(c.sent[:0], "%s %s HTTP/1.1\r\n%s", method, path, c.head)
	if method != http.MethodGet {
		form := "application/json"
		if bytes.HasSuffix(body, []byte("\n")) { // lines
			form = "application/x-ndjson"
		}
		c.sent = fmt.Appendf(c.sent, "Content-Type: %s\r\nContent-Length: %d\r\n", form, len(body))
	}
	c.sent = append(append(c.sent, "\r\n"...), body...)
	if begin != nil {
		begin()
	}
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.sent); err != nil {
		return nil, fmt.Errorf("send to the server: %w", err)
	}
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	defer r.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(r.Body); err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if r.StatusCode != http.StatusOK {
		return nil, andon.Errorf(andon.Unavailable, "the server answered %s to %s %s: %s",
			r.Status, method, path, strings.TrimSpace(c.body.String()))
	}
	return c.body.Bytes(), nil
}

// Append implements Conn.
func (c *Client) Append(ctx context.Context, events []andon.Event, begin func()) error {
	c.lines = c.lines[:0]
	for i := range events {
		c.lines, _ = jsonout.Append(c.lines, &events[i]) // their attributes are JSON
		c.lines = append(c.lines, '\n')
	}
	_, err := c.Do(ctx, http.MethodPost, api+"/events", c.lines, begin)
	return err
}

func usage(ctx context.Context, address, token string) (Usage, error) {
	c, err := client.New(client.Options{URL: address, Token: token})
	if err != nil {
		return Usage{}, err
	}
	defer c.Close()
	values, _, err := c.ServerMetrics(ctx)
	return Usage{
		CPU:     time.Duration(values["process_cpu_seconds_total"] * float64(time.Second)),
		Memory:  int64(values["process_resident_memory_bytes"]),
		Written: int64(values["andon_pebble_written_bytes_total"]),
		Kept:    int64(values["andon_pebble_disk_bytes"]),
	}, err
}

const api = "/api/v1" // before the paths of events and queries
