package storecheck

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/andonhq/andon"
)

// recordChecks: versioned documents.
func recordChecks() []Check {
	return []Check{
		check("2.16", "a record is changed only over the version it was read with", versions),
		check("2.16", "of writers side by side who read one version one wins", oneWins),
		check("2.16", "a version is not given to two records of one id", versionsDiffer),
		check("2.16", "records are listed by id, by prefix, page by page", recordLists),
		check("2.16", "records are due by time, of all tenants", recordsDue),
		check("2.16", "a lease passes on once its time is over", leasePassesOn),
		check("2.16", "what is due is claimed once", claimedOnce),
		check("2.16", "a deleted tenant takes its records along", recordsGo),
		check("limits", "records beyond the limits are refused", recordLimits),
	}
}

func aRecord(tenant andon.TenantID, id string) andon.Record {
	return andon.Record{Tenant: tenant, Kind: "check", ID: id, Data: `{"a":1}`}
}

// ownKind returns a kind that no other check has: what is due is asked for across tenants.
func ownKind() andon.RecordKind { return andon.RecordKind("check-" + rand.Text()) }

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

func versions(ctx context.Context, e *Env, id andon.TenantID) error {
	fresh := aRecord(id, "r1")
	first, err := e.Store.PutRecord(ctx, fresh)
	if err != nil {
		return err
	}
	changed := first
	changed.Data, changed.Due = `{"a":2}`, e.Base
	second, err := e.Store.PutRecord(ctx, changed)
	if err != nil {
		return err
	}
	changed.Version = second.Version
	if first.Version == 0 || second != changed || first.Version == second.Version {
		return fmt.Errorf("put returns %+v, and then %+v", first, second)
	}
	if err := e.stored(ctx, second); err != nil {
		return err
	}
	absent := aRecord(id, "r2")
	absent.Version = second.Version
	for _, c := range []struct {
		what string
		err  error
		kind andon.Kind
	}{
		{"put over an older version", putError(e.Store.PutRecord(ctx, first)), andon.Conflict},
		{"put as new over one that is there", putError(e.Store.PutRecord(ctx, fresh)),
			andon.Conflict},
		{"put over one that is not there", putError(e.Store.PutRecord(ctx, absent)),
			andon.Conflict},
		{"delete of an older version", e.Store.DeleteRecord(ctx, first), andon.Conflict},
		{"delete of one that is not there", e.Store.DeleteRecord(ctx, absent), andon.NotFound},
	} {
		if err := wantKind(c.kind, c.err); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	if err := e.stored(ctx, second); err != nil {
		return err
	}
	if err := e.Store.DeleteRecord(ctx, second); err != nil {
		return err
	}
	return e.Eventually(ctx, func() error {
		_, err := e.Store.Record(ctx, id, fresh.Kind, fresh.ID)
		return wantKind(andon.NotFound, err)
	})
}

// putError returns the error of a put that was not to be done.
func putError(_ andon.Record, err error) error { return err }

// oneWins has several writers change one record, over the version that all of them read, again and
// again.
func oneWins(ctx context.Context, e *Env, id andon.TenantID) error {
	const writers, rounds = 4, 5
	r := aRecord(id, "r1")
	for round := range rounds {
		var won atomic.Int32
		err := sideBySide(writers, func(w int) error {
			mine := r
			mine.Data = andon.JSON(fmt.Sprintf(`{"round":%d,"by":%d}`, round, w))
			_, err := e.Store.PutRecord(ctx, mine)
			if err == nil {
				won.Add(1)
			} else if andon.KindOf(err) == andon.Conflict {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if won.Load() != 1 {
			return fmt.Errorf("%d writers won", won.Load())
		}
		was := r.Version
		err = e.Eventually(ctx, func() (err error) {
			r, err = e.Store.Record(ctx, id, r.Kind, r.ID)
			if err == nil && r.Version == was {
				err = errors.New("what was put is not there")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func versionsDiffer(ctx context.Context, e *Env, id andon.TenantID) error {
	first, err := e.Store.PutRecord(ctx, aRecord(id, "r1"))
	if err != nil {
		return err
	}
	if err := e.Store.DeleteRecord(ctx, first); err != nil {
		return err
	}
	again, err := e.Store.PutRecord(ctx, aRecord(id, "r1"))
	if err != nil {
		return err
	}
	for what, err := range map[string]error{
		"put":    putError(e.Store.PutRecord(ctx, first)),
		"delete": e.Store.DeleteRecord(ctx, first),
	} {
		if err := wantKind(andon.Conflict, err); err != nil {
			return fmt.Errorf("%s over the version of the deleted one: %w", what, err)
		}
	}
	return e.stored(ctx, again)
}

func recordLists(ctx context.Context, e *Env, id andon.TenantID) error {
	ids := []string{"a", "a!", "a#1", "a/1", "ab", "b", "ä", "🏭"}
	for _, i := range []int{3, 1, 7, 5, 0, 2, 6, 4} {
		if _, err := e.Store.PutRecord(ctx, aRecord(id, ids[i])); err != nil {
			return err
		}
	}
	other := aRecord(id, "a-of-another-kind")
	other.Kind = "checks"
	if _, err := e.Store.PutRecord(ctx, other); err != nil {
		return err
	}
	for _, prefix := range []string{"", "a", "a#", "b", "x", "🏭"} {
		var want []string
		for _, name := range ids {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		for _, size := range []int{1, 3, 100} {
			err := e.Eventually(ctx, func() error {
				var got []string
				q := andon.RecordQuery{Prefix: prefix, Limit: size}
				for r, err := range (Whole{e.Store}).Records(ctx, id, "check", q) {
					if err != nil {
						return err
					}
					got = append(got, r.ID)
				}
				if !slices.Equal(got, want) {
					return fmt.Errorf("%q in pages of %d: %s, not %s", prefix, size, show(got),
						show(want))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func recordsDue(ctx context.Context, e *Env, id andon.TenantID) error {
	other, err := e.Tenant(ctx, "other")
	if err != nil {
		return err
	}
	first, last := min(id, other), max(id, other)
	kind, hour := ownKind(), andon.Duration(3_600_000_000)
	at := func(hours andon.Duration) andon.Time { return e.Base.Add(hours * hour) }
	put := func(tenant andon.TenantID, id string, due andon.Time) (andon.Record, error) {
		r := aRecord(tenant, id)
		r.Kind, r.Due = kind, due
		return e.Store.PutRecord(ctx, r)
	}
	var kept []andon.Record
	for _, c := range []struct {
		tenant andon.TenantID
		id     string
		due    andon.Time
	}{
		{first, "4", at(3)}, {first, "1", at(-5_000)}, {last, "2", at(1)},
		{last, "3b", at(2)}, {first, "3", at(2)}, {last, "3a", at(2)}, {last, "never", 0},
		{first, "later", at(30)},
	} {
		r, err := put(c.tenant, c.id, c.due)
		if err != nil {
			return err
		}
		kept = append(kept, r)
	}
	if err := e.wantDue(ctx, kind, at(3), 99, "1", "2", "3", "3a", "3b", "4"); err != nil {
		return err
	}
	if err := e.wantDue(ctx, kind, at(3)-1, 99, "1", "2", "3", "3a", "3b"); err != nil {
		return err
	}
	if err := e.wantDue(ctx, kind, at(3), 2, "1", "2"); err != nil {
		return err
	}
	moved, sooner, over := kept[1], kept[7], kept[2]
	moved.Due, sooner.Due = at(2)+1, at(-6_000)
	if err := errors.Join(
		putError(e.Store.PutRecord(ctx, moved)), putError(e.Store.PutRecord(ctx, sooner)),
		e.Store.DeleteRecord(ctx, over),
	); err != nil {
		return err
	}
	return e.wantDue(ctx, kind, at(3), 99, "later", "3", "3a", "3b", "1", "4")
}

// wantDue checks which records are due, by their ids.
func (e *Env) wantDue(
	ctx context.Context, kind andon.RecordKind, until andon.Time, limit int, want ...string,
) error {
	return e.Eventually(ctx, func() error {
		var got []string
		for r, err := range e.Store.DueRecords(ctx, kind, until, limit) {
			if err != nil {
				return err
			}
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("at most %d are due at %s: %s, not %s",
				limit, until, show(got), show(want))
		}
		return nil
	})
}

// dueNow returns what is due of a kind by the clock of the Env.
func (e *Env) dueNow(
	ctx context.Context, kind andon.RecordKind,
) iter.Seq2[andon.Record, error] {
	return e.Store.DueRecords(ctx, kind, e.Now(), 100)
}

// leasePassesOn: the holder of a lease is left alone until the lease is over, and finds out when it
// no longer holds it.
func leasePassesOn(ctx context.Context, e *Env, id andon.TenantID) error {
	const minute = andon.Duration(60_000_000)
	lease := aRecord(id, "lease")
	lease.Kind, lease.Due, lease.Data = ownKind(), e.Now().Add(minute), `{"owner":"one"}`
	one, err := e.Store.PutRecord(ctx, lease)
	if err != nil {
		return err
	}
	if err := e.wantDue(ctx, lease.Kind, e.Now(), 1); err != nil {
		return fmt.Errorf("while one holds it: %w", err)
	}
	e.SetNow(e.Now().Add(minute))
	if err := e.wantDue(ctx, lease.Kind, e.Now(), 1, "lease"); err != nil {
		return fmt.Errorf("when it is over: %w", err)
	}
	two := one
	two.Due, two.Data = e.Now().Add(minute), `{"owner":"two"}`
	if two, err = e.Store.PutRecord(ctx, two); err != nil {
		return err
	}
	one.Due = e.Now().Add(minute)
	_, err = e.Store.PutRecord(ctx, one)
	if err := wantKind(andon.Conflict, err); err != nil {
		return fmt.Errorf("one renews what two has taken over: %w", err)
	}
	if err := e.wantDue(ctx, lease.Kind, e.Now(), 1); err != nil {
		return fmt.Errorf("while two holds it: %w", err)
	}
	return e.stored(ctx, two)
}

// claimedOnce has several workers claim what is due, by deleting it, until nothing is left.
func claimedOnce(ctx context.Context, e *Env, id andon.TenantID) error {
	const records, workers = 12, 3
	kind := ownKind()
	for i := range records {
		r := aRecord(id, fmt.Sprint(i))
		r.Kind, r.Due = kind, e.Now()-andon.Time(i%4)
		if _, err := e.Store.PutRecord(ctx, r); err != nil {
			return err
		}
	}
	var claimed atomic.Int32
	err := sideBySide(workers, func(int) error {
		for found := true; found; {
			found = false
			for r, err := range e.dueNow(ctx, kind) {
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
	if err == nil && claimed.Load() != records {
		err = fmt.Errorf("%d records were claimed %d times", records, claimed.Load())
	}
	return err
}

func recordsGo(ctx context.Context, e *Env, _ andon.TenantID) error {
	id, err := e.Tenant(ctx, "deleted")
	if err != nil {
		return err
	}
	r := aRecord(id, "r1")
	r.Kind, r.Due = ownKind(), e.Now()
	if r, err = e.Store.PutRecord(ctx, r); err != nil {
		return err
	}
	if err := e.Store.DeleteTenant(ctx, id); err != nil {
		return err
	}
	if err := e.wantDue(ctx, r.Kind, e.Now(), 9); err != nil {
		return fmt.Errorf("of a deleted tenant: %w", err)
	}
	if _, err := e.Store.PutTenant(ctx, andon.NewTenant(id)); err != nil {
		return err
	}
	_, err = e.Store.Record(ctx, id, r.Kind, r.ID)
	if err := wantKind(andon.NotFound, err); err != nil {
		return fmt.Errorf("the tenant made again has its record: %w", err)
	}
	if err := e.wantDue(ctx, r.Kind, e.Now(), 9); err != nil {
		return fmt.Errorf("of a tenant made again: %w", err)
	}
	list, err := Collect(e.Store.Records(ctx, id, r.Kind, andon.RecordQuery{Limit: 9}))
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("the tenant made again lists %+v", list)
	}
	return err
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
	if err := e.stored(ctx, kept); err != nil {
		return err
	}
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
