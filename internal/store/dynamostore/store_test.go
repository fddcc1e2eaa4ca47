package dynamostore

import (
	"fmt"
	"math/rand/v2"
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

// TestSerialStore runs the checks of every store, with one partition a device and with several.
func TestSerialStore(t *testing.T) {
	for _, shards := range []string{"1", "4"} {
		t.Run("shards "+shards, func(t *testing.T) {
			o := newTables(t)
			o.Shards = shards
			s := open(t, o)
			for part := range sideBySide {
				t.Run("part "+strconv.Itoa(part), func(t *testing.T) {
					t.Parallel()
					var checks []storecheck.Check
					for i, c := range storecheck.Checks() {
						if i%sideBySide == part && (shards == "1" || dependsOnShards(c)) {
							checks = append(checks, c)
						}
					}
					storetest.RunSome(t, func(t *testing.T) andon.Store { return s }, checks)
				})
			}
		})
	}
}

// TestSideBySide runs those of the checks that call a store from several goroutines at once.
func TestSideBySide(t *testing.T) {
	storetest.RunConcurrent(t, func(t *testing.T) andon.Store { return open(t, newTables(t)) })
}

// sideBySide is how many checks are under way at once: each is in a tenant of its own.
const sideBySide = 24

// dependsOnShards leaves out what asks for no entries or readings, and two checks that take half of
// the time.
func dependsOnShards(c storecheck.Check) bool {
	sections := []string{"2.1", "2.2", "2.4", "2.5", "2.10", "2.12", "2.13", "3"}
	return !takesLong(c) && slices.Contains(sections, c.Section)
}

// takesLong are two checks that go through all orders of a few entries.
func takesLong(c storecheck.Check) bool {
	return strings.HasPrefix(c.Name, "since survives states in between") ||
		strings.HasPrefix(c.Name, "every order of A, B, late C")
}

// TestSerialHistories compares with the reference. All histories are in the same tables, so that a
// tenant meets what is left of its former incarnations. Each opening asks for another number of
// shards.
func TestSerialHistories(t *testing.T) {
	o := newTables(t)
	openings := 0
	next := func() *Store {
		o.Shards = strconv.Itoa(1 << (openings % 4))
		openings++
		return begin(t, o)
	}
	s := next()
	defer func() { end(t, s) }()
	t.Logf("store: %+v", s.Capabilities())
	storetest.Histories(t, func(*testing.T) andon.Store { return s }, storetest.Options{
		Rounds: 4,
		Steps:  48,
		Reopen: func(andon.Store) andon.Store {
			end(t, s)
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
	o.ReadingsRetention, o.purgeAfter = andon.Forever, time.Hour
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
