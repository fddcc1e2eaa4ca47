package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// testServer is a server in this process, on the memory store. Its clock does not run.
type testServer struct {
	testing.TB
	URL string
	Now atomic.Int64

	mu     sync.Mutex
	before func(*http.Request) // called before each request; may be nil
}

// newTestServer starts a server that ends with the test.
func newTestServer(t testing.TB) *testServer {
	now, err := andon.ParseTime("2020-04-24T15:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{TB: t}
	s.Now.Store(int64(now))
	memory := memstore.New()
	store := wrap.Retain(memory, s.Clock)
	api := httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: s.Clock}), Now: s.Clock,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.beforeEach(r)
		api.ServeHTTP(w, r)
	}))
	s.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Clock returns the time of the server.
func (s *testServer) Clock() andon.Time { return andon.Time(s.Now.Load()) }

func (s *testServer) beforeEach(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		s.before(r)
	}
}

// OnRequest makes the server call a function before each request from now on.
func (s *testServer) OnRequest(before func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// Client returns a client of a tenant.
func (s *testServer) Client(tenant andon.TenantID) *client.Client {
	c, err := client.New(client.Options{URL: s.URL, Tenant: tenant})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// Sends posts NDJSON to a path of the API.
func (s *testServer) Sends(path, body string) {
	s.Helper()
	answer, err := http.Post(s.URL+"/api/v1"+path, "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		s.Fatal(answer.Status)
	}
}
