package storecheck

import (
	"context"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

// TestClocks: which scenarios can be run by a clock that runs by itself.
func TestClocks(t *testing.T) {
	const settable, still = "it needs a clock that can be set", "it needs a clock that does not run"
	for _, c := range []struct{ text, want string }{
		{"at 5m d1 A\nexpect since d1 5m", ""},
		{"now 6m\nat 5m d1 A\nretire d1", ""},
		{"now 6m\nat 5m d1 A\nretire d1\nat 6m1us d1 A", still},
		{"now 6m\nat 5m d1 A\nat 7m d1 A", ""},
		{"now 6m\nretire d1\nnow 9m\nat 5m d1 A\nexpect retired: d1/A@5m-6m", ""},
		{"now 6m\nescalate d1 A@5m B\nnow 7m\nescalate d1 A@5m -\n" +
			"expect records d1 A@5m: -@7m B@6m", ""},
		{"now 6m\nretire d1\nnow 9m\nat 7m d1 A", still},
		{"now 6m\nescalate d1 A@5m B\nnow 7m\nexpect records d1 A@5m: B@7m1us", still},
		{"now 1m\nat 1m d1 A\nnow 16m1us\nexpect counts: A=1/1", settable},
		{"now 5m\nassign d1 Liz\nnow 4m\nassign d1 -", settable},
		{"retention events 30s\nat 5m d1 A\nexpect log d1: A@5m", ""},
	} {
		s, err := parseScenario(c.text, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if not, ok := s.times.settable().(NotAsked); ok {
			got = not.Why
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// running is a store as a server whose clock runs.
type running struct{ local }

func (r running) Now(context.Context) (andon.Time, error) { return r.now(), nil }

func (r running) Assign(
	ctx context.Context, id andon.TenantID, _ andon.Time, all []andon.Assignment,
) ([]andon.Assignment, error) {
	return r.local.Assign(ctx, id, r.now(), all)
}

// TestTimesOfAServer: what a server says of its clock is shown as the time that the scenario set.
func TestTimesOfAServer(t *testing.T) {
	now := andon.TimeOf(time.Now())
	clock := func() andon.Time { now += 1000; return now }
	store := memstore.New()
	server := running{local: local{Whole: Whole{store}, store: store, now: clock}}
	check := checksOf("", `check 2.6 times
		now 6m
		assign d1 Liz
		now 7m
		assign d1 Tom
		expect assignments d1: Tom@7m.. Liz@6m..7m
		at 9m d1 A
		assign d1 -
		expect assignments d1: -@9m1us.. Tom@7m..9m1us Liz@6m..7m
`)
	var results []Result
	report := func(r Result) { results = append(results, r) }
	err := Ask(t.Context(), server, check, Asking{}, report)
	if err != nil || len(results) != 1 || results[0].Err != nil || results[0].NotAsked != "" {
		t.Errorf("got %+v, %v", results, err)
	}
	if left, err := server.Tenants(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
