package enginetest

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

func TestSerialSharedNode(t *testing.T) {
	n := Cassandra(t)
	if again := Cassandra(t); again != n {
		t.Errorf("a second call returned another node, on %s", again.Addr())
	}
	if err := n.probe(t.Context()); err != nil {
		t.Errorf("the node does not answer: %v", err)
	}
}

// TestSerialNodeEnds: a node keeps what it acknowledged when it is killed, and its address when it
// is started again. No other one runs in its directory meanwhile. It asks for certificates and for
// a password before and after.
func TestSerialNodeEnds(t *testing.T) {
	dir := t.TempDir()
	n := OwnCassandra(t, Options{Dir: dir, Secured: true})
	checkSecured(t, n)
	mustQuery(t, n, "CREATE KEYSPACE k WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 1}")
	mustQuery(t, n, "CREATE TABLE k.t (id int PRIMARY KEY, word text)")
	mustQuery(t, n, "INSERT INTO k.t (id, word) VALUES (1, 'acknowledged')")
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if c, err := net.DialTimeout("tcp", n.Addr(), time.Second); err == nil {
		c.Close()
		t.Error("a node that was killed takes connections")
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := mustQuery(t, n, "SELECT word FROM k.t")
	if !strings.Contains(answer, "acknowledged") {
		t.Errorf("after kill -9 the row is not there: %q", answer)
	}
	checkSecured(t, n)
	_, err := StartCassandra(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "a node runs in") {
		t.Errorf("a second node in one directory: %v", err)
	}
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
}

// checkSecured: a node that asks for certificates and for a password answers a client that has
// them, and no other.
func checkSecured(t *testing.T, n *Node) {
	t.Helper()
	if answer := mustQuery(t, n, "LIST ROLES"); !strings.Contains(answer, User) {
		t.Errorf("the roles are %q", answer)
	}
	second := &Node{address: n.Addr(), options: n.options}
	if err := second.probe(t.Context()); err == nil {
		t.Error("the node answers without TLS")
	}
	config, err := n.TLS()
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates, config.ServerName = nil, "127.0.0.1"
	c, err := tls.Dial("tcp", n.Addr(), config)
	if err == nil { // with TLS 1.3 the node looks at certificates later
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the node talks without a certificate: %v", err)
	}
}

func mustQuery(t *testing.T, n *Node, cql string) string {
	t.Helper()
	answer, err := n.query(t.Context(), cql, gocql.One)
	if err != nil {
		t.Fatalf("%s: %v", cql, err)
	}
	return answer
}

// TestSerialNodeCantStart: the error says why, from the node's own log.
func TestSerialNodeCantStart(t *testing.T) {
	skipIfUsers(t)
	Cassandra(t) // or there is no engine at all
	n, err := StartCassandra(t.Context(), Options{Dir: t.TempDir(), Heap: "never"})
	if err == nil {
		n.Discard()
	}
	if err == nil || !strings.Contains(err.Error(), "Invalid maximum heap size") {
		t.Errorf("a node with a wrong setting started: %v", err)
	}
}

func TestSerialNodeOfTheUser(t *testing.T) {
	n, err := runningNode(UserCassandra, Cassandra(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	n.Discard()
	if err := n.probe(t.Context()); err != nil {
		t.Errorf("the node of the user is gone: %v", err)
	}
}
