package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/storecheck"
	"github.com/andonhq/andon/storetest"
)

// TestSerialStore runs the checks of every store, and those that depend on shards once more where
// devices and the keys of indexes have several.
func TestSerialStore(t *testing.T) {
	t.Run("shards 1", func(t *testing.T) { runChecks(t, "1", storecheck.Checks()) })
	t.Run("shards 4", func(t *testing.T) {
		checks := slices.DeleteFunc(dependsOnShards(t), takesLong)
		runChecks(t, "4", checks)
	})
}

// runChecks runs checks, several at once, each in a tenant of its own.
func runChecks(t *testing.T, shards string, checks []storecheck.Check) {
	o := newTables(t)
	o.Shards = shards
	var s andon.Store = open(t, o)
	if shards != "1" {
		s = divided{s.(*Store)}
	}
	for part := range sideBySide {
		t.Run("part "+strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			var some []storecheck.Check
			for i := part; i < len(checks); i += sideBySide {
				some = append(some, checks[i])
			}
			storetest.RunSome(t, func(t *testing.T) andon.Store { return s }, some)
		})
	}
}

// TestSideBySide runs those of the checks that call a store from several goroutines at once.
func TestSideBySide(t *testing.T) {
	storetest.RunConcurrent(t, func(t *testing.T) andon.Store { return open(t, newTables(t)) })
}

// sideBySide is how many checks are under way at once: each is in a tenant of its own.
const sideBySide = 24

// takesLong are two checks that go through all orders of a few entries, and one that lists 60
// devices, each in a state of its own, 500 times.
func takesLong(c storecheck.Check) bool {
	return c.Section == "limits" ||
		strings.HasPrefix(c.Name, "since survives states in between") ||
		strings.HasPrefix(c.Name, "every order of A, B, late C")
}

// TestSerialHistories compares with the reference. All histories are in the same tables, so that a
// tenant meets what is left of its former incarnations. Each opening asks for another number of
// shards, and the keys of indexes are divided.
func TestSerialHistories(t *testing.T) {
	o := newTables(t)
	openings := 0
	next := func() divided {
		o.Shards = strconv.Itoa(1 << (openings % 4))
		openings++
		return divided{begin(t, o)}
	}
	s := next()
	defer func() { end(t, s.Store) }()
	t.Logf("store: %+v", s.Capabilities())
	asks := 3
	if os.Getenv(enginetest.LongTests) != "" {
		asks = 1
	}
	storetest.Histories(t, func(*testing.T) andon.Store { return s }, storetest.Options{
		Rounds: 4,
		Steps:  48,
		Asks:   asks,
		Reopen: func(andon.Store) andon.Store {
			end(t, s.Store)
			s = next()
			return s
		},
	})
}

func realClock() andon.Time { return andon.TimeOf(time.Now()) }

// newTables makes tables of the test's own, which go with it. They keep readings for ever, as the
// checks want it.
func newTables(t testing.TB) Options {
	t.Helper()
	service := enginetest.DynamoDB(t)
	t.Log("engine: " + service.About)
	o := defaults()
	o.Now, o.Endpoint = realClock, service.URL
	o.Prefix = fmt.Sprintf("test_%08x_", rand.Uint32())
	o.Timeout = time.Minute // a machine that is held up is no failure
	o.ReadingsRetention = andon.Forever
	if service.URL != "" {
		o.Key, o.Secret = "any", "any"
	}
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return o
}

// open opens a store that is closed with the test.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s := begin(t, o)
	t.Cleanup(sync.OnceFunc(func() { end(t, s) }))
	return s
}

func begin(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func end(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
