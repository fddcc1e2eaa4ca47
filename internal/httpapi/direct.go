package httpapi

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Take reports whether a request may be served below net/http, as httpconn.Direct says: those of
// the API that take no longer than others. What may take long is known by its whole path.
func (a *API) Take(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, basePath+"/") && !slices.Contains(a.long, r.URL.Path) &&
		!wantsLines(r)
}

// Unreadable writes a problem for a request that net/http can't read, as httpconn.Unreadable says.
func Unreadable(status int, text string) (media string, body []byte) {
	body, err := json.Marshal(problem{
		Title: http.StatusText(status), Status: status, Detail: whyUnreadable(status, text),
		RequestID: rand.Text(),
	})
	if err != nil {
		return "", nil
	}
	return typeProblem, append(body, '\n')
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
