package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"

	"github.com/andonhq/andon/internal/access"
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
	x.writeProblem(p)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		x.status = metrics.StatusClientGone
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
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("path", r.URL.EscapedPath()),
		slog.Any("error", err),
	)
}

func (x *exchange) writeProblem(p problem.Problem) {
	p.Title, p.RequestID = cmp.Or(p.Title, http.StatusText(p.Status)), x.id
	text, err := json.Marshal(p)
	if err != nil {
		panic("httpapi: a problem can't be written: " + err.Error())
	}
	if wait := problem.RetryAfter(p.Status); wait != "" {
		x.Header().Set("Retry-After", wait)
	}
	text = append(text, '\n')
	x.Header().Set("Content-Type", problem.Type)
	x.Header().Set("Content-Length", strconv.Itoa(len(text)))
	x.WriteHeader(p.Status)
	_, _ = x.Write(text) // if it can't be sent, the client is gone
}
