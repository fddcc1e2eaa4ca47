package dynamostore

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/shared"
)

// Records are versioned documents. A version is a time in µs, or more, and only ever rises. What
// finds those that are due is an index; each hit is held against the record.

const (
	attrDue   = "Due"
	attrData  = "Data"
	attrLife  = "Life"
	attrDueIn = "DueIn"
	attrDueAt = "DueAt"
)

// document is the item of a record. One without data was deleted.
type document struct {
	version int64
	due     andon.Time
	data    string
	life    int // of a tenant: how many lives are over
}

// standing is the version of a record that is there; 0 where there is none.
func (d *document) standing() uint64 {
	if d.data == "" {
		return 0
	}
	return uint64(d.version)
}

func (d *document) into(r *andon.Record) {
	r.Version, r.Due, r.Data = uint64(d.version), d.due, andon.JSON(d.data)
}

func readDocument(i item) document {
	return document{
		version: i.int(attrVersion), due: i.time(attrDue), data: i.text(attrData),
		life: int(i.int(attrLife)),
	}
}

func documentsKey(tenant string, kind andon.RecordKind) string {
	return join("record#"+tenant, string(kind))
}

func documentKey(tenant string, r *andon.Record) item {
	return keyed(recordKeys(), documentsKey(tenant, r.Kind), r.ID)
}

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

func (s *Store) document(
	ctx context.Context, tenant string, r *andon.Record,
) (document, error) {
	i, err := s.get(ctx, tableRecords, documentKey(tenant, r))
	return readDocument(i), err
}

// Record is of andon.Records.
func (s *Store) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	_, is, err := s.readRecord(ctx, &r)
	if err == nil && is.standing() == 0 {
		err = r.Missing()
	}
	if err != nil {
		return andon.Record{}, err
	}
	is.into(&r)
	return r, nil
}

func (s *Store) readRecord(ctx context.Context, r *andon.Record) (string, document, error) {
	tenant, err := s.owner(ctx, r.Tenant)
	if err != nil {
		return "", document{}, err
	}
	is, err := s.document(ctx, tenant, r)
	return tenant, is, err
}

// PutRecord is of andon.Records.
func (s *Store) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	key, was, err := s.readRecord(ctx, &r)
	if err == nil {
		err = r.CheckPut(was.standing())
	}
	if err == nil {
		x := indexRows{store: s, tenant: &tenant{key: key}}
		x.kind(r.Kind)
		err = x.write(ctx)
	}
	if err != nil {
		return andon.Record{}, err
	}
	return s.putRecord(ctx, key, r, was)
}

// putRecord puts a record over what was read.
func (s *Store) putRecord(
	ctx context.Context, tenant string, r andon.Record, was document,
) (andon.Record, error) {
	is := document{
		version: max(was.version+1, s.stamp()), due: r.Due, data: string(r.Data), life: was.life,
	}
	if err := s.swapRecord(ctx, tenant, &r, was, is, 0); err != nil {
		return andon.Record{}, err
	}
	is.into(&r)
	return r, nil
}

// DeleteRecord is of andon.Records.
func (s *Store) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	tenant, was, err := s.readRecord(ctx, &r)
	if err == nil {
		err = r.CheckDelete(was.standing())
	}
	if err != nil {
		return err
	}
	is := document{version: max(was.version+1, s.stamp())}
	return s.swapRecord(ctx, tenant, &r, was, is, tombstone)
}

// swapRecord puts a document over the one that was read. One that was deleted keeps its version for
// a while, so that its next life has greater ones although the clock of another process, which may
// begin it, is behind.
func (s *Store) swapRecord(
	ctx context.Context, tenant string, r *andon.Record, was, is document, ttl time.Duration,
) error {
	i := documentKey(tenant, r)
	i[attrVersion] = number(is.version)
	i.setText(attrData, is.data)
	if is.life != 0 {
		i[attrLife] = number(is.life)
	}
	if is.due != 0 {
		i[attrDue] = number(is.due)
		i[attrDueIn] = text(join(escape(string(r.Kind)), bucketOf(r.ID)))
		i[attrDueAt] = text(timeText(is.due) + "#" + string(r.Tenant) + "\t" + r.ID)
	}
	if ttl != 0 {
		i[attrTTL] = number(s.options.Now().Std().Add(ttl).Unix())
	}
	c := isAbsent(attrKey)
	if was.version != 0 {
		c = isStill(attrVersion, was.version)
	}
	err := s.swap(ctx, tableRecords, documentKey(tenant, r), i, c)
	if errors.Is(err, errRaced) {
		return andon.Errorf(andon.Conflict, "%s was changed meanwhile: read it again and repeat", r)
	}
	return err
}

// Records is of andon.Records.
func (s *Store) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		key, err := s.owner(ctx, tenant)
		if err != nil {
			return err
		}
		ask := s.record(documentsKey(key, kind))
		ask.order, ask.from, ask.page = andon.Asc, max(q.Prefix, q.After), min(q.Limit, 255)+1
		yield = seq.UpTo(q.Limit, yield)
		for i, err := range s.each(ctx, ask) {
			if err != nil {
				return err
			}
			is, id := readDocument(i), i.text(attrSort)
			if !strings.HasPrefix(id, q.Prefix) && id > q.Prefix {
				return nil
			}
			if is.standing() == 0 || !q.Admits(id) {
				continue
			}
			r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
			if is.into(&r); !yield(r) {
				return nil
			}
		}
		return nil
	})
}

// dueRow is a row of the index, as it sorts, and the partition of its record.
type dueRow string

func (d dueRow) key() item {
	at, partition, _ := strings.Cut(string(d), "\x00")
	_, id, _ := strings.Cut(at, "\t")
	return keyed(recordKeys(), partition, id)
}

// DueRecords is of andon.Records.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		var streams []*shared.Rows[dueRow]
		for n := range buckets {
			ask := question{
				table: tableRecords, index: indexDue, key: keys{attrDueIn, attrDueAt},
				partition: join(escape(string(kind)), strconv.Itoa(n)), order: andon.Asc,
				to: timeText(min(until, andon.MaxTime)) + "$", page: min(limit, 255) + 1,
			}
			streams = append(streams, rows(s, ask, func(i item) (dueRow, bool, error) {
				return dueRow(i.text(attrDueAt) + "\x00" + i.text(attrKey)), true, nil
			}))
		}
		found := shared.NewMerge(streams...)
		for left := limit; left > 0; {
			due, err := found.Next(ctx, "", min(left, batchGets))
			if err != nil || len(due) == 0 {
				return err
			}
			all, err := s.stillDue(ctx, kind, due, until)
			if err != nil {
				return err
			}
			for _, r := range all {
				if left--; !yield(r) {
					return nil
				}
			}
		}
		return nil
	})
}

// stillDue reads the records of an index as they are now, of the tenants that there are.
func (s *Store) stillDue(
	ctx context.Context, kind andon.RecordKind, due []dueRow, until andon.Time,
) (all []andon.Record, err error) {
	for _, d := range due {
		key := d.key()
		i, err := s.get(ctx, tableRecords, key)
		if err != nil {
			return nil, err
		}
		is := readDocument(i)
		at, _, _ := strings.Cut(string(d), "#")
		if is.standing() == 0 || is.due == 0 || is.due > until || timeText(is.due) != at {
			continue
		}
		r := andon.Record{Kind: kind, ID: key.text(attrSort)}
		owner := strings.TrimPrefix(key.text(attrKey), "record#")
		owner = strings.TrimSuffix(owner, "#"+escape(string(kind)))
		if owner != "" {
			r.Tenant = tenantOf(owner)
			t, err := s.tenant(ctx, r.Tenant)
			if err != nil && andon.KindOf(err) != andon.NotFound {
				return nil, err
			}
			if err != nil || t.key != owner {
				continue
			}
		}
		is.into(&r)
		all = append(all, r)
	}
	return all, nil
}
