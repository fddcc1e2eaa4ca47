package shared

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/tenants"
)

// documents is a database that keeps documents, and what it was reported in which order.
type documents struct {
	kept     map[string]Document // by tenant, kind and id
	stamp    int64
	reported []string
	reads    int
}

func placeOf(tenant string, r *andon.Record) string {
	return strings.Join([]string{tenant, string(r.Kind), r.ID}, "/")
}

// process is a Tenancy of a process on that database.
func (d *documents) process() *Tenancy {
	now := func() andon.Time { return andon.TimeOf(time.Now()) }
	return &Tenancy{
		Read: func(_ context.Context, tenant string, r *andon.Record) (Document, error) {
			d.reads++
			return d.kept[placeOf(tenant, r)], nil
		},
		Write: func(
			_ context.Context, tenant string, r *andon.Record, was, is Document,
		) error {
			if d.kept[placeOf(tenant, r)] != was {
				return andon.Errorf(andon.Conflict, "it was changed")
			}
			d.kept[placeOf(tenant, r)] = is
			d.reported = append(d.reported, "write "+r.ID)
			return nil
		},
		Stamp:  func() int64 { d.stamp++; return d.stamp },
		Recent: recent.Values[*Tenant]{Now: now}, List: d.list,
		Limits: func() tenants.Limits { return tenants.Limits{} },
		Key: func(id andon.TenantID, incarnations int) string {
			return string(id) + "+" + strconv.Itoa(incarnations)
		},
		Seen: func(context.Context, string) ([]andon.State, error) {
			return []andon.State{"ODD"}, nil
		},
		Hold: func(context.Context, andon.TenantID) (func(), error) {
			return func() { d.reported = append(d.reported, "release") }, nil
		},
		Refold: func(_ context.Context, is *Tenant) error {
			d.reported = append(d.reported, "refold "+is.Key)
			return nil
		},
		Reordered: make(chan struct{}, 1),
		Over: func(_ context.Context, key string) error {
			d.reported = append(d.reported, "over "+key)
			return nil
		},
		Purging: make(chan struct{}, 1), Counts: NewCounts(now),
	}
}

func (d *documents) list(
	_ context.Context, _ andon.TenantID, kind andon.RecordKind, _ andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return seq.Of(func(yield func(andon.Record) bool) error {
		for place, is := range d.kept {
			r := andon.Record{Kind: kind, ID: place[strings.LastIndex(place, "/")+1:]}
			if is.Into(&r); is.Live() != 0 && !yield(r) {
				return nil
			}
		}
		return nil
	})
}

func wantKind(t *testing.T, what string, err error, want andon.Kind) {
	t.Helper()
	if err == nil || andon.KindOf(err) != want {
		t.Errorf("%s: %v, want kind %v", what, err, want)
	}
}

func putTenant(t *testing.T, s *Tenancy, record andon.Tenant) andon.Tenant {
	t.Helper()
	record, err := s.PutTenant(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestTenantsOfTwoProcesses: what a process changed it knows at once, and the other a second later,
// or when it is to read again.
func TestTenantsOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &documents{kept: map[string]Document{}}
		one, other := d.process(), d.process()
		silent := func(s *Tenancy, want andon.Duration) {
			t.Helper()
			is, err := s.Tenant(t.Context(), andon.DefaultTenant)
			if err != nil || is.SilentAfter != want {
				t.Errorf("silent after %v, %v, want %v", is.SilentAfter, err, want)
			}
		}
		is, _ := one.Tenant(t.Context(), andon.DefaultTenant)
		former := is.SilentAfter
		silent(other, former)
		is.SilentAfter = 7
		newer := putTenant(t, one, is)
		silent(one, 7)
		silent(other, former)
		_, err := other.PutTenant(t.Context(), is) // of a version that is over
		wantKind(t, "an old version", err, andon.Conflict)
		silent(other, 7) // since it has learned that what it knows is old
		newer.SilentAfter = 8
		putTenant(t, one, newer)
		<-time.After(TenantAge)
		silent(other, 8)
		reads := d.reads
		if silent(other, 8); d.reads != reads {
			t.Error("a tenant was read again within a second")
		}
		other.Recent.ForgetAll()
		if silent(other, 8); d.reads != reads+1 {
			t.Error("a tenant was not read again")
		}
		all, err := one.Tenants(t.Context())
		if err != nil || len(all) != 1 || all[0].SilentAfter != 8 {
			t.Errorf("the tenants are %+v, %v", all, err)
		}
		clear(d.kept) // its table was lost, and made again
		<-time.After(TenantAge)
		silent(one, former)
		silent(other, former)
	})
}

// TestLivesOfATenant: what a deleted tenant leaves is not met in its next incarnation, which begins
// when no process takes the former one for alive.
func TestLivesOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &documents{kept: map[string]Document{}}
		s := d.process()
		wantKind(t, "the default", s.DeleteTenant(t.Context(), andon.DefaultTenant),
			andon.Conflict)
		wantKind(t, "no tenant", s.DeleteTenant(t.Context(), "metro"), andon.NotFound)
		for incarnation := range 3 {
			begun := time.Now()
			putTenant(t, s, andon.NewTenant("metro"))
			if waited := time.Since(begun); (waited == TenantAge) != (incarnation > 0) {
				t.Errorf("incarnation %d began after %s", incarnation, waited)
			}
			is, err := s.Known(t.Context(), "metro")
			key := "metro+" + strconv.Itoa(incarnation)
			if err != nil || is.Key != key {
				t.Errorf("incarnation %d is %+v, %v", incarnation, is, err)
			}
			d.reported = nil
			if err := s.DeleteTenant(t.Context(), "metro"); err != nil {
				t.Fatal(err)
			}
			want := []string{"over " + key, "write metro", "over " + key}
			if !slices.Equal(d.reported, want) {
				t.Errorf("it did %v, want %v", d.reported, want)
			}
			_, err = s.Tenant(t.Context(), "metro")
			wantKind(t, "a deleted tenant", err, andon.NotFound)
		}
	})
}

// TestChangedSeverities: a store is held until other severities are stored, and they are complete
// once all devices are written again. A change that makes no difference to entries has no devices
// written.
func TestChangedSeverities(t *testing.T) {
	d := &documents{kept: map[string]Document{}}
	s := d.process()
	record := putTenant(t, s, andon.NewTenant("metro"))
	normal, odd := andon.StateDef{Name: "NORMAL"}, andon.StateDef{Name: "ODD", Severity: 99}
	for _, c := range []struct {
		states []andon.StateDef
		want   string
	}{
		{[]andon.StateDef{normal, odd}, "write metro, release, refold metro+0, write metro"},
		{[]andon.StateDef{normal, odd}, "write metro"},
		{[]andon.StateDef{normal, odd, {Name: "NEVER", Severity: 98}}, "write metro, release"},
	} {
		states, err := andon.NewStateSet(c.states)
		if err != nil {
			t.Fatal(err)
		}
		d.reported, record.States = nil, states
		begun := putTenant(t, s, record).Reordering
		if err := s.reorderAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		did := strings.Join(d.reported, ", ")
		is, err := s.Known(t.Context(), "metro")
		if err != nil || is.Generation != 1 || len(is.Former) > 0 || is.Record.Reordering {
			t.Errorf("%s: %+v, %v", did, is, err)
		}
		if did != c.want || begun != strings.Contains(c.want, "refold") {
			t.Errorf("it did %s, want %s; reordering was %v", did, c.want, begun)
		}
		record = is.Record
	}
}

// TestDocuments: records are written over the version that was read, and versions only rise.
func TestDocuments(t *testing.T) {
	d := &documents{kept: map[string]Document{}}
	s := d.process()
	putTenant(t, s, andon.NewTenant("metro"))
	r := andon.Record{Tenant: "metro", Kind: "ack", ID: "a", Due: 5, Data: "{}"}
	_, err := s.Record(t.Context(), r.Tenant, r.Kind, r.ID)
	wantKind(t, "no record", err, andon.NotFound)
	first, err := s.PutRecord(t.Context(), r)
	if err != nil || first.Version == 0 {
		t.Fatal(first, err)
	}
	_, err = s.PutRecord(t.Context(), r)
	wantKind(t, "a record that is there", err, andon.Conflict)
	d.stamp = 1000
	second, err := s.PutRecord(t.Context(), first)
	if err != nil || second.Version <= 1000 {
		t.Errorf("version %d of a later time than 1000, %v", second.Version, err)
	}
	if got, err := s.Record(t.Context(), r.Tenant, r.Kind, r.ID); err != nil || got != second {
		t.Errorf("%+v, %v, want %+v", got, err, second)
	}
	wantKind(t, "an old version", s.DeleteRecord(t.Context(), first), andon.Conflict)
	if err := s.DeleteRecord(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	again, err := s.PutRecord(t.Context(), r)
	if err != nil || again.Version <= second.Version {
		t.Errorf("version %d after %d, %v", again.Version, second.Version, err)
	}
	r.Tenant = "none"
	_, err = s.PutRecord(t.Context(), r)
	wantKind(t, "no tenant", err, andon.NotFound)
}
