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
// The time is that of the work: from when the request got its slot to the beginning of the answer,
// so that a client on a slow line does not look like a slow query, and a stream not like an endless
// one.
func (a *API) logSlow(x *exchange, r *http.Request, now time.Time) {
	took := x.Worked(now)
	if a.options.Slow <= 0 || took < a.options.Slow {
		return
	}
	a.options.Log.LogAttrs(r.Context(), slog.LevelWarn, "slow request",
		slog.String("request_id", x.ID),
		slog.String("route", x.routeName()),
		slog.String("tenant", string(x.Tenant)),
		slog.Duration("took", took),
		slog.Int("answers", x.Answers),
		slog.Int("status", x.Status),
	)
}

// unmatched is the name of what has no route.
const unmatched = "unmatched"

func (x *exchange) routeName() string {
	if x.route == nil {
		return unmatched
	}
	return x.route.pattern
}

func (x *exchange) path() string {
	if x.route == nil {
		return unmatched
	}
	return x.route.path()
}
