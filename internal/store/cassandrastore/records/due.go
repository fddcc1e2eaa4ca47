package records

import (
	"context"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
)

// The layout of due_by_slot.
const (
	DueSlot   = 5 * 60 * 1_000_000 // µs
	dueShards = 16
	// DueMargin is how long a row that looks stale is left alone: its record may be about to be
	// written, and clocks of processes differ. In µs.
	DueMargin = 10 * 60 * 1_000_000
)

func dueOf(key, id string, due int64) (slot, shard int) {
	return int(due / DueSlot), shared.Spread(shared.Hash(key+"\x00"+id), dueShards)
}

// DueRows are the index rows of a version of a record that is due.
func DueRows(key string, r *andon.Record, is shared.Document) []cql.Mutation {
	if is.Due == 0 {
		return nil
	}
	slot, shard := dueOf(key, r.ID, int64(is.Due))
	return []cql.Mutation{
		cql.One("INSERT INTO due_slots (kind, slot, shard, version) VALUES (?, ?, ?, ?) "+
			"USING TIMESTAMP ?", string(r.Kind), slot, shard, is.Version, is.Version),
		cql.One("INSERT INTO due_by_slot (kind, slot, shard, due, tenant, id, version) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
			string(r.Kind), slot, shard, int64(is.Due), key, r.ID, is.Version, is.Version),
	}
}

// noLongerDue deletes the index rows of a version.
func noLongerDue(key string, r *andon.Record, was shared.Document) []cql.Mutation {
	if was.Due == 0 {
		return nil
	}
	slot, shard := dueOf(key, r.ID, int64(was.Due))
	return []cql.Mutation{cql.One("DELETE FROM due_by_slot USING TIMESTAMP ? WHERE kind = ? AND "+
		"slot = ? AND shard = ? AND due = ? AND tenant = ? AND id = ?",
		was.Version, string(r.Kind), slot, shard, int64(was.Due), key, r.ID)}
}

// slotRow is a shard of a slot that may have rows.
type slotRow struct {
	slot, shard int
	version     int64 // of the newest record that was put there
}

func (r *slotRow) columns() []any { return []any{&r.slot, &r.shard, &r.version} }

type dueRow struct {
	due        int64
	tenant, id string
	version    int64
}

func (r *dueRow) columns() []any { return []any{&r.due, &r.tenant, &r.id, &r.version} }

// place sorts like Record.CompareDue.
func (r *dueRow) place() string {
	return fmt.Sprintf("%019d\x00%s\x00%s", r.due, rows.TenantOf(r.tenant), r.id)
}

func (r *dueRow) document() shared.Document {
	return shared.Document{Version: r.version, Due: andon.Time(r.due)}
}

func (r *dueRow) record(kind andon.RecordKind) *andon.Record {
	return &andon.Record{
		Tenant: rows.TenantOf(r.tenant), Kind: kind, ID: r.id, Due: andon.Time(r.due),
	}
}

// dueList is one list of due records while it runs.
type dueList struct {
	*Table
	kind  andon.RecordKind
	until andon.Time
	page  int // rows of a shard that are read at once
}

// DueRecords implements andon.Records.
func (s *Table) DueRecords(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		ask := cql.Ask("SELECT slot, shard, version FROM due_slots WHERE kind = ? AND slot <= ?", 1)
		args := []any{string(kind), int(min(until, andon.MaxTime) / DueSlot)}
		slots := cql.Pages(s.DB, ask, args, cql.PageRows, (*slotRow).columns)
		of := func(r *slotRow) int { return r.slot }
		d := &dueList{s, kind, until, min(limit, cql.PageRows)}
		found := seq.Join(shared.Merge(ctx, of, andon.Asc, slots),
			func(shards []slotRow) iter.Seq2[dueRow, error] { return d.slot(ctx, shards) })
		return shared.Select(found, limit, func(rows []dueRow) ([]andon.Record, error) {
			return shared.Found(ctx, rows, d.show)
		}, yield)
	})
}

// slot lists the rows of one slot, and forgets its shards that are over and empty.
func (d *dueList) slot(ctx context.Context, shards []slotRow) iter.Seq2[dueRow, error] {
	all := make([]*shared.Rows[dueRow], len(shards))
	heads := func() ([]*shared.Rows[dueRow], error) {
		return all, shared.Parallel(ctx, len(shards), func(ctx context.Context, i int) error {
			r := shards[i]
			all[i] = cql.Pages(d.DB, cql.Ask("SELECT due, tenant, id, version FROM due_by_slot "+
				"WHERE kind = ? AND slot = ? AND shard = ? AND due <= ?", 3),
				[]any{string(d.kind), r.slot, r.shard, int64(d.until)},
				d.page, (*dueRow).columns)
			first, err := all[i].Head(ctx)
			over := int64(d.until) >= int64(r.slot+1)*DueSlot && d.old(r.version)
			if err == nil && first == nil && over {
				d.forget(ctx, cql.One("DELETE FROM due_slots USING TIMESTAMP ? WHERE "+
					"kind = ? AND slot = ? AND shard = ?",
					r.version, string(d.kind), r.slot, r.shard))
			}
			return err
		})
	}
	return seq.After(heads, func(all []*shared.Rows[dueRow]) iter.Seq2[dueRow, error] {
		found := shared.Merge(ctx, (*dueRow).place, andon.Asc, all...)
		return seq.Join(found, func(same []dueRow) iter.Seq2[dueRow, error] {
			return seq.List(func() ([]dueRow, error) { return same, nil })
		})
	})
}

// show returns the record of a row; nil where it leads to none, and then forgets it.
func (d *dueList) show(ctx context.Context, h dueRow) (*andon.Record, error) {
	r, gone, err := d.recordOf(ctx, &h)
	if gone {
		d.forget(ctx, noLongerDue(h.tenant, h.record(d.kind), h.document())...)
	}
	return r, err
}

// recordOf returns the record of a row; nil if it is not due then, and whether the row is certainly
// stale.
func (d *dueList) recordOf(ctx context.Context, h *dueRow) (*andon.Record, bool, error) {
	r := h.record(d.kind)
	key, err := d.Key(ctx, r.Tenant)
	if andon.KindOf(err) == andon.NotFound || err == nil && key != h.tenant {
		return nil, true, nil // of a former key of the tenant
	}
	if err != nil {
		return nil, false, err
	}
	is, err := d.Read(ctx, key, r)
	switch {
	case err != nil:
		return nil, false, err
	case is.Live() == 0 || is.Due != r.Due:
		return nil, is.Version >= h.version || d.old(h.version), nil
	}
	is.Into(r)
	return r, false, nil
}

// old reports whether the write of a version is certainly done or given up.
func (s *Table) old(version int64) bool { return int64(s.Now())-version > DueMargin }
