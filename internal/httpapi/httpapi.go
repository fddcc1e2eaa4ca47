// Package httpapi is the HTTP transport: it turns requests into calls of the store and of intake,
// and their answers and errors into JSON. The contract is the OpenAPI document that it serves.
//
// Each request is one route: a value that holds its method and path, the parameters it knows, the
// types of its body and answer, and the function that serves it. The router, the check for unknown
// parameters and the OpenAPI document are all made from that value, so that they can't disagree;
// the prose and the examples of the document are in two files next to its package. huma models the
// document and derives its schemas from the Go types; requests do not pass through huma.Register,
// because it answers 422 where the contract says 400, 500 to a body that stops halfway, and can't
// tell an absent field from null.
//
// The package knows no engine, does not decode events and does not decide what is admitted: bodies
// of entries go to jsonfeed, writes to intake, reads to the andon.Store. Packages below it know no
// route. Package access decides who may send requests, jsonout writes most answers, and httpconn
// serves short requests below net/http.
package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/httpapi/answer"
	"github.com/andonhq/andon/internal/httpapi/incidents"
	"github.com/andonhq/andon/internal/httpapi/metrics"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/live"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules/runner"
	"github.com/andonhq/andon/internal/spell"
	"github.com/andonhq/andon/internal/ui"
)

// basePath is in front of every request of the contract but those about the program itself.
const basePath = "/api/v1"

// Incidents keeps incidents.
type Incidents = incidents.Kept

// Options are what an API is made with. Store, Intake and Now must be given; the zero value of each
// other works.
type Options struct {
	// Store is read from. It has exact retention already (wrap.Retain).
	Store andon.Store
	// Ready reports why the program can't serve now, or nil; the store's own unless set.
	Ready func(ctx context.Context) error
	// Backup writes a backup of the store; without it the store has none.
	Backup func(ctx context.Context, w io.Writer) error
	// Intake takes what is written.
	Intake *intake.Intake
	// Incidents are listed and acted on; without them there are no routes about incidents.
	Incidents Incidents
	// Maintenance returns the windows that are open; nil: none ever is.
	Maintenance func(context.Context, andon.TenantID) ([]people.Window, error)
	// Documents are read and written; without them there are no routes about documents.
	Documents *records.Documents
	// Rules are tried; without them there is no route for that.
	Rules *runner.Runner
	// Notifications tell people; without them there are no routes about that.
	Notifications Notifications
	// Alerts takes what is sent to an Alertmanager; nil: nothing does.
	Alerts func(ctx context.Context, text string) error
	// Now is the clock that running intervals and silent devices are measured with.
	Now func() andon.Time
	// Log gets each request at debug level, and what is wrong with this side; none unless set.
	Log *slog.Logger
	// Registry is served at /metrics, and the API's own metrics are registered with it; a new one
	// unless set. A registry serves one API.
	Registry *prometheus.Registry
	// Board is served to browsers; that of the binary unless set.
	Board *ui.Board
	// Version is served at /version, with what the store calls itself when it is asked.
	Version client.Version
	// Token must be sent as a bearer token, or a browser must have signed in with it, for all
	// requests but those whose routes are open: is the program well, what is its contract, the
	// files of the board. Without one nothing is asked for.
	Token string
	// Loopback says that only this machine can connect: requests that a browser sends here for
	// another site are recognised by their Host and Origin and refused.
	Loopback bool
	// BodyTimeout is how long a request's body may take to arrive; 30 s unless set.
	BodyTimeout time.Duration
	// Timeout is how long a request may be worked at; 60 s unless set. The server that the API is
	// the handler of bounds how long its answer may take (http.Server.WriteTimeout), unless that
	// may take long: then this is how long each piece of it may.
	Timeout time.Duration
	// Slow is how long a request may be worked at without being logged; 0: none is logged.
	Slow time.Duration
	// WrongTokenPause is after how long a wrong token is refused; half a second unless set.
	WrongTokenPause time.Duration
}

func (o Options) withDefaults() Options {
	if o.Ready == nil {
		o.Ready = o.Store.Ready
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Registry = cmp.Or(o.Registry, prometheus.NewRegistry())
	o.WrongTokenPause = cmp.Or(o.WrongTokenPause, 500*time.Millisecond)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 30*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 60*time.Second)
	if o.Board == nil {
		o.Board = ui.New()
	}
	if o.Backup == nil {
		o.Backup = func(context.Context, io.Writer) error {
			return andon.Errorf(andon.Unsupported, "this server takes no backup of its store")
		}
	}
	return o
}

// API serves the contract. It is an http.Handler whose methods may be called concurrently. It
// starts goroutines only for streams, and none outlives them.
type API struct {
	options  Options
	store    andon.Store
	intake   *intake.Intake
	guard    *access.Guard
	mux      *http.ServeMux
	routes   map[string]*route // by pattern
	long     []string          // paths of routes that may take long
	metrics  *metrics.Metrics
	live     *live.Hub
	board    *ui.Board
	draining atomic.Bool

	ending  context.Context // of answers that may take long
	endLong context.CancelFunc
}

// New makes an API.
func New(o Options) *API {
	o = o.withDefaults()
	a := &API{
		options: o,
		store:   o.Store,
		intake:  o.Intake,
		guard: access.New(access.Options{
			Token: o.Token, Loopback: o.Loopback, Now: o.Now, Registry: o.Registry,
			Pause: o.WrongTokenPause,
		}),
		mux:    http.NewServeMux(),
		routes: map[string]*route{},
		board:  o.Board,
	}
	a.live = live.New(o.Store, o.Now, a.frames)
	a.metrics = metrics.New(o.Registry, &o.Intake.Shares, a.live.Readers)
	a.ending, a.endLong = context.WithCancel(context.Background())
	for _, r := range a.allRoutes() {
		a.add(r)
	}
	unmatched := func(w http.ResponseWriter, r *http.Request) { a.unmatched(w.(*exchange), r) }
	a.mux.HandleFunc("/", unmatched)
	a.mux.HandleFunc("/assets", unmatched) // else the mux redirects it to what is below it
	return a
}

func (a *API) add(r *route) {
	r.complete()
	a.routes[r.pattern] = r
	if r.long {
		if len(r.names) > 0 {
			panic("httpapi: Take can't know the long route " + r.pattern + " by its path")
		}
		a.long = append(a.long, r.path())
	}
	a.mux.HandleFunc(r.pattern, a.handler(r))
}

// Drain makes /readyz fail from now on, so that no new requests are sent here while those under way
// are finished.
func (a *API) Drain() { a.draining.Store(true) }

// EndLong ends the answers that may take long, which would else keep a server from shutting down:
// the context of each ends, and it ends in its own order.
func (a *API) EndLong() { a.endLong() }

func (a *API) allRoutes() []*route {
	groups := [][]*route{
		a.eventRoutes(), a.deviceRoutes(), a.peopleRoutes(), a.readingRoutes(), a.tenantRoutes(),
		a.nameRoutes(), a.restoreRoutes(), a.operationRoutes(),
		a.groupRoutes(), a.incidentRoutes(), a.personRoutes(), a.notificationRoutes(),
		{a.sweepRoute(), a.backupRoute(), a.fleetRoute(), a.streamRoute(), a.rejectionsRoute()},
		a.sessionRoutes(),
	}
	var all []*route
	for _, group := range groups {
		all = append(all, group...)
	}
	all = explainable(all)
	return slices.Concat(all, a.documentRoutes(all), a.boardRoutes())
}

// ServeHTTP serves one request. The mux would redirect a path with empty segments to another
// device's, so it does not get that.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(w, answer.RequestID(r), time.Now())
	defer a.finish(x, r)
	x.SetHeaders(r)
	path := r.URL.EscapedPath()
	if !isClean(path) {
		a.unmatched(x, r)
		return
	}
	if strings.Contains(path, "%") {
		r = params.WithLoneSlash(r, path)
	}
	a.mux.ServeHTTP(x, r)
}

// enter begins a request that a route was found for, or none, and returns how the client was let
// in.
func (a *API) enter(x *exchange, r *http.Request, open bool) (who string, err error) {
	if r.ContentLength != 0 {
		x.SetReadDeadline(x.Begun.Add(a.options.BodyTimeout))
	}
	return a.guard.Check(x, r, open)
}

// finish turns a panic into an answer, and counts and logs the request.
func (a *API) finish(x *exchange, r *http.Request) {
	v := recover()
	if v != nil && v != http.ErrAbortHandler {
		a.panicked(x, r, v)
	}
	now := time.Now()
	a.metrics.Observe(r.Method, x.path(), x.Status, now.Sub(x.Begun), x.EachWrite != 0)
	a.logAccess(x, r, now)
	a.logSlow(x, r, now)
	// A half answer must not look whole: the server cuts the connection.
	if v != nil && (v == http.ErrAbortHandler || x.PanickedLate) {
		panic(http.ErrAbortHandler)
	}
}

var errNoSuchPath = andon.Errorf(andon.NotFound, "there is nothing at this path")

// noSuchPath says which path may have been meant.
func (a *API) noSuchPath(path string) error {
	if a.options.Incidents == nil && incidents.Concern(strings.TrimPrefix(path, basePath)) {
		return andon.Errorf(andon.Unsupported, "%s", incidents.Off)
	}
	var known []string
	for _, r := range a.routes {
		if full := r.path(); !strings.Contains(full, "{") && !slices.Contains(known, full) {
			known = append(known, full)
		}
	}
	slices.Sort(known)
	return fmt.Errorf("%w%s", errNoSuchPath,
		cmp.Or(spell.DidYouMean(path, known), ": /openapi.json lists all"))
}

// unmatched answers a request that no route was found for.
func (a *API) unmatched(x *exchange, r *http.Request) {
	allow, open := a.allowed(r)
	page := allow == "" && ui.AsksForPage(r) &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead)
	open = open || page && !strings.HasPrefix(r.URL.Path, basePath) // that page holds no data
	_, err := a.enter(x, r, open)
	switch {
	case err != nil:
	case page:
		sendNothingHere(x)
		return
	case allow == "":
		err = a.noSuchPath(r.URL.Path)
	default:
		err = &access.Refusal{
			Status:  http.StatusMethodNotAllowed,
			Message: "this path takes " + allow + ", not " + r.Method,
			Header:  http.Header{"Allow": {allow}},
		}
	}
	a.refuse(x, r, err)
}

// allowed returns the methods by which there are routes to the path of a request, and whether one
// of these needs no token: then the error that says the methods needs none.
func (a *API) allowed(r *http.Request) (methods string, open bool) {
	if !isClean(r.URL.EscapedPath()) {
		return "", false
	}
	var all []string
	r = r.WithContext(r.Context()) // a copy
	for _, r.Method = range []string{"DELETE", "GET", "HEAD", "POST", "PUT"} {
		_, pattern := a.mux.Handler(r)
		if to := a.routes[pattern]; to != nil {
			all, open = append(all, r.Method), open || to.open
		}
	}
	return strings.Join(all, ", "), open
}

func (a *API) handler(to *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.route = to
		who, err := a.enter(x, r, to.open)
		if err != nil {
			a.refuse(x, r, err)
			return
		}
		c := a.newCall(x, r, who)
		defer c.stop()
		if err = c.prepare(); err == nil {
			err = c.ofGateway()
		}
		if err == nil {
			err = c.beginEarly()
		}
		if err == nil {
			err = c.serve()
		}
		switch {
		case err != nil && x.Status != 0:
			a.brokenOff(x, r, err)
		case err != nil:
			c.refuse(err)
		}
	}
}

// brokenOff ends an answer that failed when a part of it was sent: it must not look whole.
func (a *API) brokenOff(x *exchange, r *http.Request, err error) {
	if a.ending.Err() == nil && r.Context().Err() == nil {
		a.options.Log.LogAttrs(r.Context(), slog.LevelError, "answer broken off",
			slog.String("request_id", x.ID), slog.String("route", x.routeName()),
			slog.Any("error", err))
	}
	panic(http.ErrAbortHandler)
}
