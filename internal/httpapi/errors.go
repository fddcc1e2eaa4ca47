package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"

	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/httpapi/acknowledge"
	"github.com/andonhq/andon/internal/httpapi/metrics"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

// refuse answers a request with an error. Errors of this side are logged here and nowhere else.
func (a *API) refuse(x *exchange, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && a.ending.Err() != nil {
		err = errStopping
	}
	p := problem.Of(err)
	if e, ok := errors.AsType[*access.Refusal](err); ok {
		maps.Copy(x.Header(), e.Header)
	}
	x.WriteProblem(p)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		x.Status = metrics.StatusClientGone
		return
	}
	a.logFailure(x, r, p.Status, err)
}

func (a *API) logFailure(x *exchange, r *http.Request, status int, err error) {
	level := slog.LevelWarn
	switch {
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case status < http.StatusInternalServerError, status == http.StatusNotImplemented:
		return // the client's to fix
	}
	a.options.Log.LogAttrs(r.Context(), level, "request failed",
		slog.String("request_id", x.ID),
		slog.String("method", r.Method),
		acknowledge.LoggedPath(r),
		slog.Any("error", err),
	)
}
