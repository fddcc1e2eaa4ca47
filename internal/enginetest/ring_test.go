package enginetest

import (
	"context"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// TestSerialRing: a ring serves while one of its nodes is dead, and is whole again after that is
// started.
func TestSerialRing(t *testing.T) {
	r := OwnRing(t, 3)
	first := r.Nodes[0]
	mustQuery(t, first, "CREATE KEYSPACE k WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 3}")
	mustQuery(t, first, "CREATE TABLE k.t (id int PRIMARY KEY, word text)")
	// A driver would wait for the table to be known to all nodes.
	if err := eventually(t.Context(), func(ctx context.Context) error {
		_, err := first.query(ctx, "SELECT word FROM k.t", gocql.All)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	const insert = "INSERT INTO k.t (id, word) VALUES (1, 'by two of three')"
	if _, err := first.query(t.Context(), insert, gocql.Quorum); err != nil {
		t.Errorf("write to two of three nodes: %v", err)
	}
	if err := r.Nodes[1].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.AwaitWhole(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := r.Nodes[2]
	answer, err := last.query(t.Context(), "SELECT word FROM k.t", gocql.All)
	if err != nil || !strings.Contains(answer, "by two of three") {
		t.Errorf("all three nodes say %q, %v", answer, err)
	}
}
