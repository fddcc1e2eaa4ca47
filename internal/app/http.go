package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
)

// httpService serves the API and the board.
type httpService struct {
	app      *App
	token    string
	loopback bool // only this machine reaches it
	secure   bool // by TLS
	plain    bool // without TLS beyond loopback, unasked
	listener net.Listener
	server   *httpconn.Server // nil before use
}

func (*httpService) name() string { return "http" }

// use makes the server. It comes after open and before serve.
func (s *httpService) use(api *httpapi.API) {
	c, t := s.app.Config, s.app.Config.Timeouts
	var direct httpconn.Direct
	if c.Direct {
		direct = api
	}
	s.server = httpconn.New(&http.Server{
		Handler:           api,
		ReadHeaderTimeout: t.Headers,
		ReadTimeout:       t.Headers + t.Body,
		WriteTimeout:      t.Body + 2*t.Request + margin,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    int(c.Limits.Headers),
		ConnState:         s.app.memory.connected,
		ErrorLog:          slog.NewLogLogger(s.app.Log.Handler(), slog.LevelWarn),
	}, direct, httpapi.Unreadable)
	s.server.OnShutdown(api.EndLong)
}

// margin is what a connection may live longer than its request, so that the request's own end comes
// first and is answered. To fetch the answer a client has as long as the work may take once more.
const margin = 5 * time.Second

func (s *httpService) serve() error {
	err := s.server.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// stop lets requests end by themselves, and those that may take long at once; then it cuts them
// off.
func (s *httpService) stop(ctx context.Context) error {
	if s.server == nil {
		return s.listener.Close()
	}
	if s.server.Shutdown(ctx) == nil {
		return nil
	}
	return errors.Join(
		errors.New("requests under way took too long and were cut off"), s.server.Close())
}

func (s *httpService) url() string {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// tlsConfig reads certificate and key; nil where none is named.
func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "read tls_cert %s and tls_key %s: %w",
			c.TLSCert, c.TLSKey, err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		CipherSuites: authenticated(),
		NextProtos:   []string{"h2", "http/1.1"},
	}, nil
}

// authenticated returns the suites of TLS 1.2 that encrypt and authenticate in one step (AEAD). Go
// would also take some with CBC and SHA-1. Those of TLS 1.3 are not named here, and all are such.
func authenticated() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if !strings.HasSuffix(suite.Name, "_SHA") && !strings.Contains(suite.Name, "_CBC_") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}
