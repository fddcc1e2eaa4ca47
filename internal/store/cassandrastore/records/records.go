package records

import (
	"context"
	"iter"
	"log/slog"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// Table has the records of a keyspace. Its lists are those of andon.Records.
type Table struct {
	DB    *cql.Session
	Index func(tenant string) *rows.Index // of rows that do not expire
	Now   func() andon.Time
	Log   *slog.Logger
	// Key returns the key of a tenant, and NotFound where there is none.
	Key func(context.Context, andon.TenantID) (string, error)
}

// recordTombstone is for how many seconds a deleted record keeps its version, so that a record that
// is made again has greater versions, even if another process makes it whose clock is slow.
const recordTombstone = 24 * 3600

// Read reads one record. That of a deleted tenant has in due how many of its keys are over.
func (s *Table) Read(
	ctx context.Context, key string, r *andon.Record,
) (is shared.Document, err error) {
	q := cql.Ask(
		"SELECT version, due, data FROM records WHERE tenant = ? AND kind = ? AND id = ?", 3)
	var due int64
	args := []any{key, string(r.Kind), r.ID}
	err = s.DB.Each(ctx, q, args, []any{&is.Version, &due, &is.Data}, func() {})
	if is.Due = andon.Time(due); is.Live() == 0 {
		is.Incarnations, is.Due = int(due), 0
	}
	return is, err
}

// Write writes a record over the one that was read, and its index rows.
func (s *Table) Write(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	if is.Live() == 0 {
		err := s.swap(ctx, key, r, was, is)
		if err == nil {
			s.forget(ctx, append(noLongerDue(key, r, was), cql.One("DELETE FROM records_by_kind "+
				"USING TIMESTAMP ? WHERE tenant = ? AND kind = ? AND bucket = ? AND id = ?",
				was.Version, key, string(r.Kind), rows.Bucket(r.ID), r.ID))...)
		}
		return err
	}
	index := s.Index(key)
	index.Name(rows.OfRecord, string(r.Kind))
	all := DueRows(key, r, is)
	if was.Live() == 0 {
		all = append(all, cql.One("INSERT INTO records_by_kind (tenant, kind, bucket, id) "+
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
			key, string(r.Kind), rows.Bucket(r.ID), r.ID, is.Version))
	}
	if err := index.Write(ctx, all...); err != nil {
		return err
	}
	if err := s.swap(ctx, key, r, was, is); err != nil {
		return err
	}
	if was.Live() != 0 && was.Due != is.Due {
		s.forget(ctx, noLongerDue(key, r, was)...)
	}
	return nil
}

// forget deletes stale index rows. If that fails, readers leave them out until one deletes them.
func (s *Table) forget(ctx context.Context, rows ...cql.Mutation) {
	if err := s.DB.Write(ctx, rows...); err != nil {
		s.Log.Debug("index rows of records can't be taken away yet", "error", err)
	}
}

// swap writes a record over the version that was read. It uses UPDATE alone, so that nothing of the
// row is left after a TTL.
func (s *Table) swap(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	var version any // nil: there is no row
	if was.Version != 0 {
		version = was.Version
	}
	due, ttl := int64(is.Due), 0
	if is.Live() == 0 {
		if due = int64(is.Incarnations); due == 0 {
			ttl = recordTombstone
		}
	}
	const text = "UPDATE records USING TTL ? SET version = ?, due = ?, data = ? " +
		"WHERE tenant = ? AND kind = ? AND id = ? IF version = ?"
	applied, _, err := s.DB.Swap(ctx, text, ttl, is.Version, due, is.Data,
		key, string(r.Kind), r.ID, version)
	if err != nil {
		return cql.Failure("write "+r.String(), err)
	}
	if !applied {
		return andon.Errorf(andon.Conflict, "%s was changed meanwhile: read it again and repeat", r)
	}
	return nil
}

// Records implements andon.Records. Like devices, records are found by index rows, in the order of
// ids.
func (s *Table) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		key, err := s.Key(ctx, tenant)
		if err != nil {
			return err
		}
		show := func(ids []string) ([]andon.Record, error) {
			return shared.Found(ctx, ids, func(
				ctx context.Context, id string,
			) (*andon.Record, error) {
				r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
				is, err := s.Read(ctx, key, &r)
				if err != nil || is.Live() == 0 || !q.Admits(r.ID) {
					return nil, err
				}
				is.Into(&r)
				return &r, nil
			})
		}
		found := s.ids(ctx, key, kind, q)
		return shared.Select(found, q.Limit, show, yield)
	})
}

func (s *Table) ids(
	ctx context.Context, key string, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[string, error] {
	ask := cql.Ask("SELECT id FROM records_by_kind "+
		"WHERE tenant = ? AND kind = ? AND bucket = ? AND id >= ? AND id <= ?", 3)
	// The end of the prefix, so that no tombstones after it are read: U+10FFFF sorts last.
	end := q.Prefix + strings.Repeat("\U0010ffff", andon.MaxRecordIDBytes/4)
	size := cql.PageOf(q.Limit, rows.Buckets)
	all := make([]*shared.Rows[string], rows.Buckets)
	for bucket := range all {
		args := []any{key, string(kind), bucket, max(q.Prefix, q.After), end}
		all[bucket] = cql.Pages(s.DB, ask, args, size, cql.Text)
	}
	return shared.IDs(ctx, q.Prefix, all...)
}

// Purge deletes the records of a kind under a former key of a tenant, and their index rows.
func (s *Table) Purge(ctx context.Context, key, name string) error {
	kind := andon.RecordKind(name)
	found := s.ids(ctx, key, kind, andon.RecordQuery{Limit: cql.PageRows})
	for ids, err := range seq.Pieces(func() int { return 256 }, found) {
		if err != nil {
			return err
		}
		err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
			r := andon.Record{Kind: kind, ID: ids[i]}
			row, err := s.Read(ctx, key, &r)
			if err != nil {
				return err
			}
			return s.DB.Write(ctx, append(noLongerDue(key, &r, row),
				rows.Gone("records", "tenant kind id", key, name, r.ID))...)
		})
		if err != nil {
			return err
		}
	}
	var all []cql.Mutation
	for bucket := range rows.Buckets {
		all = append(all, rows.Gone("records_by_kind", "tenant kind bucket", key, name, bucket))
	}
	return s.DB.Write(ctx, all...)
}
