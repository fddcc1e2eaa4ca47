package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/andonhq/andon"
)

// profiles serves what the program is busy with, on an address of its own. That is always on
// loopback: a profile shows names of functions and command lines, a heap dump may hold the token.
type profiles struct {
	config   *Config
	log      *slog.Logger
	server   *http.Server
	listener net.Listener
	quit     context.CancelFunc // ends the profiles that are being taken
}

func (*profiles) name() string { return "pprof" }

// open listens where the configuration says.
func (p *profiles) open(ctx context.Context) error {
	listen := p.config.Profiles
	address, err := profileAddress(listen)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	if p.listener, err = lc.Listen(ctx, "tcp", address.String()); err != nil {
		return andon.Errorf(andon.Unavailable, "listen on pprof.listen %s: %w", listen, err)
	}
	// A profile lasts as long as its client asks for, so the end of the program ends it.
	base, quit := context.WithCancel(context.WithoutCancel(ctx))
	p.quit = quit
	// No WriteTimeout: a profile of the processor takes 30 seconds, or as long as is asked for.
	p.server = &http.Server{
		Handler: localOnly(profileRoutes()), ReadHeaderTimeout: p.config.Timeouts.Headers,
		BaseContext: func(net.Listener) context.Context { return base },
	}
	p.log.Info("serving profiles", "url", p.url())
	return nil
}

// profileAddress reads pprof.listen and refuses what other machines could reach.
func profileAddress(at string) (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid,
			"pprof.listen %q: %w (an address is of the form 127.0.0.1:6060)", at, err)
	}
	if !address.IP.IsLoopback() {
		return nil, andon.Errorf(andon.Invalid,
			"pprof.listen %s lets other machines in, and profiles "+
				"show what the program has in memory: listen on 127.0.0.1, and reach it by "+
				"ssh -L 6060:127.0.0.1:6060", at)
	}
	return address, nil
}

func (p *profiles) url() string {
	return "http://" + p.listener.Addr().String() + "/debug/pprof/"
}

// serve logs why it ended and returns nil: the program is worth more than its profiles, so it goes
// on without them.
func (p *profiles) serve() error {
	if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		p.log.Error("serve profiles", "error", err)
	}
	return nil
}

// stop ends the profiles that are being taken.
func (p *profiles) stop(ctx context.Context) error {
	p.quit()
	ctx, cancel := context.WithTimeout(ctx, margin)
	defer cancel()
	err := p.server.Shutdown(ctx)
	_ = p.listener.Close() // of a server that did not serve yet
	if err != nil {
		return errors.Join(fmt.Errorf("end the profiles: %w", err), p.server.Close())
	}
	return nil
}

// profileRoutes are those of net/http/pprof, on a mux of our own: what other packages register with
// the default one is not for this address.
func profileRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// localOnly refuses requests that a page of another site made a browser on this machine send: one
// whose name was made to point to 127.0.0.1 shows in Host, and any other in Sec-Fetch-Site.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		site := r.Header.Get("Sec-Fetch-Site")
		loopback := host == "localhost" || net.ParseIP(host).IsLoopback()
		if !loopback || site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "profiles are for this machine only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
