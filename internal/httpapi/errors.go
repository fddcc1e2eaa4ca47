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

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/httpapi/metrics"
)

// statuses maps the kinds of error to HTTP.
var statuses = [...]int{
	andon.Internal:    http.StatusInternalServerError,
	andon.Invalid:     http.StatusBadRequest,
	andon.NotFound:    http.StatusNotFound,
	andon.Conflict:    http.StatusConflict,
	andon.TooLarge:    http.StatusRequestEntityTooLarge,
	andon.Busy:        http.StatusTooManyRequests,
	andon.Unsupported: http.StatusNotImplemented,
	andon.Unavailable: http.StatusServiceUnavailable,
	andon.Full:        http.StatusInsufficientStorage,
	andon.Damaged:     http.StatusInternalServerError,
	andon.Gone:        http.StatusGone,
}

// retryAfter is how many seconds a client should wait, by status.
var retryAfter = map[int]string{
	http.StatusTooManyRequests:    "1",
	http.StatusServiceUnavailable: "5",
}

const internalDetail = "something is wrong on this side; its log has it under the request_id"

// problem is the body of an error: RFC 9457 with the fields at fault and the request's id. Without
// a type, which is "about:blank", the title is that of the status.
type problem struct {
	Type string `json:"type,omitempty" example:"urn:andon:damaged" doc:"Names some errors"`

	Title  string `json:"title" example:"Bad Request" doc:"The status in words"`
	Status int    `json:"status" example:"400" doc:"The HTTP status"`
	Detail string `json:"detail" example:"limit is 1 to 1000, not 1001" doc:"What is wrong"`

	Errors []andon.FieldError `json:"errors,omitempty" doc:"The fields at fault, if any"`

	RequestID string `json:"request_id" doc:"Names the request in the server's log"`
}

// problemOf returns the problem that an error is sent as. The text of an Internal one stays here,
// since it was not written for clients.
func problemOf(err error) problem {
	if e, ok := errors.AsType[*access.Refusal](err); ok {
		return problem{Status: e.Status, Detail: e.Message}
	}
	kind := andon.KindOf(err)
	p := problem{Status: statuses[kind], Detail: err.Error()}
	switch kind {
	case andon.Internal:
		p.Detail = internalDetail
	case andon.Damaged: // that the request was right, and sending it again does not help
		p.Type, p.Title = "urn:andon:damaged", "Stored Data Is Damaged"
	}
	if e, ok := errors.AsType[*andon.Error](err); ok {
		p.Errors = e.Fields
	} else if kind == andon.Unavailable { // an error of the context
		p.Detail = "the request took too long"
	}
	return p
}

// refuse answers a request with an error. Errors of this side are logged here and nowhere else.
func (a *API) refuse(x *exchange, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && a.ending.Err() != nil {
		err = errStopping
	}
	p := problemOf(err)
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

func (x *exchange) writeProblem(p problem) {
	p.Title, p.RequestID = cmp.Or(p.Title, http.StatusText(p.Status)), x.id
	text, err := json.Marshal(p)
	if err != nil {
		panic("httpapi: a problem can't be written: " + err.Error())
	}
	if wait := retryAfter[p.Status]; wait != "" {
		x.Header().Set("Retry-After", wait)
	}
	text = append(text, '\n')
	x.Header().Set("Content-Type", typeProblem)
	x.Header().Set("Content-Length", strconv.Itoa(len(text)))
	x.WriteHeader(p.Status)
	_, _ = x.Write(text) // if it can't be sent, the client is gone
}
