package cassandrastore

import (
	"context"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

// tablesOf returns the names of a keyspace's tables and views.
func tablesOf(ctx context.Context, s *gocql.Session, keyspace string) (map[string]bool, error) {
	there := map[string]bool{}
	for _, text := range []string{
		"SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
		"SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
	} {
		var name string
		it := s.Query(text, keyspace).Consistency(gocql.LocalOne).IterContext(ctx)
		for it.Scan(&name) {
			there[name] = true
		}
		if err := it.Close(); err != nil {
			return nil, failure("look at the tables", err)
		}
	}
	return there, nil
}

// holdsRows reports that it is a table or a view: not a type or an index.
func (t table) holdsRows() bool {
	return strings.HasPrefix(t.cql, "(") || strings.HasPrefix(t.cql, "MATERIALIZED VIEW")
}

// whole reports which tables of a keyspace are missing, somebody having dropped them.
func (w *working) whole(ctx context.Context, s *gocql.Session, keyspace string) error {
	there, err := tablesOf(ctx, s, keyspace)
	if err != nil {
		return err
	}
	all := tables()
	for _, d := range w.writes {
		all = append(all, d.tables()...)
	}
	var gone []string
	for _, t := range all {
		if t.holdsRows() && !there[t.name] && !slices.Contains(gone, t.name) {
			gone = append(gone, t.name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return andon.Errorf(andon.Unavailable, "keyspace %s lacks %s: run `andon store init`",
		keyspace, strings.Join(gone, ", "))
}

// isMissing reports whether a keyspace, a table or a column is not there.
func isMissing(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unconfigured table") ||
		strings.Contains(text, "does not exist") || strings.Contains(text, "Undefined column")
}
