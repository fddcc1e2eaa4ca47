package cassandrastore

import (
	"context"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/shared"
)

// Records are the only rows that are written by compare-and-swap (a lightweight transaction): each
// is a partition of its own, so that writers of different records never meet. What lists them, and
// what finds those that are due (due.go), are index rows, each checked against the record: written
// before it, and taken away behind it. A version is a time in µs, or more, and only ever rises; it
// is the write timestamp of the index rows of that version, so that taking away those of one
// version never takes away those of a later one, whatever the clocks say.

// recordTombstone is for how many seconds a deleted record keeps its version, so that its next
// incarnation has greater ones although another process, whose clock is behind, may begin it.
const recordTombstone = 24 * 3600

// readDocument reads one row. That of a tenant that was deleted has in due how many of its
// incarnations are over.
func (s *Store) readDocument(
	ctx context.Context, key string, r *andon.Record,
) (is shared.Document, err error) {
	q := cql.Ask(
		"SELECT version, due, data FROM records WHERE tenant = ? AND kind = ? AND id = ?", 3)
	var due int64
	args := []any{key, string(r.Kind), r.ID}
	err = s.db.Each(ctx, q, args, []any{&is.Version, &due, &is.Data}, func() {})
	if is.Due = andon.Time(due); is.Standing() == 0 {
		is.Incarnations, is.Due = int(due), 0
	}
	return is, err
}

// Record is of andon.Records.
func (s *Store) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	ctx, end := s.within(ctx)
	defer end()
	return s.Documents.Record(ctx, tenant, kind, id)
}

// writeDocument writes a row over the one that was read, and what finds it.
func (s *Store) writeDocument(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	if is.Standing() == 0 {
		err := s.swapRecord(ctx, key, r, was, is)
		if err == nil {
			s.forget(ctx, append(noLongerDue(key, r, was),
				unlisted(key, r.Kind, r.ID, was.Version)))
		}
		return err
	}
	index := s.newIndexRows(key, s.ttl(andon.Forever))
	index.name(ofRecord, string(r.Kind))
	all := dueRows(key, r, is)
	if was.Standing() == 0 {
		all = append(all, cql.One("INSERT INTO records_by_kind (tenant, kind, bucket, id) "+
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
			key, string(r.Kind), bucketOf(r.ID), r.ID, is.Version))
	}
	if err := index.write(ctx, all...); err != nil {
		return err
	}
	if err := s.swapRecord(ctx, key, r, was, is); err != nil {
		return err
	}
	if was.Standing() != 0 && was.Due != is.Due {
		s.forget(ctx, noLongerDue(key, r, was))
	}
	return nil
}

// unlisted takes away what lists a record of a version.
func unlisted(key string, kind andon.RecordKind, id string, version int64) cql.Mutation {
	return cql.One("DELETE FROM records_by_kind USING TIMESTAMP ? WHERE tenant = ? AND "+
		"kind = ? AND bucket = ? AND id = ?",
		version, key, string(kind), bucketOf(id), id)
}

// forget takes index rows away that lead to nothing any more. Where that fails they are met, and
// left out, until a reader takes them away.
func (s *Store) forget(ctx context.Context, rows []cql.Mutation) {
	if err := s.db.Write(ctx, rows); err != nil {
		s.options.Log.Debug("index rows of records can't be taken away yet", "error", err)
	}
}

// swapRecord writes a row over the version that was read. It is written by UPDATE alone, so that
// with a TTL nothing of the row is left.
func (s *Store) swapRecord(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	var version any // nil: there is no row
	if was.Version != 0 {
		version = was.Version
	}
	due, ttl := int64(is.Due), 0
	if is.Standing() == 0 {
		if due = int64(is.Incarnations); due == 0 {
			ttl = recordTombstone
		}
	}
	const text = "UPDATE records USING TTL ? SET version = ?, due = ?, data = ? " +
		"WHERE tenant = ? AND kind = ? AND id = ? IF version = ?"
	applied, _, err := s.db.Swap(ctx, text, ttl, is.Version, due, is.Data,
		key, string(r.Kind), r.ID, version)
	if err != nil {
		return cql.Failure("write "+r.String(), err)
	}
	if !applied {
		return andon.Errorf(andon.Conflict, "%s was changed meanwhile: read it again and repeat", r)
	}
	return nil
}

// Records is of andon.Records. They are found as devices are, by id through index rows.
func (s *Store) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		key, err := s.KeyOf(ctx, tenant)
		if err != nil {
			return err
		}
		left := q.Limit
		found := s.recordIDs(key, kind, max(q.Prefix, q.After), q.Limit)
		for left > 0 {
			ids, err := found.Next(ctx, q.Prefix, min(left, 255)+1)
			if err != nil || len(ids) == 0 {
				return err
			}
			records, err := shared.Found(ctx, ids,
				func(ctx context.Context, id andon.DeviceID) (*andon.Record, error) {
					r := andon.Record{Tenant: tenant, Kind: kind, ID: string(id)}
					is, err := s.readDocument(ctx, key, &r)
					if err != nil || is.Standing() == 0 || !q.Admits(r.ID) {
						return nil, err
					}
					is.Into(&r)
					return &r, nil
				})
			if err != nil {
				return err
			}
			for _, r := range records[:min(left, len(records))] {
				if left--; !yield(r) {
					return nil
				}
			}
		}
		return nil
	})
}

// recordIDs finds the records of a kind, from an id on.
func (s *Store) recordIDs(key string, kind andon.RecordKind, from string, limit int) *candidates {
	all := make([]designs.Finding, deviceBuckets)
	for bucket := range deviceBuckets {
		ask := cql.Ask("SELECT id FROM records_by_kind "+
			"WHERE tenant = ? AND kind = ? AND bucket = ? AND id >= ?", 3)
		all[bucket] = designs.Finding{Query: ask, Args: []any{key, string(kind), bucket, from}}
	}
	return s.streams(all, andon.DeviceQuery{Limit: min(limit, cql.PageRows)})
}

// purgeRecords deletes the records of an incarnation that is over, with what finds them.
func (s *Store) purgeRecords(ctx context.Context, key string, name string) error {
	kind := andon.RecordKind(name)
	found := s.recordIDs(key, kind, "", cql.PageRows)
	for {
		ids, err := found.Next(ctx, "", 256)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
			r := andon.Record{Kind: kind, ID: string(ids[i])}
			row, err := s.readDocument(ctx, key, &r)
			if err != nil {
				return err
			}
			return s.db.Write(ctx, append(noLongerDue(key, &r, row),
				gone("records", "tenant kind id", key, name, r.ID)))
		})
		if err != nil {
			return err
		}
	}
	var all []cql.Mutation
	for bucket := range deviceBuckets {
		all = append(all, gone("records_by_kind", "tenant kind bucket", key, name, bucket))
	}
	return s.db.Write(ctx, all)
}

// tenantOf is the tenant of a key, whichever incarnation it is of.
func tenantOf(key string) andon.TenantID {
	id, _, _ := strings.Cut(key, "\t")
	return andon.TenantID(id)
}
