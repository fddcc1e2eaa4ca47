package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// logSlow logs a request that was worked at for longer than Options.Slow. It names the route and
// never the path or the query: what people look for is theirs, and a log goes further than it
// should.
//
// The time is that of the work: from when the request's turn came to the beginning of the answer,
// so that a client on a slow line does not look like a slow query, and a stream not like an endless
// one.
func (a *API) logSlow(x *exchange, r *http.Request) {
	took := x.worked()
	if a.options.Slow <= 0 || took < a.options.Slow {
		return
	}
	a.options.Log.LogAttrs(r.Context(), slog.LevelWarn, "slow request",
		slog.String("request_id", x.id),
		slog.String("route", routeOf(r)),
		slog.String("tenant", string(x.tenant)),
		slog.Duration("took", took),
		slog.Int("answers", x.answers),
		slog.Int("status", x.status),
	)
}

// worked returns how long the request was worked at.
func (x *exchange) worked() time.Duration {
	from, to := x.begun, x.answered
	if !x.received.IsZero() {
		from = x.received
	}
	if to.IsZero() { // nothing was ever sent
		return time.Since(from)
	}
	return to.Sub(from)
}

// routeOf is the pattern that a request matched, with its method.
func routeOf(r *http.Request) string {
	if r.Pattern == "" {
		return "unmatched"
	}
	return r.Pattern
}
