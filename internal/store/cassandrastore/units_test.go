package cassandrastore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/cassandrastore/rows"
	"github.com/andonhq/andon/internal/store/shared"
	doc "github.com/andonhq/andon/internal/store/tenants"
)

// TestSettings: each setting reaches the options that a store is opened with, and what makes no
// sense is refused with its place.
func TestSettings(t *testing.T) {
	e := NewEngine().(*Engine)
	_, err := config.Load(config.Sources{Flags: map[string]string{
		"cassandra.hosts": "cassandra-1, 10.0.0.1:9142,::1", "cassandra.keyspace": "k",
		"cassandra.datacenter": "dc", "cassandra.consistency": "QUORUM",
		"cassandra.write_consistency": "EACH_QUORUM", "cassandra.user": "u",
		"cassandra.tls": "on", "cassandra.tls_ca": "ca", "cassandra.tls_cert": "cert",
		"cassandra.tls_key": "key", "cassandra.tls_skip_name": "on", "cassandra.timeout": "1s",
		"cassandra.speculate": "2s", "cassandra.connections": "3", "cassandra.in_flight": "4",
		"cassandra.latest": "view", "cassandra.buckets": "5", "cassandra.recount": "6s",
		"cassandra.settle": "10s", "cassandra.password_file": "f",
		"cassandra.changes_for": "7h", "cassandra.changes_size": "8MiB",
	}}, e.Settings())
	if err != nil {
		t.Fatal(err)
	}
	var want Options
	want.Recount, want.ChangesFor, want.ChangesBytes = 6*time.Second, 7*time.Hour, 8<<20
	want.Latest, want.Buckets, want.Settle = "view", "5", 10*time.Second
	want.Options.Options = cql.Options{
		Hosts: []string{"cassandra-1", "10.0.0.1:9142", "::1"}, Keyspace: "k", Datacenter: "dc",
		Consistency: "QUORUM", ReadConsistency: "QUORUM", WriteConsistency: "EACH_QUORUM",
		User: "u", PasswordFile: "f",
		TLS:     cql.TLS{On: true, CA: "ca", Cert: "cert", Key: "key", SkipName: true},
		Timeout: time.Second, Speculate: 2 * time.Second, Connections: 3, InFlight: 4,
	}
	env := adapter.Env{Log: slog.Default(), Now: realClock}
	got := e.optionsFor(env)
	got.Options.Options = got.Complete()
	got.Now, got.Log = nil, nil
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(want)); diff != "" {
		t.Error(diff)
	}
	if env.AnyDesign = true; e.optionsFor(env).Latest != "" || e.optionsFor(env).Buckets != "" {
		t.Error("a store in any design has the one of its settings")
	}
	for setting, want := range map[string]string{
		"hosts=a:b":                    `"a:b" is no host:port`,
		"hosts=a:70000":                "is no host:port",
		"hosts=:9042":                  "is no host:port",
		"keyspace=Andon":               `"Andon" is not of small letters`,
		"keyspace=a-b":                 `"a-b" is not`,
		"keyspace=a; DROP KEYSPACE b":  "is not of small letters",
		"read_consistency=quorum":      `"quorum" is none of`,
		"read_consistency=EACH_QUORUM": "is none of",
		"write_consistency=ANY":        `"ANY" is none of`,
		"latest=views":                 `"views" is none of view, index`,
		"buckets=many":                 `"many" ends in no such number`,
	} {
		key, value, _ := strings.Cut(setting, "=")
		flags := map[string]string{"cassandra." + key: value}
		_, err := config.Load(config.Sources{Flags: flags}, NewEngine().Settings())
		if andon.KindOf(err) != andon.Invalid || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
	wantError(t, NewEngine().(*Engine).Check(), andon.Invalid, "cassandra.hosts is empty")
}

// TestTTL: what is kept for a while outlives its retention by two days, by its own time.
func TestTTL(t *testing.T) {
	now := andon.DayStart(20_000)
	s := &Store{}
	s.options.Now = func() andon.Time { return now }
	const day = 86_400
	ttl := s.ttl(andon.Retention(7 * 24 * time.Hour / time.Microsecond))
	for at, want := range map[andon.Time]int{
		now: 9 * day, now - 3*day*1_000_000: 6 * day, now - 20*day*1_000_000: 1,
		now + 600*1_000_000: 9*day + 600,
	} {
		if got := ttl.Seconds(at); got != want {
			t.Errorf("%s is kept for %d s, want %d", at, got, want)
		}
	}
	if s.ttl(andon.Forever).Seconds(now) != 0 {
		t.Error("what is kept for ever has an end")
	}
}

// readsTenants has a store without a cluster find each tenant.
func readsTenants(s *Store) {
	s.Tenancy.Read = func(
		_ context.Context, _ string, r *andon.Record,
	) (shared.Document, error) {
		is, err := doc.Encode(new(andon.NewTenant(andon.TenantID(r.ID))), doc.Own{})
		return shared.Document{Version: 1, Data: string(is.Data)}, err
	}
}

// TestPurgedWhileItWaited: who waits for a device does not write to it under a key that a purge has
// given up meanwhile.
func TestPurgedWhileItWaited(t *testing.T) {
	o := defaults()
	o.Now = realClock
	s := newStore(o, nil, &provision.Working{})
	s.join = func() {}
	s.processes.Ignore()
	readsTenants(s)
	s.learnPurged("t", &rows.Purged{}, time.Now())
	before, err := s.tenant(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	purged := &rows.Purged{Before: map[andon.DeviceID]int{"d": 1}, Newest: 1}
	s.learnPurged("t", purged, time.Now())
	_, _, err = s.take(t.Context(), before, "c", "d")
	wantError(t, err, andon.Unavailable, `device "d" was purged meanwhile: send it again`)
	err = s.withDevice(t.Context(), before, "d", func(*rows.Tenant, *view) error {
		return errors.New("it was called")
	})
	if err != nil {
		t.Error(err)
	}
	now, slots, err := s.take(t.Context(), before, "c", rows.DeviceKey("d", 1))
	if err != nil || now.Purged.Present("d") {
		t.Fatalf("it is taken as before the purge, %v", err)
	}
	slots.Give()
	wantKey := func(_ context.Context, _ *rows.Tenant, key andon.DeviceID, _ *taken) error {
		if key != rows.DeviceKey("d", 1) {
			t.Errorf("its key is %q", key)
		}
		return nil
	}
	err = s.onDevice(t.Context(), "t", "d", wantKey)
	if err != nil {
		t.Error(err)
	}
}

// TestWritesAreBounded: a write to a device ends before anybody concludes that it has landed.
func TestWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := defaults()
		o.Now, o.Settle = realClock, 10*time.Second
		s := newStore(o, nil, &provision.Working{})
		s.join = func() {}
		s.processes.Ignore()
		readsTenants(s)
		s.learnPurged("t", &rows.Purged{}, time.Now())
		began := time.Now()
		err := s.onDevice(t.Context(), "t", "d", func(
			ctx context.Context, _ *rows.Tenant, _ andon.DeviceID, _ *taken,
		) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); err == nil || took > o.Settle/2 {
			t.Errorf("it took %s, %v", took, err)
		}
	})
}

// TestRequestHasOneTimeout: what waits for a device that another holds ends in the time of one
// statement, and says that it is not available.
func TestRequestHasOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := defaults()
		o.Now = realClock
		o.Timeout, o.Settle = 3*time.Second, time.Minute
		s := newStore(o, nil, &provision.Working{})
		s.join = func() {}
		s.processes.Ignore() // it is alone
		readsTenants(s)
		s.learnPurged("t", &rows.Purged{}, time.Now())
		held, err := s.devices.Take(t.Context(), "t", "d")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Give()
		began := time.Now()
		err = s.Append(t.Context(), "t", 1, []andon.Event{{Device: "d", State: "NORMAL", Time: 1}})
		wantError(t, err, andon.Unavailable, "did not answer in time")
		if took := time.Since(began); took != s.options.Timeout {
			t.Errorf("it took %s", took)
		}
	})
}

// TestFresh: a view is used while no other process can have written, or while it is young.
func TestFresh(t *testing.T) {
	known := &view{read: 100}
	for _, c := range []struct {
		view       *view
		alone, now merge.Moment
		fresh      bool
	}{
		{nil, 50, 100, false}, {known, 0, 110, false}, {known, 101, 110, false},
		{known, 100, 1000, true}, {known, 0, 109, true},
	} {
		if got := c.view.fresh(c.alone, c.now, 10); got != c.fresh {
			t.Errorf("alone since %d, at %d, known %v: fresh %v", c.alone, c.now, c.view != nil,
				got)
		}
	}
}
