package rows

import (
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// SetLatest writes a column of a device in latest_by_device that all of its rows share.
func SetLatest(
	tenant string, device andon.DeviceID, column string, stamp int64, value any,
) cql.Statement {
	return cql.Do("UPDATE latest_by_device USING TIMESTAMP ? SET "+column+
		" = ? WHERE tenant = ? AND device = ?", stamp, value, tenant, string(device))
}

// SetHeard writes when the newest message of a device arrived.
func SetHeard(tenant string, device andon.DeviceID, at andon.Time, stamp int64) cql.Statement {
	return SetLatest(tenant, device, "heard", stamp, int64(at))
}

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

// Retire returns what writes a retirement. The newest one counts.
func Retire(
	t *Tenant, device andon.DeviceID, at andon.Time, stamp int64, cause *Pending,
) []cql.Mutation {
	return []cql.Mutation{cql.One(
		"INSERT INTO retirements_by_device (tenant, device, at) VALUES (?, ?, ?) USING TIMESTAMP ?",
		t.Key, string(device), int64(at), stamp),
		append(cause.Set(t.Key, device),
			SetLatest(t.Key, device, "retired", int64(at), int64(at)))}
}

// Assign returns what writes an assignment into the list, and as the newest one unless a newer is
// stored.
func Assign(t *Tenant, a andon.Assignment, stamp int64, cause *Pending) []cql.Statement {
	return append(cause.Set(t.Key, a.Device), cql.Do(
		"INSERT INTO assignments_by_device (tenant, device, since, operator) "+
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
		t.Key, string(a.Device), int64(a.From), string(a.Operator), stamp),
		SetLatest(t.Key, a.Device, "assigned", int64(a.From), PackAssigned(stamp, a)))
}
