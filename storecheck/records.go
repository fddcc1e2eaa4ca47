package storecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// recordChecks: versioned documents.
func recordChecks() []Check {
	return []Check{
		check("2.16", "of concurrent writers that read one version one wins",
			oneWins).concurrent(),
		check("2.16", "what is due is claimed once", claimedOnce).concurrent(),
		check("2.16", "a deleted tenant takes its records along", recordsGo),
		check("limits", "records beyond the limits are refused", recordLimits),
	}
}

func aRecord(tenant andon.TenantID, id string) andon.Record {
	return andon.Record{Tenant: tenant, Kind: "check", ID: id, Data: `{"a":1}`}
}

// stored checks that a record is there as it was put.
func (e *Env) stored(ctx context.Context, want andon.Record) error {
	return e.Eventually(ctx, func() error {
		got, err := e.Store.Record(ctx, want.Tenant, want.Kind, want.ID)
		if err == nil && got != want {
			err = fmt.Errorf("it is %+v, not %+v", got, want)
		}
		return err
	})
}

// oneWins has several writers change one record, over the version that all of them read, again and
// again.
func oneWins(ctx context.Context, e *Env, id andon.TenantID) error {
	const writers, rounds = 4, 5
	r := aRecord(id, "r1")
	for round := range rounds {
		var won atomic.Int32
		require(concurrently(writers, func(w int) error {
			mine := r
			mine.Data = andon.JSON(fmt.Sprintf(`{"round":%d,"by":%d}`, round, w))
			_, err := e.Store.PutRecord(ctx, mine)
			if err == nil {
				won.Add(1)
			} else if andon.KindOf(err) == andon.Conflict {
				return nil
			}
			return err
		}))
		if won.Load() != 1 {
			return fmt.Errorf("%d writers won", won.Load())
		}
		was := r.Version
		require(e.Eventually(ctx, func() (err error) {
			r, err = e.Store.Record(ctx, id, r.Kind, r.ID)
			if err == nil && r.Version == was {
				err = errors.New("what was put is not there")
			}
			return err
		}))
	}
	return nil
}

// ofRecord reads a record: put r1 due=5m data={"a":2} kind=other. It has the version that was seen
// last, or with over=NAME that to which a put has given the name; none has the name none.
func ofRecord(
	words []string, do func(ctx context.Context, e *Env, r andon.Record, as string) error,
) action {
	fields := must(parseFields(words[1:], "due", "data", "kind", "as", "over"))
	due := must(parseBound(fields["due"]))
	return inTenant(func(ctx context.Context, e *Env, id andon.TenantID) error {
		r := andon.Record{
			Tenant: id, Kind: e.kind + andon.RecordKind(fields["kind"]), ID: words[0],
			Data: andon.JSON(cmp.Or(fields["data"], `{"a":1}`)),
		}
		r.Version = e.versions[cmp.Or(fields["over"], string(id)+"/"+r.ID)]
		if due != nil {
			r.Due = due.from(e)
		}
		return do(ctx, e, r, fields["as"])
	})
}

func parsePut(words []string) action {
	return ofRecord(words, func(ctx context.Context, e *Env, r andon.Record, as string) error {
		put, err := e.Store.PutRecord(ctx, r)
		if err != nil {
			return err
		}
		want := r
		want.Version = put.Version
		if put != want || put.Version == 0 || put.Version == r.Version {
			return fmt.Errorf("put over version %d returns %+v", r.Version, put)
		}
		e.versions[string(r.Tenant)+"/"+r.ID], e.versions[as] = put.Version, put.Version
		return nil
	})
}

func parseDrop(words []string) action {
	return ofRecord(words, func(ctx context.Context, e *Env, r andon.Record, _ string) error {
		err := e.Store.DeleteRecord(ctx, r)
		if err == nil {
			delete(e.versions, string(r.Tenant)+"/"+r.ID)
		}
		return err
	})
}

func parseRecord(words []string) action {
	return ofRecord(words, func(ctx context.Context, e *Env, r andon.Record, _ string) error {
		return e.stored(ctx, r)
	})
}

func parseNoRecord(words []string) action {
	return ofRecord(words, func(ctx context.Context, e *Env, r andon.Record, _ string) error {
		return e.Eventually(ctx, func() error {
			_, err := e.Store.Record(ctx, r.Tenant, r.Kind, r.ID)
			return wantKind(andon.NotFound, err)
		})
	})
}

func storedBy(prefix string) lister {
	return listing(func(a asked) iter.Seq2[andon.Record, error] {
		q := andon.RecordQuery{Prefix: prefix, Limit: a.limit}
		return Whole{a.Store}.Records(a, a.id, a.kind, q)
	}, func(_ *Env, r andon.Record) string { return r.ID })
}

// parseDue reads until when: due 5m limit=2.
func parseDue(words []string) lister {
	until := must(parseOffset(words[0]))
	limit := 99
	if len(words) > 1 {
		must(fmt.Sscanf(words[1], "limit=%d", &limit))
	}
	return dueUntil(until, limit)
}

func dueUntil(until offset, limit int) lister {
	return func(ctx context.Context, e *Env, _ andon.TenantID) (ids []string, err error) {
		for r, err := range e.Store.DueRecords(ctx, e.kind, until.from(e), limit) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, r.ID)
		}
		return ids, nil
	}
}

func (e *Env) noneDue(ctx context.Context, id andon.TenantID) error {
	return e.wantList(ctx, id, dueUntil(offset(e.Now()-e.Base), 1), nil)
}

// claimedOnce has several workers claim what is due, by deleting it, until nothing is left.
func claimedOnce(ctx context.Context, e *Env, id andon.TenantID) error {
	const records, workers = 12, 3
	for i := range records {
		r := aRecord(id, fmt.Sprint(i))
		r.Kind, r.Due = e.kind, e.Now()-andon.Time(i%4)
		must(e.Store.PutRecord(ctx, r))
	}
	var claimed atomic.Int32
	err := concurrently(workers, func(int) error {
		for found := true; found; {
			found = false
			for r, err := range e.Store.DueRecords(ctx, e.kind, e.Now(), 100) {
				if err != nil {
					return err
				}
				found = true
				switch err := e.Store.DeleteRecord(ctx, r); andon.KindOf(err) {
				case andon.Conflict, andon.NotFound: // another worker has it
				default:
					if err != nil {
						return err
					}
					claimed.Add(1)
				}
			}
		}
		return nil
	})
	require(err)
	if claimed.Load() != records {
		return fmt.Errorf("%d records were claimed %d times", records, claimed.Load())
	}
	return nil
}

func recordsGo(ctx context.Context, e *Env, _ andon.TenantID) error {
	id := must(e.Tenant(ctx, "deleted"))
	r := aRecord(id, "r1")
	r.Kind, r.Due = e.kind, e.Now()
	r = must(e.Store.PutRecord(ctx, r))
	require(e.Store.DeleteTenant(ctx, id))
	if err := e.noneDue(ctx, id); err != nil {
		return fmt.Errorf("of a deleted tenant: %w", err)
	}
	must(e.Store.PutTenant(ctx, andon.NewTenant(id)))
	_, err := e.Store.Record(ctx, id, r.Kind, r.ID)
	if err := wantKind(andon.NotFound, err); err != nil {
		return fmt.Errorf("the tenant made again has its record: %w", err)
	}
	if err := e.noneDue(ctx, id); err != nil {
		return fmt.Errorf("of a tenant made again: %w", err)
	}
	list := must(Collect(e.Store.Records(ctx, id, r.Kind, andon.RecordQuery{Limit: 9})))
	if len(list) > 0 {
		return fmt.Errorf("the tenant made again lists %+v", list)
	}
	return nil
}

func recordLimits(ctx context.Context, e *Env, id andon.TenantID) error {
	long := strings.Repeat("x", andon.MaxRecordIDBytes)
	widest := aRecord(id, long)
	widest.Kind = andon.RecordKind(long[:andon.MaxStateBytes])
	widest.Data = andon.JSON(`"` + strings.Repeat("x", andon.MaxRecordBytes-2) + `"`)
	kept, err := e.Store.PutRecord(ctx, widest)
	if err != nil {
		return fmt.Errorf("the longest of all: %w", err)
	}
	require(e.stored(ctx, kept))
	for what, spoil := range map[string]func(*andon.Record){
		"no id":                     func(r *andon.Record) { r.ID = "" },
		"a long id":                 func(r *andon.Record) { r.ID = long + "x" },
		"a control character":       func(r *andon.Record) { r.ID = "a\x00b" },
		"no kind":                   func(r *andon.Record) { r.Kind = "" },
		"a long kind":               func(r *andon.Record) { r.Kind += "x" },
		"a long document":           func(r *andon.Record) { r.Data = " " + r.Data },
		"no document":               func(r *andon.Record) { r.Data = "" },
		"broken JSON":               func(r *andon.Record) { r.Data = "{" },
		"a time before all times":   func(r *andon.Record) { r.Due = -1 },
		"the document of a tenant":  func(r *andon.Record) { r.Tenant, r.Kind = "", "tenant" },
		"a tenant that can't be so": func(r *andon.Record) { r.Tenant = "a\nb" },
	} {
		r := widest
		spoil(&r)
		_, err := e.Store.PutRecord(ctx, r)
		if err := wantKind(andon.Invalid, err); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	own := andon.Record{Kind: andon.TenantKind, ID: string(id), Version: 1}
	if err := wantKind(andon.Invalid, e.Store.DeleteRecord(ctx, own)); err != nil {
		return fmt.Errorf("deleting the document of a tenant: %w", err)
	}
	return nil
}
