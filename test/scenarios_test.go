package test

import (
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/httpconn"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/storecheck"
)

// refusedOverHTTP are the checks of what admission refuses and a store takes.
var refusedOverHTTP = []string{
	"2.10 what a device shows can be restored when its entries have expired",
	"2.10 and of what it had nothing comes back",
}

// TestSerialScenariosOverHTTP asks a server every check that a client can ask: what the stores must
// do, the server must do, too. The clock of the server is that of the check.
func TestSerialScenariosOverHTTP(t *testing.T) {
	scenariosOverHTTP(t, 180, func(storecheck.Check) bool { return true })
}

// TestConcurrentOverHTTP asks it those that send several requests at once.
func TestConcurrentOverHTTP(t *testing.T) {
	scenariosOverHTTP(t, 1, func(c storecheck.Check) bool { return c.Concurrent })
}

// scenariosOverHTTP asks some of the checks, of which at least so many have to pass.
func scenariosOverHTTP(t *testing.T, least int, asks func(storecheck.Check) bool) {
	t.Helper()
	for _, engine := range all.New() {
		if engine.Place() == adapter.Elsewhere {
			continue
		}
		t.Run(engine.Name(), func(t *testing.T) {
			store, err := engine.Open(t.Context(), adapter.Env{
				Owner: t.Name(), Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			passed := 0
			for _, c := range storecheck.Checks() {
				if !c.Server || !asks(c) {
					continue
				}
				t.Run(c.String(), func(t *testing.T) {
					r := askedOverHTTP(t, store, c)
					switch refused := slices.Contains(refusedOverHTTP, c.String()); {
					case refused && r.Err == nil:
						t.Error("the check passes now: it need not be left out")
					case refused:
						t.Skip(r.Err)
					case r.Err != nil:
						t.Error(r.Err)
					case r.NotAsked == "":
						passed++
					default:
						t.Log("not all of it was asked: " + r.NotAsked)
					}
				})
			}
			if passed < least {
				t.Errorf("%d checks passed", passed)
			}
		})
	}
}

// askedOverHTTP runs a check on a server on the store.
func askedOverHTTP(t *testing.T, store andon.Store, c storecheck.Check) storecheck.Result {
	env := storecheck.NewEnv(store)
	api := httpapi.New(httpapi.Options{Store: env.Store, Intake: env.Intake, Now: env.Now})
	server := httpconn.New(&http.Server{Handler: api}, api, httpapi.Unreadable)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	asking, err := client.New(client.Options{URL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	env.System = overHTTP{client: asking, now: env.Now, store: env.System}
	return c.RunIn(t.Context(), env)
}
