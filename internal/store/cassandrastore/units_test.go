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
	"github.com/andonhq/andon/internal/cuckoo"
	"github.com/andonhq/andon/internal/store/adapter"
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
	value := appendBigint(nil, 1)
	value = appendText(value, "\x00\x01\x00\x00") // 65,536 metrics, of which none follows
	var r reading
	err := r.UnmarshalCQL(nil, appendText(value, ""))
	if !errors.Is(err, errDamaged) || len(r.metrics) > 0 {
		t.Errorf("read as %d metrics, error %v", len(r.metrics), err)
	}
}

// TestRandomStateKeys: of two states at one instant the later one in the log has the greater key.
func TestRandomStateKeys(t *testing.T) {
	draw := func(r *rand.Rand) andon.EventKey {
		return andon.EventKey{
			Severity: uint8(r.IntN(256)),
			State:    pickOne[andon.State](r, "A", "AB", "B", "0", "日"),
		}
	}
	many(t, func(t *testing.T, r *rand.Rand) {
		a, b := draw(r), draw(r)
		got := strings.Compare(stateKey(a.Severity, a.State), stateKey(b.Severity, b.State))
		if want := a.Compare(b); got != want {
			t.Errorf("%+v to %+v is %d, want %d", a, b, got, want)
		}
	})
}

func TestBuckets(t *testing.T) {
	c, err := parseBuckets(` 8, WARNING4=4,metro/NORMAL=64,a=b=2,bus/*=32, "a/b"=3,` +
		`"a/b"/"on \"off\""=5, two words=6`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tenant string
		state  andon.State
		want   int
	}{
		{"default", "NORMAL", 8}, {"default", "WARNING4", 4}, {"metro", "NORMAL", 64},
		{"metro\t3", "NORMAL", 64}, {"metro", "WARNING4", 4}, {"default", "a=b", 2},
		{"bus", "WARNING4", 32}, {"bus\t1", "NORMAL", 32}, {"default", "a/b", 3}, {"a", "b", 8},
		{"a/b", `on "off"`, 5}, {"default", "two words", 6},
	} {
		if got := c.of(test.tenant, test.state); got != test.want {
			t.Errorf("%q %s has %d buckets, want %d", test.tenant, test.state, got, test.want)
		}
	}
	var again []string
	for r, n := range c.rules {
		again = append(again, fmt.Sprintf("%s=%d", r, n))
	}
	spelled, err := parseBuckets("8," + strings.Join(again, ","))
	if err != nil || !spelled.equal(c) {
		t.Errorf("%q is read as %v, %v", again, spelled, err)
	}
	if c, err := parseBuckets(""); err != nil || c.of("t", "S") != defaultBuckets {
		t.Errorf("without a setting there are %d buckets, %v", c.of("t", "S"), err)
	}
}

func TestBucketsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0": "no such number", "-1": "no such number", "x": "no such number", "A=": "number",
		"A=0": "number", "1025": "number", "A=1e3": "number", "16 8": "number",
		"metro/=5": "no state that there can be", "metro/ =5": "no state", "=5": "no state",
		"/NORMAL=4": "no tenant that there can be", "a/b/c=4": "quote the name", "*=4": "no state",
		"*/NORMAL=4": "no tenant", `"a=4`: "number", `x"a"=4`: "no state", "16,8": "second number",
		"A=4,B=4,A=8": "second rule for the same",
	} {
		_, err := parseBuckets(text)
		wantError(t, err, andon.Invalid, "rules of buckets", want)
	}
}

// TestOwnTables: each state has a table of its own that CQL can name, or goes to the rest.
func TestOwnTables(t *testing.T) {
	states := []andon.State{"NORMAL", "normal", "Wärme", "a b", "x", "STATE_1", "İ",
		andon.State(strings.Repeat("long", 16)), andon.State(strings.Repeat("long", 15) + "g")}
	names := map[string]andon.State{"latest_in_other_states": "the rest"}
	for _, state := range ownTables(states) {
		name := newTablesDesign(nil).of(state)
		if other, taken := names[name]; taken || len(name) > 48 || !keyspaceName.MatchString(name) {
			t.Errorf("the table of %q is %q, which %q has", state, name, other)
		}
		names[name] = state
	}
	if len(names) < 7 {
		t.Errorf("only %d of %d states have tables: %v", len(names), len(states), names)
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
	want := Options{
		Hosts: []string{"cassandra-1", "10.0.0.1:9142", "::1"}, Keyspace: "k", Datacenter: "dc",
		Consistency: "QUORUM", ReadConsistency: "QUORUM", WriteConsistency: "EACH_QUORUM",
		User: "u", PasswordFile: "f",
		TLS:     TLS{On: true, CA: "ca", Cert: "cert", Key: "key", SkipName: true},
		Timeout: time.Second, Speculate: 2 * time.Second, Connections: 3, InFlight: 4,
		Latest: "view", Buckets: "5", Recount: 6 * time.Second, Settle: 10 * time.Second,
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

// TestConsistencies: what can't be met is refused, with what would be needed.
func TestConsistencies(t *testing.T) {
	one, three := map[string]int{"dc1": 1}, map[string]int{"dc1": 3}
	two := map[string]int{"dc1": 3, "dc2": 3}
	for _, test := range []struct {
		nodes map[string]int
		r     replication
		level string
		need  string // "" where it can be met
	}{
		{one, replication{"dc1": 1}, "LOCAL_QUORUM", ""},
		{one, replication{"dc1": 1}, "ALL", ""},
		{one, replication{"dc1": 1}, "TWO", "needs 2 replicas in the cluster"},
		{one, replication{"dc1": 3}, "LOCAL_QUORUM", "needs 2 replicas in data centre dc1"},
		{one, replication{"dc1": 3}, "LOCAL_ONE", ""},
		{three, replication{"dc1": 3}, "LOCAL_QUORUM", ""},
		{three, replication{"dc1": 2}, "THREE", "needs 3 replicas in the cluster"},
		{three, replication{"": 3}, "LOCAL_QUORUM", ""},
		{three, replication{"": 3}, "ALL", ""},
		{two, replication{"dc2": 3}, "LOCAL_ONE", "needs 1 replicas in data centre dc1"},
		{two, replication{"dc2": 3}, "ONE", ""},
		{two, replication{"dc1": 3, "dc2": 3}, "EACH_QUORUM", ""},
		{two, replication{"dc1": 3, "dc2": 3}, "ALL", ""},
		{two, replication{"dc1": 3, "dc2": 4}, "ALL", "needs 7 replicas in the cluster"},
	} {
		c := &cluster{datacenter: "dc1", datacenters: test.nodes}
		err := c.check(test.r, "cassandra.read_consistency", test.level)
		if test.need == "" && err != nil {
			t.Errorf("%v %s: %v", test.r, test.level, err)
		}
		if test.need != "" && (andon.KindOf(err) != andon.Invalid ||
			!strings.Contains(fmt.Sprint(err), test.need)) {
			t.Errorf("%v %s: %v, want %q", test.r, test.level, err, test.need)
		}
	}
}

// TestOverlap: what a write acknowledged is what a read sees only where their replicas meet.
func TestOverlap(t *testing.T) {
	local := replication{"dc1": 3}
	both := replication{"dc1": 3, "dc2": 3}
	for _, test := range []struct {
		r           replication
		read, write string
		want        bool
	}{
		{local, "LOCAL_QUORUM", "LOCAL_QUORUM", true},
		{local, "ONE", "LOCAL_QUORUM", false},
		{local, "ONE", "ALL", true},
		{local, "LOCAL_ONE", "ALL", true},
		{local, "ONE", "ONE", false},
		{replication{"dc1": 1}, "ONE", "ONE", true},
		{both, "LOCAL_QUORUM", "LOCAL_QUORUM", true},
		{both, "QUORUM", "QUORUM", true},
		{both, "QUORUM", "LOCAL_QUORUM", false},
		{both, "ALL", "ONE", true},
		{both, "LOCAL_QUORUM", "EACH_QUORUM", true},
		{both, "LOCAL_QUORUM", "QUORUM", false}, // all of a write may be of the other data centre
		{both, "LOCAL_ONE", "EACH_QUORUM", false},
	} {
		o := Options{ReadConsistency: test.read, WriteConsistency: test.write}
		if got := o.overlap(test.r, "dc1"); got != test.want {
			t.Errorf("%v, reads %s, writes %s: %v, want %v",
				test.r, test.read, test.write, got, test.want)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{
		"5.0.9": true, "5.1-alpha": true, "6.0": true, "10.0.0": true,
		"4.1.3": false, "3.11.10": false, "": false, "x": false,
	} {
		err := checkVersion(version)
		if (err == nil) != good {
			t.Errorf("Cassandra %q: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), "needs version 5 or later") {
			t.Errorf("Cassandra %q: %v", version, err)
		}
	}
}

// refusal is an error of the cluster.
type refusal struct{ code int }

func (r refusal) Code() int       { return r.code }
func (r refusal) Message() string { return "what it says" }
func (r refusal) Error() string   { return r.Message() }

func TestErrorsSayWhatBefell(t *testing.T) {
	refused := func(code int) error { return refusal{code} }
	for _, test := range []struct {
		err  error
		kind andon.Kind
		want string
	}{
		{gocql.ErrNoConnections, andon.Unavailable, "no node of Cassandra can be reached"},
		{gocql.ErrTimeoutNoResponse, andon.Unavailable, "did not answer in time"},
		{gocql.ErrConnectionClosed, andon.Unavailable, "the connection to Cassandra broke"},
		{refused(gocql.ErrCodeUnavailable), andon.Unavailable, "too few replicas are alive"},
		{refused(gocql.ErrCodeOverloaded), andon.Busy, "overloaded"},
		{refused(gocql.ErrCodeBootstrapping), andon.Unavailable, "still starting"},
		{refused(gocql.ErrCodeWriteTimeout), andon.Unavailable, "it may have happened"},
		{refused(gocql.ErrCodeReadTimeout), andon.Unavailable, "answered the read in time"},
		{refused(gocql.ErrCodeReadFailure), andon.Unavailable, "a replica failed"},
		{refused(gocql.ErrCodeUnauthorized), andon.Unavailable, "the user lacks a right"},
		{refused(gocql.ErrCodeInvalid), andon.Internal, "Cassandra refuses"},
		{errors.New("odd"), andon.Unavailable, "Cassandra can't be asked: odd"},
	} {
		err := failure("read", test.err)
		if andon.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), "read: ") || !errors.Is(err, test.err) {
			t.Errorf("%v is %s, %q; want %s, %q",
				test.err, andon.KindOf(err), err, test.kind, test.want)
		}
	}
	if failure("read", nil) != nil {
		t.Error("nothing went wrong, and there is an error")
	}
}

// TestDriverLog: what the driver says comes into Andon's log one level lower.
func TestDriverLog(t *testing.T) {
	var text bytes.Buffer
	log := driverLog{slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	log.Error("Node Down", gocql.NewLogFieldString("host", "10.0.0.1"))
	log.Warning("Slow")
	log.Info("Hidden")
	want := "level=WARN msg=\"cassandra driver: node down\" host=10.0.0.1\n" +
		"level=INFO msg=\"cassandra driver: slow\"\n"
	if text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
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
		s := &Store{
			options: Options{
				Now: realClock, Timeout: 3 * time.Second, Settle: time.Minute,
				Log: slog.New(slog.DiscardHandler),
			},
			tenants: newTenants(), devices: shared.NewDevices[view](),
			written:  cuckoo.NewWritten(8),
			fullness: shared.NewFullness(shared.PartitionUnits), inFlight: make(chan struct{}, 1),
		}
		s.working.Store(&working{})
		s.join, s.processes = func() {}, s.newAttendance()
		s.processes.loose.Store(true) // it is alone
		s.serveRecords()
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
