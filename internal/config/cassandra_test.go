package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/config"
)

func TestCassandraCanBeSet(t *testing.T) {
	c, err := config.Load(config.Sources{
		File: "testdata/yesterday/0005-cassandra.yaml",
		Env:  []string{"ANDON_CASSANDRA_PASSWORD=hunter2", "ANDON_CASSANDRA_READ_CONSISTENCY="},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Cassandra{
		Hosts: []string{"10.0.0.1", "cassandra-2:9043"}, Keyspace: "fleet", Datacenter: "dc1",
		Replication: "dc1:3", Consistency: "QUORUM", WriteConsistency: "EACH_QUORUM",
		User: "andon", Password: "hunter2",
		TLS: "on", TLSCA: "ca.pem", TLSCert: "cert.pem", TLSKey: "key.pem", TLSSkipName: "on",
		Timeout: 5 * time.Second, Speculate: 50 * time.Millisecond, Connections: 4, InFlight: 64,
		Latest: "buckets", Buckets: "16", Recount: time.Minute, Settle: 20 * time.Second,
	}
	if diff := cmp.Diff(want, c.Cassandra); diff != "" {
		t.Error(diff)
	}
}

// TestListsInOneLine: what YAML has as a list, variables and flags have joined by commas.
func TestListsInOneLine(t *testing.T) {
	for _, from := range []config.Sources{
		{Env: []string{"ANDON_CASSANDRA_HOSTS=10.0.0.1, cassandra-2:9043"}},
		{Flags: map[string]string{"cassandra.hosts": "10.0.0.1,cassandra-2:9043"}},
	} {
		c, err := config.Load(from)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"10.0.0.1", "cassandra-2:9043"}
		if diff := cmp.Diff(want, c.Cassandra.Hosts); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSecretsAreNotShown: neither by Trace nor, once they are set, by the settings themselves.
func TestSecretsAreNotShown(t *testing.T) {
	c, origins, err := config.Trace(config.Sources{
		Env: []string{"ANDON_CASSANDRA_PASSWORD=hunter2"},
	})
	if err != nil || c.Cassandra.Password != "hunter2" {
		t.Fatalf("%q, %v", c.Cassandra.Password, err)
	}
	for _, o := range origins {
		secret := o.Key == "cassandra.password"
		if o.Secret != secret || secret && o.Value.String() != config.Hidden {
			t.Errorf("%s is %q, secret: %v", o.Key, o.Value, o.Secret)
		}
	}
	for _, s := range c.Settings() {
		if s.HasFlag() == (s.Key == "cassandra.password") {
			t.Errorf("%s has a flag: %v", s.Key, s.HasFlag())
		}
		if s.Value.String() == "hunter2" {
			t.Errorf("%s shows a secret", s.Key)
		}
	}
}
