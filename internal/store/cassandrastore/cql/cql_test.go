package cql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

// TestConsistencies: what can't be met is refused, with what would be needed.
func TestConsistencies(t *testing.T) {
	one, three := map[string]int{"dc1": 1}, map[string]int{"dc1": 3}
	two := map[string]int{"dc1": 3, "dc2": 3}
	for _, test := range []struct {
		nodes map[string]int
		r     Replication
		level string
		need  string // "" where it can be met
	}{
		{one, Replication{"dc1": 1}, "LOCAL_QUORUM", ""},
		{one, Replication{"dc1": 1}, "ALL", ""},
		{one, Replication{"dc1": 1}, "TWO", "needs 2 replicas in the cluster"},
		{one, Replication{"dc1": 3}, "LOCAL_QUORUM", "needs 2 replicas in data centre dc1"},
		{one, Replication{"dc1": 3}, "LOCAL_ONE", ""},
		{three, Replication{"dc1": 3}, "LOCAL_QUORUM", ""},
		{three, Replication{"dc1": 2}, "THREE", "needs 3 replicas in the cluster"},
		{three, Replication{"": 3}, "LOCAL_QUORUM", ""},
		{three, Replication{"": 3}, "ALL", ""},
		{two, Replication{"dc2": 3}, "LOCAL_ONE", "needs 1 replicas in data centre dc1"},
		{two, Replication{"dc2": 3}, "ONE", ""},
		{two, Replication{"dc1": 3, "dc2": 3}, "EACH_QUORUM", ""},
		{two, Replication{"dc1": 3, "dc2": 3}, "ALL", ""},
		{two, Replication{"dc1": 3, "dc2": 4}, "ALL", "needs 7 replicas in the cluster"},
	} {
		c := &Cluster{Datacenter: "dc1", Datacenters: test.nodes}
		err := c.check(test.r, "cassandra.read_consistency", test.level)
		if test.need == "" && err != nil {
			t.Errorf("%v %s: %v", test.r, test.level, err)
		}
		if test.need != "" && (andon.KindOf(err) != andon.Invalid ||
			!strings.Contains(fmt.Sprint(err), test.need)) {
			t.Errorf("%v %s: %v, want %q", test.r, test.level, err, test.need)
		}
	}
}

// TestOverlap: what a write acknowledged is what a read sees only where their replicas meet.
func TestOverlap(t *testing.T) {
	local := Replication{"dc1": 3}
	both := Replication{"dc1": 3, "dc2": 3}
	for _, test := range []struct {
		r           Replication
		read, write string
		want        bool
	}{
		{local, "LOCAL_QUORUM", "LOCAL_QUORUM", true},
		{local, "ONE", "LOCAL_QUORUM", false},
		{local, "ONE", "ALL", true},
		{local, "LOCAL_ONE", "ALL", true},
		{local, "ONE", "ONE", false},
		{Replication{"dc1": 1}, "ONE", "ONE", true},
		{both, "LOCAL_QUORUM", "LOCAL_QUORUM", true},
		{both, "QUORUM", "QUORUM", true},
		{both, "QUORUM", "LOCAL_QUORUM", false},
		{both, "ALL", "ONE", true},
		{both, "LOCAL_QUORUM", "EACH_QUORUM", true},
		{both, "LOCAL_QUORUM", "QUORUM", false}, // all of a write may be of the other data centre
		{both, "LOCAL_ONE", "EACH_QUORUM", false},
	} {
		o := Options{ReadConsistency: test.read, WriteConsistency: test.write}
		if got := o.Overlap(test.r, "dc1"); got != test.want {
			t.Errorf("%v, reads %s, writes %s: %v, want %v",
				test.r, test.read, test.write, got, test.want)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{
		"5.0.9": true, "5.1-alpha": true, "6.0": true, "10.0.0": true,
		"4.1.3": false, "3.11.10": false, "": false, "x": false,
	} {
		err := checkVersion(version)
		if (err == nil) != good {
			t.Errorf("Cassandra %q: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), "needs version 5 or later") {
			t.Errorf("Cassandra %q: %v", version, err)
		}
	}
}

// refusal is an error of the cluster.
type refusal struct {
	code int
	says string
}

func (r refusal) Code() int       { return r.code }
func (r refusal) Message() string { return r.says }
func (r refusal) Error() string   { return r.Message() }

func TestErrorsSayWhatBefell(t *testing.T) {
	refused := func(code int) error { return refusal{code, "what it says"} }
	for _, test := range []struct {
		err  error
		kind andon.Kind
		want string
	}{
		{gocql.ErrNoConnections, andon.Unavailable, "no node of Cassandra can be reached"},
		{gocql.ErrTimeoutNoResponse, andon.Unavailable, "did not answer in time"},
		{gocql.ErrConnectionClosed, andon.Unavailable, "the connection to Cassandra broke"},
		{refused(gocql.ErrCodeUnavailable), andon.Unavailable, "too few replicas are alive"},
		{refused(gocql.ErrCodeOverloaded), andon.Busy, "overloaded"},
		{refused(gocql.ErrCodeBootstrapping), andon.Unavailable, "still starting"},
		{refused(gocql.ErrCodeWriteTimeout), andon.Unavailable, "it may have happened"},
		{refused(gocql.ErrCodeReadTimeout), andon.Unavailable, "answered the read in time"},
		{refused(gocql.ErrCodeReadFailure), andon.Unavailable, "a replica failed"},
		{refused(gocql.ErrCodeUnauthorized), andon.Unavailable, "the user lacks a right"},
		{refusal{gocql.ErrCodeUnauthorized, "User reader has no SELECT permission on <table " +
			"system_views.settings> or any of its parents"}, andon.Unavailable,
			`GRANT SELECT ON KEYSPACE system_views TO "reader")`},
		{refused(gocql.ErrCodeInvalid), andon.Internal, "Cassandra refuses"},
		{errors.New("odd"), andon.Unavailable, "Cassandra can't be asked: odd"},
	} {
		err := Failure("read", test.err)
		if andon.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), "read: ") || !errors.Is(err, test.err) {
			t.Errorf("%v is %s, %q; want %s, %q",
				test.err, andon.KindOf(err), err, test.kind, test.want)
		}
	}
	if Failure("read", nil) != nil {
		t.Error("nothing went wrong, and there is an error")
	}
}

// TestDriverLog: what the driver says comes into Andon's log one level lower.
func TestDriverLog(t *testing.T) {
	var text bytes.Buffer
	log := driverLog{slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	log.Error("Node Down", gocql.NewLogFieldString("host", "10.0.0.1"))
	log.Warning("Slow")
	log.Info("Hidden")
	want := "level=WARN msg=\"cassandra driver: node down\" host=10.0.0.1\n" +
		"level=INFO msg=\"cassandra driver: slow\"\n"
	if text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}

// TestDefineWaits: a change of the schema that no node answers in time is waited for and sent
// again.
func TestDefineWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, agreed := 0, 0
		agree := func(context.Context) error { agreed++; return nil }
		slow := func(n int) func(context.Context) error {
			runs = 0
			return func(context.Context) error {
				if runs++; runs <= n {
					return gocql.ErrTimeoutNoResponse
				}
				return nil
			}
		}
		if err := defineBy(t.Context(), "DROP TABLE t", slow(3), agree); err != nil || runs != 4 {
			t.Errorf("%d attempts at what took three too long: %v", runs, err)
		}
		if agreed != 4 {
			t.Errorf("checked %d times whether the nodes agree", agreed)
		}
		err := defineBy(t.Context(), "DROP TABLE t", slow(1_000), agree)
		wantError(t, err, andon.Unavailable, "DROP TABLE t: Cassandra did not answer in time")
		refused := errors.New("no")
		ctx, cancel := context.WithCancel(t.Context())
		err = defineBy(ctx, "DROP TABLE t", func(context.Context) error {
			cancel()
			return refused
		}, agree)
		if !errors.Is(err, refused) {
			t.Errorf("got %v, want %v", err, refused)
		}
	})
}

func wantError(t *testing.T, err error, kind andon.Kind, word string) {
	t.Helper()
	if andon.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), word) {
		t.Errorf("got %v, want %s with %q", err, kind, word)
	}
}
