package cassandrastore

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// TestSerialFigures: a store reports what its nodes say, and each metric and label that the alerts
// ask for.
func TestSerialFigures(t *testing.T) {
	s := open(t, sharedKeyspace(t, "state"))
	err := s.Append(t.Context(), ownTenant(t, s), s.options.Now(), []andon.Event{
		{Device: "d", Time: s.options.Now(), State: "WARNING1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const two = cql.Consistency(2) // of one replica
	err = s.db.ExecAt(t.Context(), two, "SELECT * FROM settings WHERE name = 'andon'")
	if err == nil {
		t.Fatal("one node has answered for two replicas")
	}
	values, labels := map[string]float64{}, map[string]bool{}
	s.Figures(func(name, help string, value float64, pairs ...string) {
		values["andon_cassandra_"+name+" "+strings.Join(pairs, " ")] = value
		values["andon_cassandra_"+name] = value
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = true
		}
		if help == "" {
			t.Errorf("%s has no help", name)
		}
	})
	for figure, want := range map[string]float64{
		"andon_cassandra_attempts_failed_total reason unavailable":  1,
		"andon_cassandra_attempts_failed_total reason read_timeout": 0,
		"andon_cassandra_node_answers":                              1,
	} {
		if got, reported := values[figure]; !reported || got != want {
			t.Errorf("%s is %v (reported: %t), want %v", figure, got, reported, want)
		}
	}
	rules, err := os.ReadFile("../../../deploy/prometheus/andon.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`\bandon_cassandra_\w+`).FindAllString(string(rules), -1)
	for _, name := range asked {
		if _, reported := values[name]; !reported {
			t.Errorf("the rules ask for %s", name)
		}
	}
	for _, label := range []string{"node", "table", "pool", "reason"} {
		if !labels[label] {
			t.Errorf("no figure has the label %s", label)
		}
	}
	if len(asked) < 5 {
		t.Errorf("the rules ask for %q alone", asked)
	}
}
