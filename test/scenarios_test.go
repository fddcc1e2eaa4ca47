package test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/storecheck"
)

// TestScenariosOverHTTP asks a running server every check that a client can ask: what the stores
// must do, the server must do, too.
func TestScenariosOverHTTP(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *server) {
		c, err := client.New(client.Options{URL: s.url, Tenant: "clock"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		server := overHTTP{client: c, asked: new(atomic.Int64)}
		if err := server.MakeTenant(t.Context(), "clock"); err != nil {
			t.Fatal(err)
		}
		passed := 0
		report := func(r storecheck.Result) {
			switch {
			case r.Err != nil:
				t.Errorf("%s: %v", r.Check, r.Err)
			case r.NotAsked == "":
				passed++
			}
		}
		how := storecheck.Asking{Full: !testing.Short(), Timeout: 10 * time.Second}
		err = storecheck.Ask(t.Context(), server, storecheck.ServerChecks(), how, report)
		if err != nil || passed < 100 {
			t.Errorf("%d checks passed, %v", passed, err)
		}
	})
}
