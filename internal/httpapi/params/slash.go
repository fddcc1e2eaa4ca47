package params

import (
	"net/http"
	"net/url"
	"strings"
)

// The mux has a use of its own for a segment that is nothing but a slash, so %2F alone matches no
// wildcard. "/" is an identifier like any other, so until the route is found the segment is another
// one, which no identifier is: it is not valid UTF-8.
const slash, standIn = "%2F", "%FF%2F%FF"

var standInID, _ = url.PathUnescape(standIn)

// WithLoneSlash returns the request with the stand-in for each segment of its path, which is
// escaped, that is a slash.
func WithLoneSlash(r *http.Request, path string) *http.Request {
	found := false
	for s := range strings.SplitSeq(path, "/") {
		found = found || strings.EqualFold(s, slash) || strings.EqualFold(s, standIn)
	}
	if !found {
		return r
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case strings.EqualFold(s, slash):
			segments[i] = standIn
		case strings.EqualFold(s, standIn):
			segments[i] = "%FF" // refused as well, and not the stand-in
		}
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

// Segment returns what a wildcard of the path matched.
func (r *Reader) Segment(name string) string {
	if value := r.Request.PathValue(name); value != standInID {
		return value
	}
	return "/"
}
