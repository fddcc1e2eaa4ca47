package cassandrastore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/storecheck"
	"github.com/andonhq/andon/storetest"
)

// TestMain sees that nothing of a closed store goes on.
func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.Engines{M: dropping{m}}) }

// dropping runs the tests, and drops the keyspaces that they shared before the engine ends.
type dropping struct{ *testing.M }

func (d dropping) Run() int {
	defer dropShared()
	return d.M.Run()
}

// keyspaces are those, by design, of tests that do not mind each other's devices and tenants.
// Making one, and dropping it, takes an engine longer than most tests.
var keyspaces sync.Map // of string to *sharedOptions

// sharedOptions are those of a keyspace, once it is made.
type sharedOptions struct {
	sync.Mutex
	Options
}

// sharedKeyspace returns the keyspace of a design that tests share. Those that share it at the same
// time have tenants of their own.
func sharedKeyspace(t *testing.T, design string) Options {
	t.Helper()
	n := enginetest.Cassandra(t)
	of, _ := keyspaces.LoadOrStore(design, &sharedOptions{})
	shared := of.(*sharedOptions)
	shared.Lock()
	defer shared.Unlock()
	if shared.Keyspace == "" {
		o := on(n, design)
		// A purge waits for it. An append that takes half of it is given up, and one that took all
		// of it would be merged in the wrong order, so it is long for a machine that is held up.
		o.Settle = 30 * time.Second
		makeSchema(t, o, provision.Setup{ReadingsRetention: new(andon.Forever)})
		shared.Options = o
	}
	return shared.Options
}

func dropShared() {
	for _, of := range keyspaces.Range {
		o := of.(*sharedOptions).Options
		if o.Keyspace == "" {
			continue // it could not be made
		}
		if err := dropKeyspace(o); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// ownTenant makes a tenant of a test's own, for one that shares its keyspace.
func ownTenant(t *testing.T, s *Store) andon.TenantID {
	t.Helper()
	id := andon.TenantID(fmt.Sprintf("own-%08x", rand.Uint32()))
	if _, err := s.PutTenant(t.Context(), andon.NewTenant(id)); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSerialStore runs the checks of every store: all of them under one design, and under the
// others those whose answers a design gives. ANDON_LONG=1 runs all of them under all.
func TestSerialStore(t *testing.T) {
	all := storecheck.Checks()
	found := listing(t, all)
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			o := sharedKeyspace(t, design)
			checks := found
			if design == "buckets" || os.Getenv(enginetest.LongTests) != "" {
				checks = all
			}
			s := open(t, o)
			for part := range sideBySide {
				t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
					t.Parallel()
					var some []storecheck.Check
					for i := part; i < len(checks); i += sideBySide {
						some = append(some, checks[i])
					}
					storetest.RunSome(t, func(t *testing.T) andon.Store { return s }, some)
				})
			}
		})
	}
}

// sideBySide is how many checks of a design are under way at once, each in a tenant of its own. One
// alone has the engine wait for it, and look for work meanwhile.
const sideBySide = 4

// TestConcurrentChecks runs those of the checks that call a store from several goroutines at once.
func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	o := sharedKeyspace(t, "buckets")
	storetest.RunConcurrent(t, func(t *testing.T) andon.Store { return open(t, o) })
}

// racedDesign is the one in which tests write from several processes with the race detector: what
// processes share in memory does not depend on the design.
const racedDesign = "buckets"

// writtenDesigns are those in which they do so without it: one of each other way to write.
// ANDON_LONG=1 takes all.
func writtenDesigns() []string {
	if os.Getenv(enginetest.LongTests) != "" {
		return designs.Names()
	}
	return []string{"view", "state"}
}

// TestSerialHistories compares each design with the reference. All histories of a design are in one
// keyspace, so that a tenant meets what is left of its former incarnations.
func TestSerialHistories(t *testing.T) {
	for _, design := range designs.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			o := sharedKeyspace(t, design)
			s := begin(t, o)
			defer func() { end(t, s) }()
			t.Logf("store: %+v", s.Capabilities())
			steps, asks := 40, 3
			if design == "buckets" {
				steps = 60
			}
			if os.Getenv(enginetest.LongTests) != "" {
				steps, asks = 60, 1
			}
			storetest.Histories(t,
				func(*testing.T) andon.Store { return s },
				storetest.Options{
					Rounds: 1, // make test-long runs many
					Steps:  steps,
					Asks:   asks,
					Reopen: func(andon.Store) andon.Store {
						end(t, s)
						s = begin(t, o)
						return s
					},
				})
		})
	}
}

func realClock() andon.Time { return andon.TimeOf(time.Now()) }

// engine returns the options for a keyspace of the test's own on the shared engine, which goes with
// the test. Nothing is made yet.
func engine(t testing.TB, design string) Options {
	t.Helper()
	o := on(enginetest.Cassandra(t), design)
	t.Cleanup(func() { drop(t, o) })
	return o
}

// on returns the options for a keyspace on a node.
func on(n *enginetest.Node, design string) Options {
	o := defaults()
	o.pace = quickPace
	o.Now = realClock
	o.Hosts, o.Latest = []string{n.Addr()}, design
	o.Timeout = time.Minute // a machine that is held up is no failure
	o.Keyspace = fmt.Sprintf("test_%s_%08x", strings.ReplaceAll(design, "-", "_"), rand.Uint32())
	return o
}

// quickPace lets no one wait for long, and beats no faster: many stores are open at once.
var quickPace = merge.Pace{
	Beat: 500 * time.Millisecond, TrustFor: 1500 * time.Millisecond,
	MemberFor: time.Minute, GoneAfter: 90 * time.Second, // machines that test may be slow
}

// neverAlone lets a store ask the cluster each time, as one of several processes does.
var neverAlone = merge.Pace{
	Beat: time.Second, TrustFor: 1, MemberFor: 15 * time.Second, GoneAfter: 30 * time.Second,
}

func drop(t testing.TB, o Options) {
	if err := dropKeyspace(o); err != nil {
		t.Log(err)
	}
}

func dropKeyspace(o Options) error {
	c, err := cql.Reach(context.Background(), o.Options.Options)
	if err != nil {
		return fmt.Errorf("drop keyspace %s: %w", o.Keyspace, err)
	}
	defer c.Close()
	err = c.ExecAt(context.Background(), cql.Quorum, "DROP KEYSPACE IF EXISTS "+o.Keyspace)
	if err != nil {
		return fmt.Errorf("drop keyspace %s: %w", o.Keyspace, err)
	}
	return nil
}

// newKeyspace makes a keyspace that keeps readings for ever, as the checks want it.
func newKeyspace(t testing.TB, design string) Options {
	t.Helper()
	return newSettling(t, design, 0)
}

// newSettling makes one in which devices are reviewed after so long.
func newSettling(t testing.TB, design string, settle time.Duration) Options {
	t.Helper()
	o := engine(t, design)
	o.Settle = settle
	makeSchema(t, o, provision.Setup{ReadingsRetention: new(andon.Forever)})
	return o
}

// makeSchema makes the schema and returns the statements.
func makeSchema(t testing.TB, o Options, setup provision.Setup) string {
	t.Helper()
	var printed strings.Builder
	err := provision.Init(t.Context(), o.Options, setup, func(statement string) {
		printed.WriteString(statement + ";\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	return printed.String()
}

// open opens a store that is closed with the test.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s := begin(t, o)
	closed := sync.OnceFunc(func() { end(t, s) })
	t.Cleanup(closed)
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

// run runs one statement on the keyspace of a store, as somebody with cqlsh would.
func run(t testing.TB, s *Store, text string, args ...any) {
	t.Helper()
	err := s.db.ExecAt(t.Context(), cql.Quorum, text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// scan returns the rows of one column.
func scan[T any](t *testing.T, s *Store, text string, args ...any) (all []T) {
	t.Helper()
	var value T
	err := s.db.EachAt(t.Context(), cql.Quorum, text, args, []any{&value}, func() {
		all = append(all, value)
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

// longest is how long is waited for what has to come, on a machine that may be held up.
const longest = 15 * time.Minute

// eventually waits until a condition holds, and fails with what it says otherwise. It asks ever
// more rarely: what is waited for needs the processor more than the check does.
func eventually(t testing.TB, holds func() error) {
	t.Helper()
	deadline := time.After(longest)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("after %s: %v", longest, err)
		}
	}
}
