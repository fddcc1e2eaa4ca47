package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

type recordKey struct {
	tenant andon.TenantID
	kind   andon.RecordKind
	id     string
}

func keyOf(r *andon.Record) recordKey { return recordKey{r.Tenant, r.Kind, r.ID} }

// recorded runs do where the tenant of a record is there, or it has none.
func (s *Store) recorded(ctx context.Context, id andon.TenantID, do func() error) error {
	if id == "" {
		return s.alone(ctx, do)
	}
	return s.within(ctx, id, func(*tenant) error { return do() })
}

// Record returns one record.
func (s *Store) Record(
	ctx context.Context, of andon.TenantID, kind andon.RecordKind, id string,
) (r andon.Record, err error) {
	err = s.recorded(ctx, of, func() error {
		var ok bool
		if r, ok = s.records[recordKey{of, kind, id}]; !ok {
			return (&andon.Record{Kind: kind, ID: id}).Missing()
		}
		return nil
	})
	return r, err
}

// PutRecord stores a record over the version it was read with.
func (s *Store) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	err := s.recorded(ctx, r.Tenant, func() (err error) {
		r, err = s.putRecord(r)
		return err
	})
	return r, err
}

// putRecord gives a version that no record ever had. The caller holds s.mu.
func (s *Store) putRecord(r andon.Record) (andon.Record, error) {
	if err := r.CheckPut(s.records[keyOf(&r)].Version); err != nil {
		return andon.Record{}, err
	}
	r.Tenant, r.Kind, r.ID, r.Data = clone(r.Tenant), clone(r.Kind), clone(r.ID), clone(r.Data)
	s.version++
	r.Version = s.version
	s.records[keyOf(&r)] = r
	return r, nil
}

// DeleteRecord deletes a record of the version it was read with.
func (s *Store) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	return s.recorded(ctx, r.Tenant, func() error {
		err := r.CheckDelete(s.records[keyOf(&r)].Version)
		if err == nil {
			delete(s.records, keyOf(&r))
		}
		return err
	})
}

// Records returns records by id.
func (s *Store) Records(
	ctx context.Context, of andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return s.listRecords(ctx, of, q.Limit, func(r *andon.Record) bool {
		return r.Tenant == of && r.Kind == kind && q.Admits(r.ID)
	}, func(a, b andon.Record) int { return cmp.Compare(a.ID, b.ID) })
}

// DueRecords returns records of all tenants by their time.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return s.listRecords(ctx, "", limit, func(r *andon.Record) bool {
		return r.Kind == kind && r.Due > 0 && r.Due <= until
	}, func(a, b andon.Record) int { return a.CompareDue(&b) })
}

// listRecords yields with no lock held, so that a consumer may call the store.
func (s *Store) listRecords(
	ctx context.Context, of andon.TenantID, limit int,
	wanted func(*andon.Record) bool, compare func(a, b andon.Record) int,
) iter.Seq2[andon.Record, error] {
	return seq.List(func() (found []andon.Record, err error) {
		err = s.recorded(ctx, of, func() error {
			for _, r := range s.records {
				if wanted(&r) {
					found = append(found, r)
				}
			}
			return nil
		})
		slices.SortFunc(found, compare)
		return firstOf(found, limit), err
	})
}
