package client_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestConsistency: what reads asks for what was chosen; what writes, and the server itself, do not
// know the parameter.
func TestConsistency(t *testing.T) {
	var asked []string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		io.WriteString(w, `{}`)
	})
	ctx := t.Context()
	for _, of := range []andon.Consistency{andon.AsSet, andon.Eventual, andon.Strong} {
		at := c.WithConsistency(of)
		_, _ = at.Device(ctx, "d")
		_, _, _ = at.LatestReadings(ctx, []andon.DeviceID{"d"})
		_, _ = at.Assign(ctx, "d", "Liz")
		_, _ = at.Version(ctx)
	}
	latest, assign := "POST /api/v1/readings/latest", "PUT /api/v1/devices/d/operator"
	want := []string{
		"GET /api/v1/devices/d", latest, assign, "GET /version",
		"GET /api/v1/devices/d?consistency=eventual", latest + "?consistency=eventual", assign,
		"GET /version",
		"GET /api/v1/devices/d?consistency=strong", latest + "?consistency=strong", assign,
		"GET /version",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}
