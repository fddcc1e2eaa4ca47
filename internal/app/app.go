// Package app wires Andon together: store, intake, HTTP, the sweep of what has expired. It starts
// and stops them in the right order, and is what the end-to-end tests start.
//
// It knows which parts there are and nothing of what they do. It reads no environment and no flags,
// and prints nothing.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/sleep"
)

// Options are what an App is made with. All but Fatal must be given.
type Options struct {
	Config  Config
	Now     func() andon.Time
	Log     *slog.Logger
	Version client.Version
	// Fatal is told that the store's disk failed. It must end the process: what is acknowledged is
	// on the disk, and nothing more can be promised. The store panics unless it is set.
	Fatal func(error)
}

// App is one running Andon. Start comes first and Stop last, each once.
type App struct {
	Options
	store    andon.Store
	clock    *intake.Clock
	intake   *intake.Intake
	api      *httpapi.API
	ordered  ordered
	calls    *calls
	server   *httpconn.Server
	listener net.Listener
	profiles *profiles // nil: none are served
	secure   bool
	plain    bool       // it serves HTTP without TLS beyond loopback, unasked
	failed   chan error // the server ended by itself
	memory   memoryBound
	tasks    *tasks
}

// New makes an App. It touches nothing yet.
func New(o Options) *App {
	a := &App{
		Options: o, ordered: newOrdered(), calls: newCalls(o.Config.Store),
		tasks: newTasks(o.Now, o.Log), failed: make(chan error, 1),
	}
	a.memory.app = a
	return a
}

// Start opens the store and answers requests. When it returns an error, nothing is left open. What
// is wrong with the configuration is Invalid.
func (a *App) Start(ctx context.Context) error {
	token, err := readToken(a.Config.TokenFile)
	if err != nil {
		return err
	}
	listener, loopback, err := a.listen(ctx, token)
	if err != nil {
		return err
	}
	a.listener = listener
	if a.profiles, err = a.startProfiles(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := a.openStore(ctx); err != nil {
		return errors.Join(err, listener.Close(), a.profiles.stop(context.WithoutCancel(ctx)))
	}
	a.wire(token, loopback)
	a.tasks.start(a.background()...)
	a.goServe()
	a.Log.Info("started", "url", a.URL(), "store", a.store.Capabilities().Name)
	return nil
}

func (a *App) wire(token string, loopback bool) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.registerGauges(registry)
	limits := a.Config.Limits
	a.intake = intake.New(a.store, intake.Options{
		Now: a.Now, Clock: a.clock, MaxBytes: limits.Memory, MaxRequests: limits.Requests,
		MaxReads: limits.Reads, Patience: limits.Wait, MaxStates: limits.States,
		Audit: a.audit(),
	})
	t := a.Config.Timeouts
	a.api = httpapi.New(httpapi.Options{
		Store: a.store, Damage: a.store.Damage,
		Intake: a.intake, Now: a.Now, Log: a.Log, Registry: registry,
		Version: a.Version, Token: token, Loopback: loopback,
		BodyTimeout: t.Body, Timeout: t.Request,
		Slow: a.Config.Log.Slow, Backup: a.backup,
	})
	var direct httpconn.Direct
	if a.Config.Direct {
		direct = a.api
	}
	a.server = httpconn.New(&http.Server{
		Handler:           a.api,
		ReadHeaderTimeout: t.Headers,
		ReadTimeout:       t.Headers + t.Body,
		WriteTimeout:      t.Body + 2*t.Request + margin,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    int(limits.Headers),
		ConnState:         a.memory.connected,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}, direct, httpapi.Unreadable)
	a.server.OnShutdown(a.api.EndLong)
}

// margin is what a connection may live longer than its request, so that the request's own end comes
// first and is answered. To fetch the answer a client has as long as the work may take once more.
const margin = 5 * time.Second

func (a *App) goServe() {
	l := a.listener
	go func() {
		err := a.server.Serve(l)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			a.failed <- fmt.Errorf("serve: %w", err)
		}
	}()
}

// background is what goes on beside requests.
func (a *App) background() []task {
	every := a.Config.Expiry.Every
	all := []task{
		{name: "sweep", every: every, wake: a.intake.Wanted(), do: a.intake.Expire},
		{name: "clock", every: every, do: a.intake.KeepClock},
	}
	if a.memory.isOurs() {
		all = append(all, task{name: "memory", every: 10 * time.Second, do: a.memory.follow},
			task{name: "garbage", every: time.Second, do: a.memory.giveBack})
	}
	return all
}

// URL returns the address of the running App.
func (a *App) URL() string {
	scheme := "http"
	if a.secure {
		scheme = "https"
	}
	return scheme + "://" + a.listener.Addr().String()
}

// Wait returns when the context ends (nil) or when the server ended by itself.
func (a *App) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	}
}

// Stop ends the App: /readyz says no, then the listener closes, then requests under way end, then
// the store finishes and closes. It takes no longer than the timeouts of the configuration and the
// context allow; requests that take longer are cut off, and that is the error.
func (a *App) Stop(ctx context.Context) error {
	a.api.Drain()
	_ = sleep.For(ctx, a.Config.Timeouts.Drain)
	ctx, cancel := context.WithTimeout(ctx, a.Config.Timeouts.Stop)
	defer cancel()
	a.tasks.stop()
	cut := errors.Join(a.endRequests(ctx), a.profiles.stop(ctx))
	a.tasks.wait()
	if err := a.store.Finish(ctx); err != nil {
		a.Log.Info("the store could not finish: the next start takes longer", "error", err)
	}
	err := errors.Join(cut, a.store.Close()) // it waits for requests that were cut off
	a.Log.Info("stopped")
	return err
}

// endRequests lets requests end by themselves, and those that may take long at once; then it cuts
// them off.
func (a *App) endRequests(ctx context.Context) error {
	if err := a.server.Shutdown(ctx); err == nil {
		return nil
	}
	return errors.Join(
		errors.New("requests under way took too long and were cut off"), a.server.Close())
}

// tlsConfig reads certificate and key; nil where none is named.
func (a *App) tlsConfig() (*tls.Config, error) {
	c := a.Config
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
