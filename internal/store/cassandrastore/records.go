package cassandrastore

import (
	"context"
	"iter"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
)

// Records are the only rows that are written by compare-and-swap (a lightweight transaction): each
// is a partition of its own, so that writers of different records never meet. What lists them, and
// what finds those that are due (due.go), are index rows, each checked against the record: written
// before it, and taken away behind it. A version is a time in µs, or more, and only ever rises; it
// is the write timestamp of the index rows of that version, so that taking away those of one
// version never takes away those of a later one, whatever the clocks say.

// recordRow is a row of the table. One without data was deleted.
type recordRow struct {
	version, due int64
	data         string
}

// standing is the version of a record that is there; 0 where there is none.
func (r *recordRow) standing() uint64 {
	if r.data == "" {
		return 0
	}
	return uint64(r.version)
}

// into fills in what the row holds of a record.
func (r *recordRow) into(is *andon.Record) {
	is.Version, is.Due, is.Data = uint64(r.version), andon.Time(r.due), andon.JSON(r.data)
}

// recordTombstone is for how many seconds a deleted record keeps its version, so that its next
// incarnation has greater ones although another process, whose clock is behind, may begin it.
const recordTombstone = 24 * 3600

// owner returns what a tenant is in keys; "" is none.
func (s *Store) owner(ctx context.Context, id andon.TenantID) (string, error) {
	if id == "" {
		return "", ctx.Err()
	}
	t, err := s.tenant(ctx, id)
	if err != nil {
		return "", err
	}
	return t.key, nil
}

// recordRow reads one row; the zero row where there is none.
func (s *Store) recordRow(
	ctx context.Context, key string, kind andon.RecordKind, id string,
) (row recordRow, err error) {
	q := question{
		"SELECT version, due, data FROM records WHERE tenant = ? AND kind = ? AND id = ?", 3,
	}
	err = s.each(ctx, q, []any{key, string(kind), id}, []any{&row.version, &row.due, &row.data},
		func() {})
	return row, err
}

// Record is of andon.Records.
func (s *Store) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	ctx, end := s.within(ctx)
	defer end()
	key, err := s.owner(ctx, tenant)
	if err != nil {
		return andon.Record{}, err
	}
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	row, err := s.recordRow(ctx, key, kind, id)
	if err == nil && row.standing() == 0 {
		err = r.Missing()
	}
	if err != nil {
		return andon.Record{}, err
	}
	row.into(&r)
	return r, nil
}

// PutRecord is of andon.Records.
func (s *Store) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	key, was, err := s.read(ctx, &r)
	if err == nil {
		err = r.CheckPut(was.standing())
	}
	if err != nil {
		return andon.Record{}, err
	}
	return s.putRecord(ctx, key, r, was)
}

// DeleteRecord is of andon.Records.
func (s *Store) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	key, was, err := s.read(ctx, &r)
	if err == nil {
		err = r.CheckDelete(was.standing())
	}
	if err != nil {
		return err
	}
	_, err = s.dropRecord(ctx, key, &r, was, 0, recordTombstone)
	return err
}

// read reads what is to be changed.
func (s *Store) read(ctx context.Context, r *andon.Record) (string, recordRow, error) {
	key, err := s.owner(ctx, r.Tenant)
	if err != nil {
		return "", recordRow{}, err
	}
	was, err := s.recordRow(ctx, key, r.Kind, r.ID)
	return key, was, err
}

// next is the version behind one that was read.
func (s *Store) next(was recordRow) int64 { return max(was.version+1, s.stamp()) }

// putRecord puts a record over what was read.
func (s *Store) putRecord(
	ctx context.Context, key string, r andon.Record, was recordRow,
) (andon.Record, error) {
	is := recordRow{s.next(was), int64(r.Due), string(r.Data)}
	index := s.newIndexRows(key, s.ttl(andon.Forever))
	index.name(ofRecord, string(r.Kind))
	all := dueRows(key, &r, is)
	if was.standing() == 0 {
		all = append(all, mutation{{"INSERT INTO records_by_kind (tenant, kind, bucket, id) " +
			"VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
			[]any{key, string(r.Kind), bucketOf(r.ID), r.ID, is.version}}})
	}
	if err := index.write(ctx, all...); err != nil {
		return andon.Record{}, err
	}
	if err := s.swapRecord(ctx, key, &r, was, is, 0); err != nil {
		return andon.Record{}, err
	}
	if was.standing() != 0 && was.due != is.due {
		s.forget(ctx, noLongerDue(key, &r, was))
	}
	is.into(&r)
	return r, nil
}

// dropRecord deletes a record over what was read. What is left of it, for ttl seconds, 0 is for
// ever, holds a number and the version that is returned.
func (s *Store) dropRecord(
	ctx context.Context, key string, r *andon.Record, was recordRow, number int64, ttl int,
) (version int64, err error) {
	is := recordRow{version: s.next(was), due: number}
	if err := s.swapRecord(ctx, key, r, was, is, ttl); err != nil {
		return 0, err
	}
	s.forget(ctx, append(noLongerDue(key, r, was), unlisted(key, r.Kind, r.ID, was.version)))
	return is.version, nil
}

// unlisted takes away what lists a record of a version.
func unlisted(key string, kind andon.RecordKind, id string, version int64) mutation {
	return mutation{{"DELETE FROM records_by_kind USING TIMESTAMP ? WHERE tenant = ? AND " +
		"kind = ? AND bucket = ? AND id = ?",
		[]any{version, key, string(kind), bucketOf(id), id}}}
}

// forget takes index rows away that lead to nothing any more. Where that fails they are met, and
// left out, until a reader takes them away.
func (s *Store) forget(ctx context.Context, rows []mutation) {
	if err := s.write(ctx, rows); err != nil {
		s.options.Log.Debug("index rows of records can't be taken away yet", "error", err)
	}
}

// swapRecord writes a row over the version that was read. It is written by UPDATE alone, so that
// with a TTL nothing of the row is left.
func (s *Store) swapRecord(
	ctx context.Context, key string, r *andon.Record, was, is recordRow, ttl int,
) error {
	ctx, release, err := s.acquire(ctx)
	if err != nil {
		return failure("write "+r.String(), err)
	}
	defer release()
	var version any // nil: there is no row
	if was.version != 0 {
		version = was.version
	}
	const text = "UPDATE records USING TTL ? SET version = ?, due = ?, data = ? " +
		"WHERE tenant = ? AND kind = ? AND id = ? IF version = ?"
	// Not to be repeated by the driver: the first time may have happened, and the second would not.
	applied, err := s.session.Query(text, ttl, is.version, is.due, is.data,
		key, string(r.Kind), r.ID, version).
		Consistency(s.options.write()).Idempotent(false).MapScanCASContext(ctx, map[string]any{})
	if err != nil {
		return failure("write "+r.String(), err)
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
		key, err := s.owner(ctx, tenant)
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
			rows := make([]recordRow, len(ids))
			err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) (err error) {
				rows[i], err = s.recordRow(ctx, key, kind, string(ids[i]))
				return err
			})
			if err != nil {
				return err
			}
			for i, row := range rows {
				if row.standing() == 0 || !q.Admits(string(ids[i])) || left == 0 {
					continue
				}
				r := andon.Record{Tenant: tenant, Kind: kind, ID: string(ids[i])}
				row.into(&r)
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
	all := make([]finding, deviceBuckets)
	for bucket := range deviceBuckets {
		all[bucket] = finding{
			question{"SELECT id FROM records_by_kind " +
				"WHERE tenant = ? AND kind = ? AND bucket = ? AND id >= ?", 3},
			[]any{key, string(kind), bucket, from}, idsOnly,
		}
	}
	return s.streams(all, andon.DeviceQuery{Limit: min(limit, pageRows)})
}

// purgeRecords deletes the records of an incarnation that is over, with what finds them.
func (s *Store) purgeRecords(ctx context.Context, key string, name string) error {
	kind := andon.RecordKind(name)
	found := s.recordIDs(key, kind, "", pageRows)
	for {
		ids, err := found.Next(ctx, "", 256)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		err = shared.Parallel(ctx, len(ids), func(ctx context.Context, i int) error {
			row, err := s.recordRow(ctx, key, kind, string(ids[i]))
			if err != nil {
				return err
			}
			r := andon.Record{Kind: kind, ID: string(ids[i])}
			return s.write(ctx, append(noLongerDue(key, &r, row), gone("DELETE FROM records "+
				"USING TIMESTAMP ? WHERE tenant = ? AND kind = ? AND id = ?", key, name, r.ID)))
		})
		if err != nil {
			return err
		}
	}
	var all []mutation
	for bucket := range deviceBuckets {
		all = append(all, gone("DELETE FROM records_by_kind USING TIMESTAMP ? "+
			"WHERE tenant = ? AND kind = ? AND bucket = ?", key, name, bucket))
	}
	return s.write(ctx, all)
}

// tenantOf is the tenant of a key, whichever incarnation it is of.
func tenantOf(key string) andon.TenantID {
	id, _, _ := strings.Cut(key, "\t")
	return andon.TenantID(id)
}
