package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// The mux has a use of its own for a segment that is nothing but a slash, so %2F alone matches no
// wildcard. "/" is an identifier like any other, so until the route is found the segment is another
// one, which no identifier is: it is not valid UTF-8.
const standIn = "%FF%2F%FF"

var standInID, _ = url.PathUnescape(standIn)

// withLoneSlash returns the request with the stand-in for each segment that is a slash.
func withLoneSlash(r *http.Request) *http.Request {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	found := false
	for i, s := range segments {
		switch sent, _ := url.PathUnescape(s); sent {
		case "/":
			segments[i], found = standIn, true
		case standInID:
			segments[i], found = "%FF", true // refused as well, and not the stand-in
		}
	}
	if !found {
		return r
	}
	raw := strings.Join(segments, "/")
	path, err := url.PathUnescape(raw)
	if err != nil {
		return r // the path was parsed before, so it can be now
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = path, raw
	return r
}

// segment returns what a wildcard of the path stands for.
func (c *call) segment(name string) string {
	if value := c.r.PathValue(name); value != standInID {
		return value
	}
	return "/"
}
