// Package httpconn serves short requests below net/http.
//
// net/http starts a goroutine for each request that it reads, to see whether the client leaves.
// That goroutine wakes another thread, and reading a request and writing its answer takes net/http
// longer than Andon takes for most of them. So a connection of this package parses the plainest
// requests by itself, calls the handler, and writes the answer: it does so within the Read by which
// net/http waits for the next request, in the goroutine of the connection. This saves a quarter to
// more than half of the CPU time of a short request. Decision 73 has the figures.
//
// A request is served so only if all of the following is true. net/http reads any other, and none
// of it is parsed here.
//
//   - The connection is plain TCP and speaks HTTP/1.1. TLS and HTTP/2 are net/http's.
//   - net/http has served a request of the connection, has reported it as idle, and waits for the
//     next one, of which it has read nothing. So a request begins with the next byte.
//   - The request came whole by one read, with nothing after it.
//   - It is a GET without a body, or a POST with one Content-Length. Its head is printable ASCII,
//     and has no field that changes how the message or the connection is to be understood.
//   - The handler takes it (Direct).
//
// There is no second parser: a head that passes these checks is parsed by http.ReadRequest. Most
// clients send the same head again and again, so a connection keeps its last one, and compares
// bytes before it parses.
//
// # What a handler may rely on
//
// Each request has its own context, Header and URL, like those of net/http. The context ends when
// the request has been served, and when the client leaves. The connection watches for that from the
// first call of Done on, since most requests are served without that call. An answer without
// Content-Length is buffered and sent whole. There is no Flush, no Hijack, no full duplex, no 1xx
// status, and no content type is guessed: Direct.Take refuses requests that need one of these.
//
// A panic passes through net/http's Read, which closes the connection as for its own requests.
//
// # Shutdown
//
// net/http counts a connection as idle while a request is served below it, so http.Server.Shutdown
// would cut that request off. Server.Shutdown holds the order: it closes the listeners; ends what
// was registered by OnShutdown; lets answers end their connections for a moment, so that busy
// clients see it; waits for the requests that are served here, after which net/http
// reads all; and then shuts net/http down.
//
// The package knows no route, no token and no format. What it rests on inside net/http is little,
// and is tested: ConnState reports an idle connection, then one deadline is set before the
// connection is read from and one after it, and a read into an empty buffer is as long as the first
// one. If a release of Go changes any of these, all requests go through net/http again, and every
// answer stays the same.
package httpconn

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon/internal/rwlock"
	"github.com/andonhq/andon/internal/sleep"
)

// Direct is a handler that may be called below net/http.
type Direct interface {
	http.Handler
	// Take reports whether ServeHTTP may be called so for a request. It refuses whatever may flush,
	// hijack, take long or change the request, and does not keep the request.
	Take(r *http.Request) bool
}

// Server is an http.Server whose short requests are served by their connections.
type Server struct {
	http       *http.Server
	handler    http.Handler
	direct     Direct // nil: net/http reads all
	unreadable Unreadable
	stopping   atomic.Bool
	serving    rwlock.Lock // for reading while a request is served directly

	mu        sync.Mutex
	listeners []net.Listener
	ending    []func()
}

// New makes a Server of an http.Server, which it changes and which must not be used directly from
// then on. If direct is nil, net/http serves all requests.
func New(s *http.Server, direct Direct, unreadable Unreadable) *Server {
	server := &Server{http: s, handler: s.Handler, direct: direct, unreadable: unreadable}
	state := s.ConnState
	s.Handler = http.HandlerFunc(server.serveHTTP)
	s.ConnState = func(c net.Conn, is http.ConnState) {
		if own, ok := c.(*conn); ok && is == http.StateIdle {
			own.phase.Store(idle)
			own.handled = false
		}
		if state != nil {
			state(c, is)
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if own, ok := c.(*conn); ok {
			ctx = context.WithValue(ctx, connKey{}, own)
			own.context = ctx
		}
		return ctx
	}
	return server
}

type connKey struct{}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.handled = true
	}
	if s.stopping.Load() {
		w.Header().Set("Connection", "close")
	}
	s.handler.ServeHTTP(w, r)
}

// Serve accepts connections until Shutdown or Close, and returns what http.Server.Serve does. The
// connections of a TLS listener are left to net/http.
func (s *Server) Serve(l net.Listener) error {
	own := &listener{Listener: l, server: s, close: sync.OnceValue(l.Close)}
	s.mu.Lock()
	s.listeners = append(s.listeners, own)
	s.mu.Unlock()
	return s.http.Serve(own)
}

// OnShutdown has Shutdown call f once no client can connect any more, to end answers that would go
// on.
func (s *Server) OnShutdown(f func()) { s.ending = append(s.ending, f) }

// closeDelay is how long answers end their connections before idle connections are closed. A client
// that sends its next request as its connection is closed can't know whether it was served.
const closeDelay = 50 * time.Millisecond

// Shutdown stops accepting, and waits until all requests have been served. Requests that take
// longer than the context go on: Close cuts them off. It is called once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.stopping.Store(true)
	for _, end := range s.ending {
		end()
	}
	_ = sleep.For(ctx, closeDelay)
	if err := s.serving.Lock(ctx); err != nil {
		return err
	}
	return s.http.Shutdown(ctx)
}

// Close closes all listeners and connections.
func (s *Server) Close() error { return s.http.Close() }

type listener struct {
	net.Listener
	server *Server
	close  func() error // once
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if _, secure := c.(*tls.Conn); secure {
		return c, nil
	}
	return &conn{Conn: c, server: l.server, remote: c.RemoteAddr().String()}, nil
}

// Close closes the listener; Shutdown does so before net/http does.
func (l *listener) Close() error { return l.close() }
