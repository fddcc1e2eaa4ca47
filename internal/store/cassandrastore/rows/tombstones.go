package rows

import (
	"strings"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// Gone deletes whatever was written, at whatever time, in a part of a table under a former key:
// where columns, separated by spaces, have values.
func Gone(table, columns string, values ...any) cql.Mutation {
	where := strings.ReplaceAll(columns, " ", " = ? AND ") + " = ?"
	return cql.One(
		"DELETE FROM "+table+" USING TIMESTAMP ? WHERE "+where,
		append([]any{int64(2 * AboveTimes)}, values...)...)
}

// GoneFrom deletes a part of the directory.
func GoneFrom(key string, k Kind, id string) cql.Mutation {
	return Gone("directory", "tenant kind id", key, string(k), id)
}
