package cql

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Table is a table, or a view, an index or a type: what it is for, and its definition after its
// name.
type Table struct {
	Name string
	What string
	CQL  string
}

// NewTable returns a table.
func NewTable(name, what, cql string) Table { return Table{name, what, cql} }

// Create returns the statement that makes a table, a view, an index or a type.
func (t Table) Create(keyspace string, window int) string {
	name := keyspace + "." + t.Name
	if rest, ok := strings.CutPrefix(t.CQL, "MATERIALIZED VIEW AS "); ok {
		rest = strings.Replace(rest, "FROM ", "FROM "+keyspace+".", 1)
		return "CREATE MATERIALIZED VIEW IF NOT EXISTS " + name + " AS " + rest
	}
	if rest, ok := strings.CutPrefix(t.CQL, "TYPE "); ok {
		return "CREATE TYPE IF NOT EXISTS " + name + " " + rest
	}
	if rest, ok := strings.CutPrefix(t.CQL, "INDEX ON "); ok {
		return "CREATE INDEX IF NOT EXISTS " + t.Name + " ON " + keyspace + "." + rest
	}
	cql := strings.Replace(t.CQL, "'compaction_window_size': 1",
		"'compaction_window_size': "+strconv.Itoa(window), 1)
	comment := "comment = '" + strings.ReplaceAll(t.What, "'", "''") + "'"
	if strings.Contains(cql, "WITH CLUSTERING") {
		return "CREATE TABLE IF NOT EXISTS " + name + " " + cql + "\n  AND " + comment
	}
	return "CREATE TABLE IF NOT EXISTS " + name + " " + cql + "\n  WITH " + comment
}

// HoldsRows reports that it is a table or a view: not a type or an index.
func (t Table) HoldsRows() bool {
	return strings.HasPrefix(t.CQL, "(") || strings.HasPrefix(t.CQL, "MATERIALIZED VIEW")
}

// Tables returns which of a keyspace's names are a "TABLE" and which a "MATERIALIZED VIEW".
func (s *Session) Tables(ctx context.Context, keyspace string) (map[string]string, error) {
	there := map[string]string{}
	for what, text := range map[string]string{
		"TABLE":             "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?",
		"MATERIALIZED VIEW": "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?",
	} {
		var name string
		err := s.EachAt(ctx, LocalOne, text, []any{keyspace}, []any{&name}, func() {
			there[name] = what
		})
		if err != nil {
			return nil, Failure("read the tables", err)
		}
	}
	return there, nil
}

// Define changes the schema, and waits until all nodes have the change. What exists is no error. If
// no answer comes in time it waits: the change continues meanwhile.
func (s *Session) Define(ctx context.Context, statement string) error {
	return defineBy(ctx, statement, func(ctx context.Context) error {
		return s.driver.Query(statement).Consistency(gocql.All).Idempotent(true).ExecContext(ctx)
	}, s.driver.AwaitSchemaAgreement)
}

// How often, and how long after all nodes agree or can't, a change of the schema is sent again that
// was not answered. A large table or a busy node takes minutes.
const (
	definedAgain = 20
	defineEvery  = time.Second
)

func defineBy(ctx context.Context, statement string, run, agree func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		err := run(ctx)
		var exists *gocql.RequestErrAlreadyExists
		switch {
		case err == nil, errors.As(err, &exists):
			if err = agree(ctx); err == nil {
				return nil
			}
		case viewsRefused(err):
			return andon.Errorf(andon.Invalid, "materialized views are disabled on this cluster: "+
				"set materialized_views_enabled: true in cassandra.yaml of every node, or choose "+
				"another design than view with cassandra.latest")
		}
		if !unanswered(err) || attempt == definedAgain || ctx.Err() != nil {
			return schemaError(statement, err)
		}
		_ = agree(ctx) // what it can't say now the next attempt will
		_ = sleep.For(ctx, defineEvery)
	}
}

// unanswered reports that it is not known whether a statement was carried out.
func unanswered(err error) bool {
	var request gocql.RequestError
	if errors.As(err, &request) {
		switch request.Code() {
		case gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadTimeout, gocql.ErrCodeOverloaded,
			gocql.ErrCodeServer:
			return true
		}
		return false
	}
	return !errors.Is(err, context.Canceled)
}

func viewsRefused(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "materialized views") && strings.Contains(text, "disabled")
}

func schemaError(statement string, err error) error {
	var request gocql.RequestError
	if errors.As(err, &request) && request.Code() == gocql.ErrCodeUnauthorized {
		return andon.Errorf(andon.Unavailable, "the user lacks a right that `andon store init` "+
			"needs: %s. Have a user with CREATE, ALTER, DROP, SELECT and MODIFY on the keyspace "+
			"run it. For a new keyspace, what --dry-run prints is enough", request.Message())
	}
	head, _, _ := strings.Cut(statement, "(")
	return Failure(strings.TrimSpace(head), err)
}
