package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Error is an answer other than success, as RFC 9457 has it.
type Error struct {
	Status int                // HTTP status
	Title  string             `json:"title"`
	Detail string             `json:"detail"`
	Fields []andon.FieldError `json:"errors"`
	// RetryAfter is how long the server asks to wait; 0 where it does not say.
	RetryAfter time.Duration `json:"-"`
}

// Error returns what the server said, and the status.
func (e *Error) Error() string {
	said := cmp.Or(e.Detail, e.Title)
	for _, f := range e.Fields {
		if !strings.Contains(said, f.Message) {
			said += fmt.Sprintf("; %s: %s", f.Location, f.Message)
		}
	}
	return fmt.Sprintf("%s (HTTP %d)", said, e.Status)
}

// errorOf reads the error that an answer holds. What is not of our form (a proxy's page) is named
// by its status alone.
func errorOf(answer *http.Response) *Error {
	e := &Error{Title: http.StatusText(answer.StatusCode), RetryAfter: retryAfter(answer.Header)}
	form, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if form == "application/problem+json" {
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		if err == nil {
			_ = json.Unmarshal(text, e) // as much of it as can be read
		}
	}
	e.Status = answer.StatusCode
	return e
}

// retryAfter reads the seconds of a Retry-After header. The form with a date is not used by Andon
// and would need a clock that agrees with the server's.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
