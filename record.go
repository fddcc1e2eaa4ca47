package andon

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strings"
)

// RecordKind names a sort of documents: "ack", "timer". Its form is that of a state.
type RecordKind string

// TenantKind is the kind of the records of the tenants, which belong to no tenant themselves. They
// are read like all others, and written through Tenants only.
const TenantKind RecordKind = "tenant"

// Bounds of a record.
const (
	// MaxRecordIDBytes is longer than other identifiers: an id may hold a device and a time.
	MaxRecordIDBytes = 256
	// MaxRecordBytes is the longest document.
	MaxRecordBytes = 256 << 10
)

// Record is a versioned JSON document for everything that is not an event. Its kind defines its
// content.
type Record struct {
	Tenant  TenantID // absent: it belongs to the whole store
	Kind    RecordKind
	ID      string // within tenant and kind; the form of an identifier, and as long
	Version uint64 // of the record when it was read; 0: there is none yet
	Due     Time   // when it has to be looked at again; 0: never
	Data    JSON
}

// RecordQuery selects records of one tenant and kind.
type RecordQuery struct {
	Prefix string // only records whose id begins so
	After  string // resume strictly after this id; "" from the start
	Limit  int    // at most so many; must be above 0
}

// Admits reports whether a record with that id is one that the query selects.
func (q *RecordQuery) Admits(id string) bool {
	return id > q.After && strings.HasPrefix(id, q.Prefix)
}

// Records keeps versioned documents by tenant, kind and id. Everything that is not an event is such
// a document: the tenants themselves, acknowledgements, timers, policies, keys, outboxes.
//
// A change of one record is atomic: of several writers that read the same version one succeeds, and
// the others get Conflict, in all processes of a store. Changes of several records are not atomic
// together. The versions of an id rise, even if its record is deleted and created again, so a
// writer with an old version never changes a newer record.
//
// An acknowledged change is durable and visible as Capabilities declares, also in lists and in
// DueRecords, for all processes of a store. A change may be seen shortly before it is acknowledged.
// After an error other than Invalid, NotFound and Conflict it may have happened or not: read the
// record again.
//
// A worker leases a due record: it stores the record with a later Due, so that others leave it
// alone until then, does the work, and deletes the record. If the worker dies before that, the
// record is due again for another one, so the work is done at least once. A worker that deletes the
// record first and then does the work does it at most once.
type Records interface {
	// Record returns one record; NotFound when it is not there.
	Record(ctx context.Context, tenant TenantID, kind RecordKind, id string) (Record, error)

	// PutRecord stores a record over the version that it was read with, 0 for a new one, and
	// returns it with its new version. Conflict: the stored version is another one, or the record
	// is gone. Invalid: a bound is exceeded, or the kind is TenantKind of no tenant.
	PutRecord(ctx context.Context, r Record) (Record, error)

	// DeleteRecord deletes a record of the version that it was read with; Due and Data do not
	// matter. NotFound when it is not there, Conflict when the stored version is another one.
	DeleteRecord(ctx context.Context, r Record) error

	// Records returns records of a tenant and kind in the order of their ids, byte by byte.
	Records(
		ctx context.Context, tenant TenantID, kind RecordKind, q RecordQuery,
	) iter.Seq2[Record, error]

	// DueRecords returns at most limit records of a kind whose Due is set and not after until, of
	// all tenants, in the order of (Due, Tenant, ID). A record that another caller changes
	// meanwhile may be left out. Its cost depends on the records that it returns, not on those that
	// are due later or were due before.
	DueRecords(
		ctx context.Context, kind RecordKind, until Time, limit int,
	) iter.Seq2[Record, error]
}

type freeingKey struct{}

// Freeing returns a context for records whose writing leads to free space, since more is deleted
// once they are stored. A store whose disk is full takes them as long as it takes deletions.
func Freeing(ctx context.Context) context.Context {
	return context.WithValue(ctx, freeingKey{}, true)
}

// IsFreeing reports whether what is written with a context leads to free space.
func IsFreeing(ctx context.Context) bool { return ctx.Value(freeingKey{}) != nil }

type urgentKey struct{}

// Urgent returns a context for small writes on which it depends that people are told of incidents.
// A store whose disk is nearly full takes them for longer than others.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgentKey{}, true)
}

// IsUrgent reports whether people would not be told of incidents without what is written with a
// context.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }

// Validate reports why a record can't be stored, or nil.
func (r *Record) Validate() error {
	if r.Tenant != "" {
		if err := r.Tenant.Validate(); err != nil {
			return err
		}
	} else if err := r.CheckOwned(); err != nil {
		return err
	}
	if err := validID("kind of record", string(r.Kind), MaxStateBytes); err != nil {
		return err
	}
	if err := validID("id of record", r.ID, MaxRecordIDBytes); err != nil {
		return err
	}
	switch {
	case r.Due < 0 || r.Due > MaxTime:
		return Errorf(Invalid, "%s is due at %d µs, which is no time", r, int64(r.Due))
	case len(r.Data) > MaxRecordBytes:
		return Errorf(Invalid, "%s is %d bytes long, more than %d", r, len(r.Data), MaxRecordBytes)
	case !json.Valid([]byte(r.Data)):
		return Errorf(Invalid, "%s is not valid JSON", r)
	}
	return nil
}

// CheckOwned reports that a record may not be put or deleted, because it is that of a tenant.
func (r *Record) CheckOwned() error {
	if r.Tenant == "" && r.Kind == TenantKind {
		return Errorf(Invalid, "the record of a tenant is changed as a tenant only")
	}
	return nil
}

// Decode reads the document into a value. It is Damaged where it is of another form.
func (r *Record) Decode(into any) error {
	if err := json.Unmarshal([]byte(r.Data), into); err != nil {
		return Errorf(Damaged, "read %s: %w", r, err)
	}
	return nil
}

// String names the record.
func (r *Record) String() string { return string(r.Kind) + " " + clip(r.ID) }

// CheckPut reports why a record can't be put over the version that is stored, 0 where there is
// none.
func (r *Record) CheckPut(stored uint64) error {
	switch {
	case r.Version == stored:
		return nil
	case stored == 0:
		return Errorf(Conflict, "%s was deleted meanwhile", r)
	case r.Version == 0:
		return Errorf(Conflict, "%s is there already: read it and try again", r)
	}
	return Errorf(Conflict, "%s was changed meanwhile: read it again and repeat", r)
}

// CheckDelete is CheckPut for a deletion.
func (r *Record) CheckDelete(stored uint64) error {
	if stored == 0 {
		return r.Missing()
	}
	return r.CheckPut(stored)
}

// Missing is the error for a record that is not there.
func (r *Record) Missing() *Error { return Errorf(NotFound, "there is no %s", r) }

// CompareDue is the order of DueRecords.
func (r *Record) CompareDue(other *Record) int {
	return cmp.Or(
		cmp.Compare(r.Due, other.Due), cmp.Compare(r.Tenant, other.Tenant),
		cmp.Compare(r.ID, other.ID),
	)
}
