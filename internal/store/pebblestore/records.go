package pebblestore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/records"
)

// owner returns the tenant of a record, nil where it belongs to none, and its number in keys.
func (s *Store) owner(ctx context.Context, id andon.TenantID) (*tenant, uint32, error) {
	if id == "" {
		return nil, records.NoTenant, ctx.Err()
	}
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	return t, t.number, nil
}

// Record implements andon.Records.
func (s *Store) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	_, number, err := s.owner(ctx, tenant)
	if err != nil {
		return andon.Record{}, err
	}
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	if err = s.records.Read(number, &r); err == nil && r.Version == 0 {
		err = r.Missing()
	}
	if err != nil {
		return andon.Record{}, err
	}
	return r, nil
}

// PutRecord implements andon.Records.
func (s *Store) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	if err := s.dir.Disk.Admit(ctx, false); err != nil {
		return andon.Record{}, err
	}
	if err := s.changeRecord(ctx, &r, s.records.Put); err != nil {
		return andon.Record{}, err
	}
	return r, nil
}

// DeleteRecord implements andon.Records.
func (s *Store) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	if err := s.dir.Disk.Admit(ctx, true); err != nil {
		return err
	}
	return s.changeRecord(ctx, &r, s.records.Delete)
}

// changeRecord changes a record, and waits until that is on the disk.
func (s *Store) changeRecord(
	ctx context.Context, r *andon.Record,
	change func(b *engine.Batch, number uint32, r *andon.Record) error,
) error {
	t, number, err := s.owner(ctx, r.Tenant)
	if err != nil {
		return err
	}
	b, err := s.records.Change(r, func(b *engine.Batch) error {
		if t != nil && t.gone {
			return andon.NoTenant(r.Tenant)
		}
		return change(b, number, r)
	})
	if err != nil {
		return err
	}
	return s.records.Await(b)
}

// Records implements andon.Records.
func (s *Store) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.From(func() (uint32, error) {
		_, number, err := s.owner(ctx, tenant)
		return number, err
	}, func(number uint32, yield func(andon.Record) bool) error {
		return seq.Yield(s.records.List(ctx, tenant, number, kind, q), yield)
	})
}

// DueRecords implements andon.Records.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return s.records.Due(ctx, kind, until, limit)
}

// owns reports whether the tenant with a name has a number now.
func (s *Store) owns(id andon.TenantID, number uint32) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return id == "" || s.tenants[id] != nil && s.tenants[id].number == number
}
