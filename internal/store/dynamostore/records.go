package dynamostore

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// Records are versioned documents. A version is a time in µs, or later, and only rises. Those that
// are due are found by an index; each hit is checked against the record.

const (
	attrDue         = "Due"
	attrData        = "Data"
	attrIncarnation = "Life"
	attrDueIn       = "DueIn"
	attrDueAt       = "DueAt"
)

// readDocument reads the item of a record.
func readDocument(i ddb.Item) shared.Document {
	return shared.Document{
		Version: i.Int(attrVersion), Due: i.Time(attrDue), Data: i.Text(attrData),
		Incarnations: int(i.Int(attrIncarnation)),
	}
}

func documentsKey(tenant string, kind andon.RecordKind) string {
	return join("record#"+tenant, string(kind))
}

func documentKey(tenant string, r *andon.Record) ddb.Item {
	return recordKeys().Item(documentsKey(tenant, r.Kind), r.ID)
}

func (s *Store) document(
	ctx context.Context, tenant string, r *andon.Record,
) (shared.Document, error) {
	i, err := s.db.Get(ddb.Strongly(ctx), tableRecords, documentKey(tenant, r))
	return readDocument(i), err
}

// swapRecord puts a document over the one that was read. A deleted one keeps its version for a
// while, so that its next incarnation has greater versions, even where another process with a slow
// clock begins it.
func (s *Store) swapRecord(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	if key != "" && is.Live() != 0 {
		x := indexRows{}
		x.kind(&tenant{Key: key}, r.Kind)
		if err := s.writeIndexed(ctx, x); err != nil {
			return err
		}
	}
	i := documentKey(key, r)
	i[attrVersion] = ddb.Number(is.Version)
	i.SetText(attrData, is.Data)
	if is.Incarnations != 0 {
		i[attrIncarnation] = ddb.Number(is.Incarnations)
	}
	if is.Due != 0 {
		i[attrDue] = ddb.Number(is.Due)
		i[attrDueIn] = ddb.Text(join(escape(string(r.Kind)), bucketOf(r.ID)))
		i[attrDueAt] = ddb.Text(timeText(is.Due) + "#" + string(r.Tenant) + "\t" + r.ID)
	}
	if is.Live() == 0 && is.Incarnations == 0 {
		i[attrTTL] = ddb.Number(s.options.Now().Std().Add(tombstone).Unix())
	}
	c := ddb.Absent(attrKey)
	if was.Version != 0 {
		c = ddb.Unchanged(attrVersion, was.Version)
	}
	err := s.db.Swap(ctx, tableRecords, documentKey(key, r), i, c)
	if errors.Is(err, ddb.ErrRaced) {
		return andon.Errorf(andon.Conflict, "%s was changed meanwhile: read it again and repeat", r)
	}
	return err
}

// Records implements andon.Records.
func (s *Store) Records(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, q andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		key, err := s.KeyOf(ctx, tenant)
		if err != nil {
			return err
		}
		ask := s.record(documentsKey(key, kind))
		ask.Order, ask.From, ask.Page = andon.Asc, max(q.Prefix, q.After), min(q.Limit, 255)+1
		yield = seq.UpTo(q.Limit, yield)
		for i, err := range s.db.Items(ctx, ask) {
			if err != nil {
				return err
			}
			is, id := readDocument(i), i.Text(attrSort)
			if !strings.HasPrefix(id, q.Prefix) && id > q.Prefix {
				return nil
			}
			if is.Live() == 0 || !q.Admits(id) {
				continue
			}
			r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
			if is.Into(&r); !yield(r) {
				return nil
			}
		}
		return nil
	})
}

// dueRow is a row of the index as it sorts, followed by the partition of its record.
type dueRow string

func (d dueRow) key() ddb.Item {
	at, partition, _ := strings.Cut(string(d), "\x00")
	_, id, _ := strings.Cut(at, "\t")
	return recordKeys().Item(partition, id)
}

// DueRecords implements andon.Records.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		var streams []*shared.Rows[dueRow]
		for n := range buckets {
			ask := ddb.Query{
				Table: tableRecords, Index: indexDue,
				Key:       ddb.Keys{Hash: attrDueIn, Sort: attrDueAt},
				Partition: join(escape(string(kind)), strconv.Itoa(n)), Order: andon.Asc,
				To: timeText(min(until, andon.MaxTime)) + "$", Page: min(limit, 255) + 1,
			}
			streams = append(streams, ddb.Rows(s.db, ask, func(i ddb.Item) (dueRow, bool, error) {
				return dueRow(i.Text(attrDueAt) + "\x00" + i.Text(attrKey)), true, nil
			}))
		}
		found := shared.NewMerge(streams...)
		for left := limit; left > 0; {
			due, err := found.Next(ctx, "", min(left, ddb.MaxGets))
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

// stillDue reads the records that an index found as they are now, of tenants that exist.
func (s *Store) stillDue(
	ctx context.Context, kind andon.RecordKind, due []dueRow, until andon.Time,
) (all []andon.Record, err error) {
	for _, d := range due {
		key := d.key()
		i, err := s.db.Get(ctx, tableRecords, key)
		if err != nil {
			return nil, err
		}
		is := readDocument(i)
		at, _, _ := strings.Cut(string(d), "#")
		if is.Live() == 0 || is.Due == 0 || is.Due > until || timeText(is.Due) != at {
			continue
		}
		r := andon.Record{Kind: kind, ID: key.Text(attrSort)}
		owner := strings.TrimPrefix(key.Text(attrKey), "record#")
		owner = strings.TrimSuffix(owner, "#"+escape(string(kind)))
		if owner != "" {
			r.Tenant = tenantOf(owner)
			t, err := s.tenant(ctx, r.Tenant)
			if err != nil && andon.KindOf(err) != andon.NotFound {
				return nil, err
			}
			if err != nil || t.Key != owner {
				continue
			}
		}
		is.Into(&r)
		all = append(all, r)
	}
	return all, nil
}
