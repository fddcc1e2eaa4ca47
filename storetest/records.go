package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// recordIDs are few, so that steps meet; some are beginnings of others.
var recordIDs = []string{"r", "r1", "r!", "r#1", "ä", "🏭"}

// recordKind is the kind of a history's records: what is due is asked for across tenants.
func recordKind(seed uint64) andon.RecordKind {
	return andon.RecordKind(fmt.Sprint("history-", seed))
}

// record puts or deletes a record over the version that is there, or over another one.
func (g *generator) record() step {
	kind, now := g.kind, g.now
	r := andon.Record{
		Tenant: pick(g, g.tenants), Kind: kind, ID: pick(g, recordIDs),
		Data: andon.JSON(fmt.Sprintf(`{"n":%d}`, g.IntN(1000))),
	}
	if g.IntN(3) > 0 { // on a grid, so that several are due at once
		r.Due = now - andon.Time(hour)*andon.Time(g.IntN(8)-4) - now%andon.Time(hour)
	}
	ahead := uint64(0)
	if g.IntN(5) == 0 {
		ahead = 1
	}
	deletes := g.IntN(3) == 0
	verb := "put"
	if deletes {
		verb = "delete"
	}
	return step{
		text: fmt.Sprintf("%s record %s: %s due %s, %d versions ahead", verb, short(r.Tenant), &r,
			r.Due, ahead),
		do: func(ctx context.Context, s *subject) (any, error) {
			over := r
			switch there, err := s.store.Record(ctx, r.Tenant, kind, r.ID); {
			case err == nil:
				over.Version = there.Version + ahead
			case andon.KindOf(err) == andon.NotFound:
				over.Version = ahead
			default:
				return nil, err
			}
			if deletes {
				return nil, s.store.DeleteRecord(ctx, over)
			}
			put, err := s.store.PutRecord(ctx, over)
			return unversioned(put), err
		},
	}
}

// unversioned leaves the version out: it is each store's own.
func unversioned(r andon.Record) andon.Record {
	r.Version = 0
	return r
}

// recordQuestions asks for the records of a history, and for what is due of all its tenants.
func (a *asker) recordQuestions(kind andon.RecordKind) {
	prefix, size := pickFrom(a.Rand, []string{"", "", "r", "r1", "x"}), 1+a.IntN(4)
	a.add(fmt.Sprintf("records %q in pages of %d", prefix, size),
		func(ctx context.Context, s *subject) (any, error) {
			q := andon.RecordQuery{Prefix: prefix, Limit: size}
			list, err := seq.Collect(s.whole().Records(ctx, a.tenant, kind, q))
			return withoutVersions(list), err
		})
	id := pickFrom(a.Rand, recordIDs)
	a.add("record "+id, func(ctx context.Context, s *subject) (any, error) {
		found, err := s.store.Record(ctx, a.tenant, kind, id)
		return unversioned(found), err
	})
	until, limit := a.on.Now()+andon.Time(hour)*andon.Time(a.IntN(5)-2), 1+a.IntN(8)
	a.add(fmt.Sprintf("at most %d that are due until %s", limit, until),
		func(ctx context.Context, s *subject) (any, error) {
			list, err := seq.Collect(s.store.DueRecords(ctx, kind, until, limit))
			return withoutVersions(list), err
		})
}

func withoutVersions(list []andon.Record) []andon.Record {
	list = slices.Clone(list)
	for i := range list {
		list[i].Version = 0
	}
	return list
}
