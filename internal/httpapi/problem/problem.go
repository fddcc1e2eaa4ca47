// Package problem makes the answer to a request that failed: RFC 9457. Its table maps the kinds of
// error to statuses.
//
// The package knows no route and sends nothing.
package problem

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/access"
	"github.com/andonhq/andon/internal/people"
)

// Type is the media type of a problem.
const Type = "application/problem+json"

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

// InternalDetail is all that a client learns of what is wrong on this side.
const InternalDetail = "something is wrong on this side; its log has it under the request_id"

// Problem is the body of an error: RFC 9457 with the fields at fault and the request's id. Without
// a type, which is "about:blank", the title is that of the status.
type Problem struct {
	Type string `json:"type,omitempty" example:"urn:andon:damaged" doc:"Names some errors"`

	Title  string `json:"title" example:"Bad Request" doc:"The status in words"`
	Status int    `json:"status" example:"400" doc:"The HTTP status"`
	Detail string `json:"detail" example:"limit is 1 to 1000, not 1001" doc:"What is wrong"`

	Errors []andon.FieldError `json:"errors,omitempty" doc:"The fields at fault, if any"`

	By andon.PersonID `json:"by,omitempty" doc:"Who was first, where somebody else was"`

	RequestID string `json:"request_id" doc:"Names the request in the server's log"`
}

// Of returns the problem that an error is sent as. The text of an Internal one stays here,
// since it was not written for clients.
func Of(err error) Problem {
	if e, ok := errors.AsType[*access.Refusal](err); ok {
		return Problem{Status: e.Status, Detail: e.Message}
	}
	kind := andon.KindOf(err)
	p := Problem{Status: statuses[kind], Detail: err.Error()}
	switch kind {
	case andon.Internal:
		p.Detail = InternalDetail
	case andon.Damaged: // that the request was right, and sending it again does not help
		p.Type, p.Title = "urn:andon:damaged", "Stored Data Is Damaged"
	}
	if first, ok := errors.AsType[*people.FirstError](err); ok {
		p.By = first.By
	}
	if e, ok := errors.AsType[*andon.Error](err); ok {
		p.Errors = e.Fields
	} else if kind == andon.Unavailable { // an error of the context
		p.Detail = "the request took too long"
	}
	return p
}

// NotReady is an error that tells only the log why the server can't serve.
func NotReady(why error) error {
	return fmt.Errorf("%w: %w", &access.Refusal{
		Status:  http.StatusServiceUnavailable,
		Message: "the server is not ready: its log says why under the request_id",
	}, why)
}

// Unreadable writes a problem for a request that net/http can't read, as httpconn.Unreadable says.
func Unreadable(status int, text string) (media string, body []byte) {
	body, err := json.Marshal(Problem{
		Title: http.StatusText(status), Status: status, Detail: whyUnreadable(status, text),
		RequestID: rand.Text(),
	})
	if err != nil {
		return "", nil
	}
	return Type, append(body, '\n')
}

func whyUnreadable(status int, text string) string {
	if _, why, ok := strings.Cut(text, ": "); ok {
		return "the request can't be read: " + why
	}
	switch status {
	case http.StatusBadRequest:
		return "the request can't be read: its first line or a header is not of the form that " +
			"HTTP has; percent-encode '%', spaces and quotes in a path"
	case http.StatusRequestHeaderFieldsTooLarge:
		return "the header of the request is too large: send fewer or shorter header fields, and " +
			"a shorter path"
	}
	return strings.TrimSpace(text)
}

// RetryAfter is how many seconds a client should wait after a status; empty: sending again at once
// is as good, or as useless.
func RetryAfter(status int) string { return retryAfter[status] }
