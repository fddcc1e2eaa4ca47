package cassandrastore_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore"
	"github.com/andonhq/andon/storetest"
)

func options(t *testing.T, design string) cassandrastore.Options {
	return cassandrastore.Options{
		Hosts: []string{os.Getenv("ANDON_CASSANDRA")}, Keyspace: "conformance_" + design, Latest: design,
		Settle: time.Second,
	}
}

func open(t *testing.T, o cassandrastore.Options) *cassandrastore.Store {
	t.Helper()
	if err := cassandrastore.Init(t.Context(), o, cassandrastore.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s, err := cassandrastore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	for _, design := range cassandrastore.Designs() {
		t.Run(design, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) andon.Store { return open(t, options(t, design)) })
		})
	}
}

func TestHistories(t *testing.T) {
	for _, design := range cassandrastore.Designs() {
		t.Run(design, func(t *testing.T) {
			s := open(t, options(t, design))
			storetest.Histories(t, func(t *testing.T) andon.Store { return s },
				storetest.Options{Rounds: 2})
		})
	}
}

var _ = fmt.Sprint
