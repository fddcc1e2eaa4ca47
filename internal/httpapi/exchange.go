package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/andonhq/andon/internal/httpapi/acknowledge"
	"github.com/andonhq/andon/internal/httpapi/answer"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

type exchange struct {
	answer.Writer
	route *route // nil where there is none
}

func newExchange(w http.ResponseWriter, id string, begun time.Time) *exchange {
	return &exchange{Writer: answer.Writer{ResponseWriter: w, ID: id, Begun: begun}}
}

func (a *API) logAccess(x *exchange, r *http.Request, now time.Time) {
	if !a.options.Log.Enabled(r.Context(), slog.LevelDebug) {
		return // nobody reads it
	}
	a.options.Log.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("request_id", x.ID),
		slog.String("method", r.Method),
		acknowledge.LoggedPath(r),
		slog.Int("status", x.Status),
		slog.Int64("bytes", x.Bytes),
		slog.Duration("took", now.Sub(x.Begun)),
		slog.String("remote", r.RemoteAddr),
	)
}

// panicked logs a panic and answers 500 where no answer has begun.
func (a *API) panicked(x *exchange, r *http.Request, v any) {
	a.options.Log.LogAttrs(r.Context(), slog.LevelError, "panic while serving a request",
		slog.String("request_id", x.ID),
		slog.String("method", r.Method),
		acknowledge.LoggedPath(r),
		slog.Any("panic", v),
		slog.String("stack", string(debug.Stack())),
	)
	if x.Status != 0 {
		x.PanickedLate = true
		return
	}
	x.WriteProblem(problem.Problem{
		Status: http.StatusInternalServerError, Detail: problem.InternalDetail,
	})
}
