package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// documents are the records of andon.Records; record.go has those of current states. Their writes
// wait for each other while they look at a version and go into the log, not for the disk, and not
// for appends.
type documents struct {
	mu      engine.Mutex
	version uint64 // the last that was given; to no record of the store twice
	// put is, by kind, the first key that was put since what is due was last looked for.
	put map[andon.RecordKind]layout.Key

	seeking sync.Mutex // held by who looks for the first that is due; guards from
	// from is, by kind, in front of which key nothing was due then. So that what is due is not
	// looked for behind the deletions of all that ever was, which stay for a while.
	from map[andon.RecordKind]layout.Key
}

// everywhere is the number in the keys of records that belong to no tenant.
const everywhere uint32 = 0

// owner returns the tenant of a record, nil where it belongs to none.
func (s *Store) owner(ctx context.Context, id andon.TenantID) (*tenant, error) {
	if id == "" {
		return nil, ctx.Err()
	}
	return s.tenant(ctx, id)
}

// numberOf returns what a record's tenant is in keys.
func numberOf(t *tenant) uint32 {
	if t == nil {
		return everywhere
	}
	return t.number
}

// fill reads into a record what is stored of it; its version is 0 where it is not there.
func (s *Store) fill(number uint32, r *andon.Record) error {
	value, err := s.get(layout.DocumentKey(number, r.Kind, r.ID))
	if r.Version = 0; err != nil || value == nil {
		return err
	}
	return layout.DecodeDocument(r, value)
}

// Record implements andon.Records.
func (s *Store) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	t, err := s.owner(ctx, tenant)
	if err != nil {
		return andon.Record{}, err
	}
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	if err = s.fill(numberOf(t), &r); err == nil && r.Version == 0 {
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
	if err := s.disk.check(); err != nil {
		return andon.Record{}, err
	}
	t, err := s.owner(ctx, r.Tenant)
	if err == nil {
		err = s.changeDocument(t, &r, func(b *engine.Batch) error {
			return s.putDocument(b, numberOf(t), &r)
		})
	}
	if err != nil {
		return andon.Record{}, err
	}
	return r, nil
}

// DeleteRecord implements andon.Records.
func (s *Store) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	t, err := s.owner(ctx, r.Tenant)
	if err != nil {
		return err
	}
	if err := s.disk.admit(true); err != nil {
		return err
	}
	return s.changeDocument(t, &r, func(b *engine.Batch) error {
		return s.deleteDocument(b, numberOf(t), &r)
	})
}

// changeDocument writes what change puts into a batch, before the next change looks at what is
// there, and waits until it is on the disk.
func (s *Store) changeDocument(
	t *tenant, r *andon.Record, change func(*engine.Batch) error,
) error {
	b, err := s.logDocument(t, r, change)
	if err != nil {
		return err
	}
	return s.awaitDisk(b)
}

// logDocument is changeDocument that does not wait. The caller does, with awaitDisk.
func (s *Store) logDocument(
	t *tenant, r *andon.Record, change func(*engine.Batch) error,
) (*engine.Batch, error) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	if t != nil && t.gone {
		return nil, andon.NoTenant(r.Tenant)
	}
	if err := s.failed(); err != nil {
		return nil, err
	}
	b := s.newBatch()
	if err := errors.Join(change(b), b.Err); err != nil {
		b.Release()
		return nil, err
	}
	if err := s.db.ApplyNoSyncWait(b.Batch, pebble.Sync); err != nil {
		return nil, s.fatal(fmt.Errorf("write %s: %w", r, err))
	}
	return b, nil
}

// awaitDisk waits until a batch that is in the log is on the disk.
func (s *Store) awaitDisk(b *engine.Batch) error {
	defer b.Release()
	if err := b.SyncWait(); err != nil {
		return s.fatal(fmt.Errorf("write a record to disk: %w", err))
	}
	return nil
}

// putDocument puts a record into a batch, with its next version. The caller holds documents.mu
// until the batch is in the log.
func (s *Store) putDocument(b *engine.Batch, number uint32, r *andon.Record) error {
	was := *r
	if err := s.fill(number, &was); err != nil {
		return err
	}
	if err := r.CheckPut(was.Version); err != nil {
		return err
	}
	d := &s.documents
	d.version++
	r.Version = d.version
	b.Put(layout.FixedKey(fixedVersion), binary.BigEndian.AppendUint64(nil, d.version))
	b.Put(layout.DocumentKey(number, r.Kind, r.ID), layout.EncodeDocument(r))
	if was.Version != 0 && was.Due != 0 && was.Due != r.Due {
		b.Remove(layout.DueKey(&was))
	}
	if r.Due == 0 {
		return nil
	}
	k := layout.DueKey(r)
	if first, ok := d.put[r.Kind]; !ok || bytes.Compare(k, first) < 0 {
		d.put[r.Kind] = k
	}
	b.Put(k, binary.BigEndian.AppendUint32(nil, number))
	return nil
}

// deleteDocument puts the deletion of a record into a batch, as putDocument does.
func (s *Store) deleteDocument(b *engine.Batch, number uint32, r *andon.Record) error {
	was := *r
	if err := s.fill(number, &was); err != nil {
		return err
	}
	if err := r.CheckDelete(was.Version); err != nil {
		return err
	}
	b.Remove(layout.DocumentKey(number, r.Kind, r.ID))
	if was.Due != 0 {
		b.Remove(layout.DueKey(&was))
	}
	return nil
}

// Records implements andon.Records.
func (s *Store) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		t, err := s.owner(ctx, tenant)
		if err != nil {
			return err
		}
		all := layout.NewKey(layout.TableDocument, numberOf(t)).Text(string(kind))
		first := append(bytes.Clone(all), max(q.Prefix, q.After)...)
		it, err := engine.NewIterator(ctx, s.db, first, all.End())
		if err != nil {
			return err
		}
		defer it.Release()
		yield = seq.UpTo(q.Limit, yield)
		for ok := it.First(); ok; ok = it.Next() {
			r := andon.Record{Tenant: tenant, Kind: kind}
			if err := readDocument(it, it.Key()[len(all):], &r); err != nil {
				return err
			}
			past := !strings.HasPrefix(r.ID, q.Prefix) && r.ID > q.Prefix
			if past || q.Admits(r.ID) && !yield(r) {
				return nil
			}
		}
		return it.Error()
	})
}

// readDocument reads a row, of whose key id is the end.
func readDocument(it *engine.Iterator, id []byte, r *andon.Record) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	name, _, ok := layout.TakeText(id)
	if !ok {
		return layout.ErrDamaged
	}
	r.ID = name
	return layout.DecodeDocument(r, value)
}

// DueRecords implements andon.Records.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		it, err := s.firstDue(ctx, kind)
		if err != nil {
			return err
		}
		defer it.Release()
		yield = seq.UpTo(limit, yield)
		for ok := it.Valid(); ok; ok = it.Next() {
			r, there, err := s.dueRecord(it)
			switch {
			case err != nil || r.Due > until:
				return err
			case !there:
				s.forgetDue(it.Key())
			case !yield(r):
				return nil
			}
		}
		return it.Error()
	})
}

// firstDue returns an iterator at the first record of a kind that is ever due, and remembers it.
// Writes do not wait while it seeks.
func (s *Store) firstDue(ctx context.Context, kind andon.RecordKind) (*engine.Iterator, error) {
	d := &s.documents
	d.seeking.Lock()
	defer d.seeking.Unlock()
	it, err := s.dueFrom(ctx, kind)
	if err != nil {
		return nil, err
	}
	if it.First() {
		d.from[kind] = bytes.Clone(it.Key())
	} else if err := it.Error(); err != nil {
		it.Release()
		return nil, err
	} else {
		d.from[kind] = layout.Key{layout.TableDue}.Text(string(kind)).End()
	}
	return it, nil
}

// dueFrom returns an iterator over all of a kind that may be due. From then on it is noted what is
// put.
func (s *Store) dueFrom(ctx context.Context, kind andon.RecordKind) (*engine.Iterator, error) {
	d := &s.documents
	d.mu.Lock()
	defer d.mu.Unlock()
	all := layout.Key{layout.TableDue}.Text(string(kind))
	if from, ok := d.from[kind]; !ok {
		d.from[kind] = all
	} else if put, ok := d.put[kind]; ok && bytes.Compare(put, from) < 0 {
		d.from[kind] = put
	}
	delete(d.put, kind)
	return engine.NewIterator(ctx, s.db, d.from[kind], all.End())
}

// dueRecord reads the record that a row of tableDue is of. It is not there where it was changed
// meanwhile, or where the row is left of a tenant that was deleted.
func (s *Store) dueRecord(it *engine.Iterator) (andon.Record, bool, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return andon.Record{}, false, err
	}
	r, ok := layout.SplitDue(it.Key())
	number, _, whole := layout.TakeNumber(value)
	if !ok || !whole {
		return andon.Record{}, false, layout.ErrDamaged
	}
	if !s.stands(r.Tenant, number) {
		return r, false, nil
	}
	found := r
	err = s.fill(number, &found)
	return found, found.Version != 0 && found.Due == r.Due, err
}

// stands reports whether a tenant has that number now.
func (s *Store) stands(id andon.TenantID, number uint32) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return id == "" || s.tenants[id] != nil && s.tenants[id].number == number
}

// forgetDue removes a row of tableDue that is left of a tenant that was deleted, unless it was
// changed meanwhile. Where it comes back after a crash it is removed the next time.
func (s *Store) forgetDue(k layout.Key) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	value, err := s.get(k)
	number, _, ok := layout.TakeNumber(value)
	r, whole := layout.SplitDue(k)
	if err != nil || !ok || !whole || s.stands(r.Tenant, number) || s.failed() != nil {
		return
	}
	if err := s.db.Delete(k, pebble.NoSync); err != nil {
		_ = s.fatal(fmt.Errorf("write store: %w", err)) // no one waits for it
	}
}

// unseen is more versions than can be given and lost in one crash. They may have been read, so the
// next opening leaves them out.
const unseen = 1 << 20

// loadDocuments reads the last version. The one from which it goes on is stored, so that another
// opening does not begin there again; openFeed waits for the disk, before one can be read.
func (s *Store) loadDocuments() error {
	s.documents.put = map[andon.RecordKind]layout.Key{}
	s.documents.from = map[andon.RecordKind]layout.Key{}
	last, err := s.fixed(fixedVersion)
	switch {
	case err != nil:
		return err
	case last == nil:
		return nil
	case len(last) != 8:
		return layout.ErrDamaged
	}
	s.documents.version = binary.BigEndian.Uint64(last) + unseen
	version := binary.BigEndian.AppendUint64(nil, s.documents.version)
	return s.db.Set(layout.FixedKey(fixedVersion), version, pebble.NoSync)
}
