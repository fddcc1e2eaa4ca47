package cassandrastore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

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
			t.Errorf("asked %d times whether the nodes agree", agreed)
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

// TestInitOfflineDry prints what a keyspace will be made with where there is no cluster yet.
func TestInitOfflineDry(t *testing.T) {
	for _, test := range []struct{ replication, want string }{
		{"", "'datacenter1': 3"}, {"1", "'datacenter1': 1"},
		{"west:3,east:2", "'east': 2, 'west': 3"},
	} {
		var told []string
		o := Options{Now: realClock, Hosts: []string{"127.0.0.1:1"}, Latest: "sai"}
		setup := Setup{DryRun: true, Replication: test.replication}
		err := Init(t.Context(), o, setup, func(s string) { told = append(told, s) })
		text := strings.Join(told, ";\n")
		if err != nil || !strings.Contains(text, test.want) {
			t.Errorf("replication %q: %v in\n%s", test.replication, err, text)
		}
		for _, table := range tables() {
			if !strings.Contains(text, "andon."+table.name+" (") {
				t.Errorf("replication %q: no %s in\n%s", test.replication, table.name, text)
			}
		}
		for _, want := range []string{"no node of Cassandra answers", "latest_by_tenant_sai_key",
			"INSERT INTO andon.settings"} {
			if !strings.Contains(text, want) {
				t.Errorf("replication %q: no %q in\n%s", test.replication, want, text)
			}
		}
	}
	o := Options{Now: realClock, Hosts: []string{"127.0.0.1:1"}}
	err := Init(t.Context(), o, Setup{DryRun: true, Replication: "x"}, func(string) {})
	wantError(t, err, andon.Invalid, `replication "x"`)
	err = Init(t.Context(), o, Setup{}, func(string) {})
	wantError(t, err, andon.Unavailable, "no node of Cassandra answers")
}
