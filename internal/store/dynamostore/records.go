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
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// Records are versioned documents. A version is a time in µs, or later, and only rises. Those that
// are due are found by an index; each hit is checked against the record.

func (s *Store) document(
	ctx context.Context, tenant string, r *andon.Record,
) (shared.Document, error) {
	i, err := s.db.Get(ddb.Strongly(ctx), items.TableRecords, items.DocumentKey(tenant, r))
	return items.ReadDocument(i), err
}

// swapRecord puts a document over the one that was read. A deleted one keeps its version for a
// while, so that its next incarnation has greater versions, even where another process with a slow
// clock begins it.
func (s *Store) swapRecord(
	ctx context.Context, key string, r *andon.Record, was, is shared.Document,
) error {
	if key != "" && is.Live() != 0 {
		x := items.IndexRows{}
		x.Kind(&tenant{Key: key}, r.Kind)
		if err := s.writeIndexed(ctx, x); err != nil {
			return err
		}
	}
	i := items.DocumentKey(key, r)
	i[items.AttrVersion] = ddb.Number(is.Version)
	i.SetText(items.AttrData, is.Data)
	if is.Incarnations != 0 {
		i[items.AttrIncarnation] = ddb.Number(is.Incarnations)
	}
	if is.Due != 0 {
		i[items.AttrDue] = ddb.Number(is.Due)
		i[items.AttrDueIn] = ddb.Text(items.Join(items.Escape(string(r.Kind)),
			items.BucketOf(r.ID)))
		i[items.AttrDueAt] = ddb.Text(items.TimeText(is.Due) + "#" + string(r.Tenant) + "\t" + r.ID)
	}
	if is.Live() == 0 && is.Incarnations == 0 {
		i[items.AttrTTL] = ddb.Number(s.options.Now().Std().Add(tombstone).Unix())
	}
	c := ddb.Absent(items.AttrKey)
	if was.Version != 0 {
		c = ddb.Unchanged(items.AttrVersion, was.Version)
	}
	err := s.db.Swap(ctx, items.TableRecords, items.DocumentKey(key, r), i, c)
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
		ask := items.Records(items.DocumentsKey(key, kind))
		ask.Order, ask.From, ask.Page = andon.Asc, max(q.Prefix, q.After), min(q.Limit, 255)+1
		yield = seq.UpTo(q.Limit, yield)
		for i, err := range s.db.Items(ctx, ask) {
			if err != nil {
				return err
			}
			is, id := items.ReadDocument(i), i.Text(items.AttrSort)
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

// DueRecords implements andon.Records.
func (s *Store) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		var all []ddb.Query
		for n := range items.Buckets {
			all = append(all, ddb.Query{
				Table: items.TableRecords, Index: items.IndexDue,
				Key:       ddb.Keys{Hash: items.AttrDueIn, Sort: items.AttrDueAt},
				Partition: items.Join(items.Escape(string(kind)), strconv.Itoa(n)),
				Order:     andon.Asc, Page: min(limit, 255) + 1,
				To: items.TimeText(min(until, andon.MaxTime)) + "$",
			})
		}
		streams := ddb.RowsOf(s.db, all, func(i ddb.Item) (items.DueRow, bool, error) {
			return items.DueRow(i.Text(items.AttrDueAt) + "\x00" + i.Text(items.AttrKey)), true, nil
		})
		show := func(due []items.DueRow) ([]andon.Record, error) {
			return shared.Found(ctx, due, func(
				ctx context.Context, d items.DueRow,
			) (*andon.Record, error) {
				return s.stillDue(ctx, kind, d, until)
			})
		}
		return shared.Select(shared.IDs(ctx, "", streams...), limit, show, yield)
	})
}

// stillDue reads a record that an index found as it is now; nil where it is not due, or its tenant
// does not exist.
func (s *Store) stillDue(
	ctx context.Context, kind andon.RecordKind, d items.DueRow, until andon.Time,
) (*andon.Record, error) {
	key := d.Key()
	i, err := s.db.Get(ctx, items.TableRecords, key)
	if err != nil {
		return nil, err
	}
	is := items.ReadDocument(i)
	at, _, _ := strings.Cut(string(d), "#")
	if is.Live() == 0 || is.Due == 0 || is.Due > until || items.TimeText(is.Due) != at {
		return nil, nil
	}
	r := &andon.Record{Kind: kind, ID: key.Text(items.AttrSort)}
	owner := strings.TrimPrefix(key.Text(items.AttrKey), "record#")
	owner = strings.TrimSuffix(owner, "#"+items.Escape(string(kind)))
	if owner != "" {
		r.Tenant = items.TenantOf(owner)
		t, err := s.tenant(ctx, r.Tenant)
		if err != nil && andon.KindOf(err) != andon.NotFound {
			return nil, err
		}
		if err != nil || t.Key != owner {
			return nil, nil
		}
	}
	is.Into(r)
	return r, nil
}
