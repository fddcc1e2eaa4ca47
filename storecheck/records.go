package storecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
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
		require(doneOnce(writers, func(w int) (won bool, err error) {
			mine := r
			mine.Data = andon.JSON(fmt.Sprintf(`{"round":%d,"by":%d}`, round, w))
			_, err = e.Store.PutRecord(ctx, mine)
			if err != nil && andon.KindOf(err) == andon.Conflict {
				return false, nil
			}
			return err == nil, err
		}))
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

// record reads a record: put r1 due=5m data={"a":2} kind=other. It has the version that was seen
// last, or with over=NAME that to which a put has given the name; none has the name none.
func (t turn) record() (r andon.Record, as string) {
	id, f := t.next("an id"), t.fields("due", "data", "kind", "as", "over")
	return andon.Record{
		Tenant: t.id, Kind: t.kind + andon.RecordKind(f["kind"]), ID: id, Due: t.timeAt(f["due"]),
		Data:    cmp.Or(f.json("data"), `{"a":1}`),
		Version: t.versions[cmp.Or(f["over"], string(t.id)+"/"+id)],
	}, f["as"]
}

func put(t turn) error {
	r, as := t.record()
	kept, err := t.Store.PutRecord(t, r)
	if err != nil {
		return err
	}
	want := r
	want.Version = kept.Version
	if kept != want || kept.Version <= r.Version {
		return fmt.Errorf("put over version %d returns %+v", r.Version, kept)
	}
	t.versions[string(r.Tenant)+"/"+r.ID], t.versions[as] = kept.Version, kept.Version
	return nil
}

func drop(t turn) error {
	r, _ := t.record()
	err := t.Store.DeleteRecord(t, r)
	if err == nil {
		delete(t.versions, string(r.Tenant)+"/"+r.ID)
	}
	return err
}

func expectRecord(t turn) error {
	r, _ := t.record()
	return t.stored(t, r)
}

func expectNoRecord(t turn) error {
	r, _ := t.record()
	return t.Eventually(t, func() error {
		return wantKind(andon.NotFound, second(t.Store.Record(t, r.Tenant, r.Kind, r.ID)))
	})
}

func storedBy(o options) lister {
	return listing(func(t turn) iter.Seq2[andon.Record, error] {
		q := andon.RecordQuery{Prefix: o.prefix, Limit: t.limit}
		return Whole{t.Store}.Records(t, t.id, t.kind, q)
	}, func(_ *Env, r andon.Record) string { return r.ID })
}

// due reads until when, and how many: due 5m limit=2.
func (t turn) due() lister {
	until, limit := t.time(), must(strconv.Atoi(cmp.Or(t.fields("limit")["limit"], "99")))
	return func(t turn) (ids []string, err error) {
		for r, err := range t.Store.DueRecords(t, t.kind, until, limit) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, r.ID)
		}
		return ids, nil
	}
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
