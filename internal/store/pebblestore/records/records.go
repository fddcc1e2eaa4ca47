// Package records stores the records of andon.Records in Pebble: versioned JSON documents, of a
// tenant or of none, and an index of those that become due.
//
// Tables. A document is under its tenant, kind and id. A record that becomes due has a row in the
// index as well, by kind and time. The row is put and removed in the batch of the document, so the
// index never lacks a row. It may have rows that lead nowhere: those of a tenant that was deleted
// stay, and are removed when a reader meets them.
//
// Versions. Each put takes the next version of the store, under a lock that is held until the
// batch is in the write-ahead log, and not until it is on the disk: writers share the wait. A
// version that was read and then lost in a crash must not be given again, since its reader would
// take another document for the one that it knows. So each opening skips more versions than one
// crash can lose.
//
// Due. What becomes due is deleted, and deletions stay in Pebble for a while. A reader that began
// at the first key of the index each time would pass over all of them. So the place of the first
// record that is due is remembered. It moves back when an earlier record is put. While it is looked
// up, writes of records wait.
//
// Contract:
//
//   - Change changes nothing where it returns an error. What it has put is durable after Await.
//   - Changes of one record are serialised: a change sees what the one before has written.
//   - Sequences end at their first error, and with the context.
//
// Locks: Change takes the lock of versions, whose place is in engine/locks.go. So does Due while it
// looks for the first record.
//
// The package does not know what a tenant is: its caller passes numbers, and says whether a name
// has a number now. It knows no clock.
package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// NoTenant is the number of records that belong to no tenant.
const NoTenant uint32 = 0

// Owners is what is known of tenants and of the state of the store.
type Owners struct {
	// Owns reports whether the tenant with a name has a number now.
	Owns func(id andon.TenantID, number uint32) bool
	// Failed returns the error after which nothing may be written.
	Failed func() error
	// Fatal ends the process, or returns the error.
	Fatal func(error) error
}

// Records are the records of a store.
type Records struct {
	db     *pebble.DB
	owners Owners

	mu      engine.RWMutex
	version uint64 // the last that was given
	// from is, by kind, the key before which nothing is due.
	from map[andon.RecordKind]layout.Key
}

// New returns the records of a database, for reading. Open is to be called before the first change.
func New(db *pebble.DB, owners Owners) *Records {
	r := &Records{db: db, owners: owners, from: map[andon.RecordKind]layout.Key{}}
	r.mu.Rank = engine.LockDocuments
	return r
}

// skipped is more versions than can be given and lost in one crash.
const skipped = 1 << 20

func versionKey() layout.Key { return layout.FixedKey("last version") }

// Open reads the last version and skips some. The result is stored without waiting for the disk,
// which the caller does before a version can be read.
func (s *Records) Open() error {
	last, err := engine.ReadUint(s.db, versionKey())
	if err != nil || last == 0 {
		return err
	}
	s.version = last + skipped
	return s.db.Set(versionKey(), binary.BigEndian.AppendUint64(nil, s.version), pebble.NoSync)
}

// Read reads what is stored of a record, whose version is 0 where there is none.
func (s *Records) Read(number uint32, r *andon.Record) error {
	value, err := engine.Get(s.db, layout.DocumentKey(number, r.Kind, r.ID))
	if r.Version = 0; err != nil || value == nil {
		return err
	}
	return layout.DecodeDocument(r, value)
}

// Change writes what change puts into a batch, before the next change reads. The caller passes the
// batch to Await.
func (s *Records) Change(
	r *andon.Record, change func(*engine.Batch) error,
) (*engine.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.owners.Failed(); err != nil {
		return nil, err
	}
	b := engine.NewBatch(s.db)
	if err := errors.Join(change(b), b.Err); err != nil {
		b.Release()
		return nil, err
	}
	if err := s.db.ApplyNoSyncWait(b.Batch, pebble.Sync); err != nil {
		return nil, s.owners.Fatal(fmt.Errorf("write %s: %w", r, err))
	}
	return b, nil
}

// Await waits until the batch of a change is on the disk.
func (s *Records) Await(b *engine.Batch) error {
	defer b.Release()
	if err := b.SyncWait(); err != nil {
		return s.owners.Fatal(fmt.Errorf("write a record to disk: %w", err))
	}
	return nil
}

// Put puts a record with its next version into the batch of a change.
func (s *Records) Put(b *engine.Batch, number uint32, r *andon.Record) error {
	was := *r
	if err := s.Read(number, &was); err != nil {
		return err
	}
	if err := r.CheckPut(was.Version); err != nil {
		return err
	}
	s.version++
	r.Version = s.version
	b.Put(versionKey(), binary.BigEndian.AppendUint64(nil, s.version))
	b.Put(layout.DocumentKey(number, r.Kind, r.ID), layout.EncodeDocument(r))
	if was.Version != 0 && was.Due != 0 && was.Due != r.Due {
		b.Remove(layout.DueKey(&was))
	}
	if r.Due == 0 {
		return nil
	}
	k := layout.DueKey(r)
	if bytes.Compare(k, s.from[r.Kind]) < 0 {
		s.from[r.Kind] = k
	}
	b.Put(k, binary.BigEndian.AppendUint32(nil, number))
	return nil
}

// Delete puts the deletion of a record into the batch of a change.
func (s *Records) Delete(b *engine.Batch, number uint32, r *andon.Record) error {
	was := *r
	if err := s.Read(number, &was); err != nil {
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

// List yields the records of a kind that a query selects, by id.
func (s *Records) List(
	ctx context.Context, tenant andon.TenantID, number uint32, kind andon.RecordKind,
	q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		prefix := layout.NewKey(layout.TableDocument, number).Text(string(kind))
		first, end := append(bytes.Clone(prefix), max(q.Prefix, q.After)...), prefix.End()
		yield = seq.UpTo(q.Limit, yield)
		for it, err := range engine.RowsBetween(ctx, s.db, first, end, andon.Asc) {
			if err != nil {
				return err
			}
			r := andon.Record{Tenant: tenant, Kind: kind}
			if err := decode(it, it.Key()[len(prefix):], &r); err != nil {
				return err
			}
			past := !strings.HasPrefix(r.ID, q.Prefix) && r.ID > q.Prefix
			if past || q.Admits(r.ID) && !yield(r) {
				return nil
			}
		}
		return nil
	})
}

// decode decodes a row whose key ends with an id.
func decode(it *engine.Iterator, id []byte, r *andon.Record) error {
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
