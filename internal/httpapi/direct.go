package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/andonhq/andon/internal/httpapi/problem"
)

// Take reports whether a request may be served below net/http, as httpconn.Direct says: those of
// the API that take no longer than others. What may take long is known by its whole path.
func (a *API) Take(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, basePath+"/") && !slices.Contains(a.long, r.URL.Path) &&
		!wantsLines(r)
}

// Unreadable writes a problem for a request that net/http can't read, as httpconn.Unreadable says.
func Unreadable(status int, text string) (media string, body []byte) {
	return problem.Unreadable(status, text)
}
