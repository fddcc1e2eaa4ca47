// Package enginetest starts the engines that Andon's stores are tested with, on a machine without
// them, as child processes of the test binary: Apache Cassandra and Apache Kafka, from Maven
// Central, two imitations of DynamoDB, dynalite and moto, and one of Kinesis, kinesalite.
//
// An engine ends at the latest with the process that started it. If the kernel supports it, this
// also holds for a test binary that is killed. The package must not know Andon: it uses the driver
// of an engine only to see whether the engine answers.
package enginetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// UserCassandra is the environment variable that names a cluster, as host:port. Tests then use it,
// and nothing is started; tests that need a node to kill are skipped.
const UserCassandra = "ANDON_CASSANDRA"

// SharedCassandra is the environment variable that names the node, as host:port, that the test
// binaries of one make test share.
const SharedCassandra = "ANDON_SHARED_CASSANDRA"

// StartEngines is the environment variable that lets tests start engines, as make test does. Unless
// it is set such tests are skipped: what a person runs after each change must end soon.
const StartEngines = "ANDON_ENGINES"

// LongTests is the environment variable that asks for tests of minutes, as make test-long does.
const LongTests = "ANDON_LONG"

// Cassandra returns a node that all tests of a binary share: that of SharedCassandra, where there
// is one, or else the first call starts it, and Main or Engines ends it. Each test makes a keyspace
// of its own there, and must not end the node, which is Forgetful.
//
// Engines are started where StartEngines or CI is set. Where none can be started the test is
// skipped, and fails where CI is set.
func Cassandra(t testing.TB) *Node {
	t.Helper()
	if os.Getenv(UserCassandra) == "" {
		skipUnlessAsked(t)
	}
	e := shared()
	if _, measured := t.(*testing.B); measured {
		e.lasts.Store(true)
	}
	n, err := e.cassandra()
	require(t, err)
	return n
}

// OwnCassandra returns a node that a test may stop, kill and restart. It ends with the test.
func OwnCassandra(t testing.TB, o Options) *Node {
	t.Helper()
	skipIfUsers(t)
	o.Brief = true
	n := asked(t, func() (*Node, error) { return StartCassandra(t.Context(), o) })
	t.Cleanup(n.Discard)
	return n
}

// OwnRing returns a ring of a test's own, of at least 3 nodes, once each sees all others. It ends
// with the test. The test is skipped unless LongTests is set: a ring of three takes half a minute
// to start, and 3 GB.
func OwnRing(t testing.TB, nodes int) *Ring {
	t.Helper()
	skipIfUsers(t)
	if os.Getenv(LongTests) == "" {
		t.Skipf("a ring takes its time: %s=1 or make test-long runs it", LongTests)
	}
	r := &Ring{}
	t.Cleanup(r.discard)
	require(t, r.start(t.Context(), nodes))
	return r
}

// asked returns what a test needs, which is prepared where engines are asked for.
func asked[T any](t testing.TB, prepare func() (T, error)) T {
	t.Helper()
	skipUnlessAsked(t)
	prepared, err := prepare()
	require(t, err)
	return prepared
}

func skipUnlessAsked(t testing.TB) {
	t.Helper()
	if os.Getenv(StartEngines) == "" && os.Getenv("CI") == "" {
		t.Skipf("the test starts an engine: %s=1 or make test runs it", StartEngines)
	}
}

func skipIfUsers(t testing.TB) {
	t.Helper()
	if addr := os.Getenv(UserCassandra); addr != "" {
		t.Skipf("%s is %s, and the test needs a node that it may kill", UserCassandra, addr)
	}
}

func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("CI is set, so no engine is a failure: %v", err)
	default:
		t.Skipf("no engine: %v", err)
	}
}

// Main runs the tests of a binary, and ends the engines that they share:
//
//	func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }
func Main(m *testing.M) int { return Engines{m}.Run() }

// Engines runs tests and ends the shared engines, for what wants to run the tests itself:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.Engines{M: m}) }
type Engines struct{ M interface{ Run() int } }

// Run runs the tests, ends the engines, and returns the exit code.
func (e Engines) Run() int {
	defer shared().discard()
	return e.M.Run()
}

// engines are started when they are asked for.
type engines struct {
	cassandra    func() (*Node, error)
	dynamo, moto func() (*Service, error)
	kafka        func() (*Broker, error)
	lasts        atomic.Bool // what runs is a benchmark, so the node of Cassandra is not brief

	mu   sync.Mutex
	ends []func() // of those that were started
}

// shared are the engines of this process. There is one for each test binary and not for each test:
// starting a node takes longer than most tests.
var shared = sync.OnceValue(func() *engines {
	e := &engines{}
	e.cassandra = once(e, e.sharedCassandra, (*Node).Discard)
	e.dynamo = once(e, findDynamo, (*Service).Kill)
	e.moto = once(e, startMoto, (*Service).Kill)
	e.kafka = once(e, newBroker, (*Broker).Discard)
	return e
})

// once starts an engine at the first call, and has it ended with the others.
func once[E any](e *engines, start func() (E, error), end func(E)) func() (E, error) {
	return sync.OnceValues(func() (E, error) {
		engine, err := start()
		if err == nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ends = append(e.ends, func() { end(engine) })
		}
		return engine, err
	})
}

func (e *engines) discard() {
	for _, end := range e.ends {
		end()
	}
}

func (e *engines) sharedCassandra() (*Node, error) {
	for _, name := range []string{UserCassandra, SharedCassandra} {
		if addr := os.Getenv(name); addr != "" {
			return runningNode(name, addr)
		}
	}
	brief := !e.lasts.Load()
	return StartCassandra(context.Background(), Options{Forgetful: brief, Brief: brief})
}

// runningNode is a node that somebody else runs, as an environment variable says: it can't be
// stopped or looked into.
func runningNode(name, addr string) (*Node, error) {
	// It runs already, and what else runs on the machine may keep it from answering.
	ctx, cancel := context.WithTimeout(context.Background(), longestSilence)
	defer cancel()
	n := &Node{address: addr}
	if err := eventually(ctx, n.probe); err != nil {
		return nil, fmt.Errorf("reach the cluster of %s: %w", name, err)
	}
	return n, nil
}
