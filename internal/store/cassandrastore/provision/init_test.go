package provision

import (
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// TestInitOfflineDry prints what a keyspace will be made with where there is no cluster yet.
func TestInitOfflineDry(t *testing.T) {
	for _, test := range []struct{ replication, want string }{
		{"", "'datacenter1': 3"}, {"1", "'datacenter1': 1"},
		{"west:3,east:2", "'east': 2, 'west': 3"},
	} {
		var reported []string
		o := Options{Options: cql.Defaults(), Latest: "sai"}
		o.Hosts = []string{"127.0.0.1:1"}
		setup := Setup{DryRun: true, Replication: test.replication}
		err := Init(t.Context(), o, setup, func(s string) { reported = append(reported, s) })
		text := strings.Join(reported, ";\n")
		if err != nil || !strings.Contains(text, test.want) {
			t.Errorf("replication %q: %v in\n%s", test.replication, err, text)
		}
		for _, table := range Tables() {
			if !strings.Contains(text, "andon."+table.Name+" (") {
				t.Errorf("replication %q: no %s in\n%s", test.replication, table.Name, text)
			}
		}
		for _, want := range []string{"no node of Cassandra answers", "latest_by_tenant_sai_key",
			"INSERT INTO andon.settings"} {
			if !strings.Contains(text, want) {
				t.Errorf("replication %q: no %q in\n%s", test.replication, want, text)
			}
		}
	}
	o := Options{Options: cql.Defaults()}
	o.Hosts = []string{"127.0.0.1:1"}
	err := Init(t.Context(), o, Setup{DryRun: true, Replication: "x"}, func(string) {})
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), `replication "x"`) {
		t.Errorf("replication x: %v", err)
	}
	err = Init(t.Context(), o, Setup{}, func(string) {})
	if andon.KindOf(err) != andon.Unavailable {
		t.Errorf("without a cluster: %v", err)
	}
}
