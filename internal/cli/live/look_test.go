package live

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/clitest"
)

// unsorting passes requests on to a server, but for those that ask for an order: its store can't
// serve them. It counts these.
func unsorting(t *testing.T, server string) (address string, refused *atomic.Int64) {
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	refused = &atomic.Int64{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sort := r.URL.Query().Get("sort"); sort == "" || sort == "device" {
			proxy.ServeHTTP(w, r)
			return
		}
		refused.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotImplemented)
		io.WriteString(w, `{"status":501,"detail":"this store can't sort devices"}`)
	}))
	t.Cleanup(front.Close)
	return front.URL, refused
}

// TestLookUnsorted: the worst devices come first also where the server's store can't sort.
func TestLookUnsorted(t *testing.T) {
	d := clitest.NewServer(t)
	d.Sends("/events", `{"device":"a","state":"NORMAL"}
{"device":"b","state":"WARNING1"}
{"device":"c","state":"WARNING3"}
{"device":"d","state":"WARNING1","operator":"Liz"}
{"device":"e","state":"BROKEN"}
`)
	address, refused := unsorting(t, d.URL)
	c, err := client.New(client.Options{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := &board{}
	for _, test := range []struct {
		q    client.DeviceQuery
		rows int
		all  bool
		want string
	}{
		{client.DeviceQuery{}, 10, false, "c b d e"},
		{client.DeviceQuery{}, 2, false, "c b"},
		{client.DeviceQuery{}, 10, true, "c b d e a"},
		{client.DeviceQuery{State: "WARNING1,NORMAL"}, 10, true, "b d a"},
		{client.DeviceQuery{State: "WARN*", Operator: "Liz"}, 10, true, "d"},
		{client.DeviceQuery{State: "WARNING2"}, 10, true, ""},
	} {
		if err := b.look(t.Context(), c, test.q, test.rows, test.all); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, device := range b.devices {
			got = append(got, string(device.Device))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%+v: %s", test.q, diff)
		}
	}
	if n := refused.Load(); n != 1 {
		t.Errorf("asked %d times for what can't be served", n)
	}
}
