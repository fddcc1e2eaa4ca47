package cassandrastore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
	"github.com/andonhq/andon/internal/store/shared"
)

// drawStart draws starts that are often of one base, or of bases at one instant.
func drawStart(r *rand.Rand) shared.Start {
	m := shared.Start{
		Gen: shared.Generation(r.IntN(3)) << (20 * r.IntN(2)),
		Base: andon.EventKey{
			Time:     andon.MinTime + andon.Time(r.IntN(3)),
			Severity: pickOne[uint8](r, 0, 16, 32, 48),
			State:    pickOne[andon.State](r, "NORMAL", "WARNING1", "WARNING10", "W", "日本"),
		},
		Final: r.IntN(2) == 0,
	}
	switch r.IntN(6) {
	case 0:
		m.Base = andon.EventKey{}
	case 1:
		m.Base.Severity, m.Base.State = shared.Retirement, ""
	}
	m.First = m.Base.Time + 1 + andon.Time(r.IntN(3))
	return m
}

// stands reports whether a is the start that is to stand of two: that of the later generation, of
// one generation that of the later base, of one base
// that of the earlier entry, and of one entry the final one.
func stands(m, o shared.Start) bool {
	switch c := m.Base.Compare(o.Base); {
	case m.Gen != o.Gen:
		return m.Gen > o.Gen
	case c != 0:
		return c > 0
	case m.First != o.First:
		return m.First < o.First
	}
	return m.Final || !o.Final
}

// many calls check with one random source after another, and names that of a failure.
func many(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for range 5000 {
		seed := rand.Uint64()
		check(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestRandomStartsMerge: what Cassandra keeps of two starts, by write timestamp and then by bytes,
// is the one that is to stand, and it is read back as it was.
func TestRandomStartsMerge(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		a, b := drawStart(r), drawStart(r)
		kept := a
		if startStamp(b) > startStamp(a) ||
			(startStamp(b) == startStamp(a) && bytes.Compare(packStart(b), packStart(a)) > 0) {
			kept = b
		}
		if !stands(kept, a) || !stands(kept, b) {
			t.Errorf("of %+v and %+v %+v is kept", a, b, kept)
		}
		got, ok := unpackStart(packStart(kept), startStamp(kept))
		if !ok || got != kept {
			t.Errorf("%+v is read as %+v, %v", kept, got, ok)
		}
	})
}

// TestDamagedStarts: what no start is, is none, and no one panics.
func TestDamagedStarts(t *testing.T) {
	whole := packStart(shared.Start{Base: andon.EventKey{Time: 7, State: "W"}, First: 9})
	for n := range whole {
		if m, ok := unpackStart(whole[:n], 7); ok {
			t.Errorf("the first %d of %d bytes are read as %+v", n, len(whole), m)
		}
	}
	many(t, func(t *testing.T, r *rand.Rand) {
		unpackStart(drawBytes(r), r.Int64())
	})
}

func drawBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte(r.IntN(256) * r.IntN(2))
	}
	return b
}

// TestRandomValues: values come back as they were; cut and damaged ones make no one panic.
func TestRandomValues(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		e := andon.Event{
			Operator: andon.PersonID(drawBytes(r)), Message: string(drawBytes(r)),
			Attributes: andon.JSON(drawBytes(r)),
		}
		stamp := 1 + r.Int64N(1<<60)
		whole := packEntry(stamp, &e)
		var got entry
		want := entry{stamp, e.Operator, e.Message, e.Attributes}
		if err := got.UnmarshalCQL(nil, whole); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if later := packEntry(stamp+1, &andon.Event{}); bytes.Compare(later, whole) <= 0 {
			t.Error("a later delivery has smaller bytes")
		}
		for _, into := range []gocql.Unmarshaler{&entry{}, &record{}, &assigned{}} {
			_ = into.UnmarshalCQL(nil, whole[:r.IntN(len(whole))])
			_ = into.UnmarshalCQL(nil, drawBytes(r))
		}
	})
}

// TestDamagedReadings: a number of metrics that can't be is an error, and takes no room.
func TestDamagedReadings(t *testing.T) {
	value := cql.AppendBigint(nil, 1)
	value = cql.AppendText(value, "\x00\x01\x00\x00") // 65,536 metrics, of which none follows
	var r reading
	err := r.UnmarshalCQL(nil, cql.AppendText(value, ""))
	if !errors.Is(err, cql.ErrDamaged) || len(r.metrics) > 0 {
		t.Errorf("read as %d metrics, error %v", len(r.metrics), err)
	}
}

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
	}}, e.Settings())
	if err != nil {
		t.Fatal(err)
	}
	var want Options
	want.Recount = 6 * time.Second
	want.Latest, want.Buckets, want.Settle = "view", "5", 10*time.Second
	want.Options.Options = cql.Options{
		Hosts: []string{"cassandra-1", "10.0.0.1:9142", "::1"}, Keyspace: "k", Datacenter: "dc",
		Consistency: "QUORUM", ReadConsistency: "QUORUM", WriteConsistency: "EACH_QUORUM",
		User: "u", PasswordFile: "f",
		TLS:     cql.TLS{On: true, CA: "ca", Cert: "cert", Key: "key", SkipName: true},
		Timeout: time.Second, Speculate: 2 * time.Second, Connections: 3, InFlight: 4,
	}
	env := adapter.Env{Log: slog.Default(), Now: realClock}
	got := e.in(env).withDefaults()
	got.Now, got.Log = nil, nil
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(want)); diff != "" {
		t.Error(diff)
	}
	if env.AnyDesign = true; e.in(env).Latest != "" || e.in(env).Buckets != "" {
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
	s := &Store{options: Options{Now: func() andon.Time { return now }}}
	const day = 86_400
	ttl := s.ttl(andon.Retention(7 * 24 * time.Hour / time.Microsecond))
	for at, want := range map[andon.Time]int{
		now: 9 * day, now - 3*day*1_000_000: 6 * day, now - 20*day*1_000_000: 1,
		now + 600*1_000_000: 9*day + 600,
	} {
		if got := ttl.seconds(at); got != want {
			t.Errorf("%s is kept for %d s, want %d", at, got, want)
		}
	}
	if s.ttl(andon.Forever).seconds(now) != 0 {
		t.Error("what is kept for ever has an end")
	}
}

// TestRequestHasOneTimeout: what waits for a device that another holds ends in the time of one
// statement, and says that it is not available.
func TestRequestHasOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Now: realClock}
		o.Timeout, o.Settle = 3*time.Second, time.Minute
		s := newStore(o.withDefaults(), nil, &provision.Working{})
		s.join = func() {}
		s.processes.loose.Store(true) // it is alone
		s.Know(&shared.Tenant{Key: "t", Record: andon.NewTenant("t")})
		s.tenants.wasListed("t", time.Now())
		held, err := s.take(t.Context(), "t", "d")
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
