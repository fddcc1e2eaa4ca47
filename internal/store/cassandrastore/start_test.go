package cassandrastore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// TestSerialStartRefused: whatever is wrong at the start has one message of its own that says what
// to do.
func TestSerialStartRefused(t *testing.T) {
	whole := sharedKeyspace(t, "state")
	for _, test := range []struct {
		name   string
		change func(*Options)
		kind   andon.Kind
		want   []string
	}{
		{"nobody there", func(o *Options) { o.Hosts = []string{"127.0.0.1:1"} },
			andon.Unavailable, []string{"no node of Cassandra answers", "127.0.0.1:1",
				"cassandra.hosts"}},
		{"no such data centre", func(o *Options) { o.Datacenter = "west" },
			andon.Invalid, []string{`cassandra.datacenter "west"`, "it has datacenter1"}},
		{"no such keyspace", func(o *Options) { o.Keyspace += "_not" },
			andon.Invalid, []string{"there is no keyspace " + whole.Keyspace + "_not",
				"andon store init"}},
		{"a keyspace of somebody else", func(o *Options) { o.Keyspace = "system_auth" },
			andon.Invalid, []string{"there is no keyspace system_auth of Andon"}},
		{"another design", func(o *Options) { o.Latest = "view" },
			andon.Invalid, []string{"cassandra.latest is view", "has state",
				"andon store rebuild latest"}},
		{"too few replicas", func(o *Options) { o.WriteConsistency = "TWO" },
			andon.Invalid, []string{"cassandra.write_consistency TWO needs 2 replicas", "has 1"}},
		{"TLS to a node without", func(o *Options) { o.TLS.On = true },
			andon.Invalid, []string{"TLS with Cassandra fails"}},
		{"no such file of authorities",
			func(o *Options) { o.TLS = cql.TLS{On: true, CA: "/nowhere/ca.pem"} },
			andon.Invalid, []string{"cassandra.tls_ca", "/nowhere/ca.pem"}},
		{"no such file of the password",
			func(o *Options) { o.User, o.PasswordFile = "andon", "/nowhere/password" },
			andon.Invalid, []string{"cassandra.password_file", "/nowhere/password"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := whole
			test.change(&o)
			s, err := Open(t.Context(), o)
			if err == nil {
				end(t, s)
			}
			wantError(t, err, test.kind, test.want...)
		})
	}
}

// TestSerialOtherSchemas: a keyspace of another Andon is left alone.
func TestSerialOtherSchemas(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "buckets")
	s := open(t, o)
	o.Buckets = "4"
	_, err := Open(t.Context(), o)
	wantError(t, err, andon.Invalid, "cassandra.buckets is 4", "has 16", "rebuild latest")
	o.Buckets = ""
	text := s.working.Load().Text
	set := func(text string) {
		run(t, s, "UPDATE settings SET value = ? WHERE name = 'andon'", text)
	}
	now := fmt.Sprintf(`"schema":%d`, provision.SchemaVersion)
	set(strings.Replace(text, now, `"schema":99`, 1))
	_, err = Open(t.Context(), o)
	wantError(t, err, andon.Conflict, "has schema 99", "knows schema 1", "use the Andon that")
	wantError(t, s.Ready(t.Context()), andon.Conflict, "has schema 99")
	err = provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
	wantError(t, err, andon.Conflict, "has schema 99")
	set(text)
	o.Latest = ""
	set(strings.Replace(scan[string](t, s, "SELECT value FROM settings")[0],
		`"design":"buckets"`, `"design":"magic"`, 1))
	_, err = Open(t.Context(), o)
	wantError(t, err, andon.Invalid, `"magic"`, "run the newer one")
	set("{")
	_, err = Open(t.Context(), o)
	wantError(t, err, andon.Internal, "settings of keyspace "+o.Keyspace+" are damaged")
}

// TestSerialSettleIsTheKeyspaces: a process that is set to another time than the keyspace has is
// refused, and one that is set to none has the keyspace's.
func TestSerialSettleIsTheKeyspaces(t *testing.T) {
	t.Parallel()
	o := newSettling(t, "state", 7*time.Second)
	o.Settle = 0
	if s := open(t, o); s.options.Settle != 7*time.Second {
		t.Errorf("a process settles after %s", s.options.Settle)
	}
	o.Settle = 30 * time.Second
	_, err := Open(t.Context(), o)
	wantError(t, err, andon.Invalid, "cassandra.settle is 30s", "has 7s", "leave the setting out")
	err = provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
	wantError(t, err, andon.Invalid, "cassandra.settle is 30s", "has 7s")
}

// TestSerialMissingTables: where somebody dropped a table nothing starts, what runs is not ready
// and answers that it is not available, each says what to do, and doing that fixes it.
func TestSerialMissingTables(t *testing.T) {
	t.Parallel()
	o := newKeyspace(t, "state")
	s := open(t, o)
	f := newFleet(t, s)
	if err := f.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"latest_by_state", "hints_by_operator"} {
		run(t, s, "DROP TABLE "+table)
	}
	const missing = " lacks hints_by_operator, latest_by_state: run `andon store init`"
	wantError(t, s.Ready(t.Context()), andon.Invalid, missing)
	_, err := Open(t.Context(), o)
	wantError(t, err, andon.Invalid, missing)
	wantError(t, s.Append(t.Context(), andon.DefaultTenant, f.at, []andon.Event{
		{Device: "new", State: "NORMAL", Time: f.at},
	}), andon.Unavailable, "run `andon store init`", "latest_by_state")
	if made := makeSchema(t, o, provision.Setup{}); strings.Count(made, "CREATE TABLE") != 3 {
		t.Errorf("init makes again what is there:\n%s", made)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := f.report(t.Context()); err != nil {
		t.Error(err)
	}
	run(t, s, "DROP KEYSPACE "+o.Keyspace)
	wantError(t, s.Ready(t.Context()), andon.Unavailable, "is gone", "andon store init")
	wantError(t, f.report(t.Context()), andon.Unavailable, "run `andon store init`")
}

// TestSerialInitRefuses what can't be, before anything is made.
func TestSerialInitRefuses(t *testing.T) {
	t.Parallel()
	o := engine(t, "buckets")
	old := andon.Retention(21 * 365 * 24 * 3_600_000_000)
	for _, test := range []struct {
		setup provision.Setup
		want  string
	}{
		{provision.Setup{Replication: "3"},
			"LOCAL_QUORUM needs 2 replicas in data centre datacenter1"},
		{provision.Setup{Replication: "west:3"}, `"west:3" is no data centre of the cluster`},
		{provision.Setup{Replication: "datacenter1:x"},
			"is no data centre of the cluster with a number"},
		{provision.Setup{Replication: "0"}, "with a number of replicas"},
		{provision.Setup{Retention: &old}, "more than 20 years"},
	} {
		test.setup.DryRun = true
		err := provision.Init(t.Context(), o.Options, test.setup, func(string) {})
		wantError(t, err, andon.Invalid, test.want)
	}
	makeSchema(t, o, provision.Setup{})
	two := provision.Setup{Replication: "2"}
	err := provision.Init(t.Context(), o.Options, two, func(string) {})
	wantError(t, err, andon.Conflict, "has replication datacenter1:1, and datacenter1:2 was asked",
		"ALTER KEYSPACE")
}

// TestTwoInits: two processes make one keyspace at once, and both have it.
func TestTwoInits(t *testing.T) {
	t.Parallel()
	for _, design := range []string{"buckets", "view"} {
		o := engine(t, design)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				err := provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		open(t, o)
		if again := makeSchema(t, o, provision.Setup{}); strings.Contains(again, "INSERT") {
			t.Errorf("a third Init writes settings:\n%s", again)
		}
	}
}

// TestSerialSecured asks a node for what the shared one has not: users, TLS, and no views.
func TestSerialSecured(t *testing.T) {
	t.Parallel()
	n := enginetest.OwnCassandra(t, enginetest.Options{Secured: true, Forgetful: true})
	t.Run("views are disabled", func(t *testing.T) { viewsDisabled(t, n) })
	t.Run("users", func(t *testing.T) { users(t, n) })
	t.Run("TLS", func(t *testing.T) { onlyTLS(t, n) })
}

// secured returns the options for a keyspace on a node with users and TLS.
func secured(n *enginetest.Node, design string) Options {
	o := on(n, design)
	o.TLS.On = true
	o.TLS.CA, o.TLS.Cert, o.TLS.Key = n.TLSFiles()
	o.User, o.Password = enginetest.User, enginetest.Password
	return o
}

// viewsDisabled: the design view is refused where views are disabled, the others work.
func viewsDisabled(t *testing.T, n *enginetest.Node) {
	o := secured(n, "view")
	err := provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
	wantError(t, err, andon.Invalid, "materialized views are disabled",
		"materialized_views_enabled: true")
	o = secured(n, "sai")
	makeSchema(t, o, provision.Setup{})
	s := open(t, o)
	err = s.RebuildLatest(t.Context(), "view", "", func(int64, int64) {})
	wantError(t, err, andon.Invalid, "materialized views are disabled")
	if s.working.Load().Next != nil {
		t.Error("writers keep a design that can't be")
	}
}

// users: no password, a wrong one, too few rights, and what works.
func users(t *testing.T, n *enginetest.Node) {
	o := secured(n, "buckets")
	refused := func(user, password, want string) {
		t.Helper()
		o := o
		o.User, o.Password = user, password
		err := provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
		wantError(t, err, andon.Invalid, want)
		if password != "" && err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the password is in the error: %v", err)
		}
	}
	refused("", "", "set cassandra.user, and cassandra.password_file")
	refused(enginetest.User, "s3cret-not", `refuses user "cassandra"`)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(enginetest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.User, o.Password, o.PasswordFile = enginetest.User, "", file
	makeSchema(t, o, provision.Setup{})
	s := open(t, o)
	const password = "reads-and-writes"
	run(t, s, "CREATE ROLE reader WITH PASSWORD = '"+password+"' AND LOGIN = true")
	refusedReader := o
	refusedReader.User, refusedReader.Password, refusedReader.PasswordFile = "reader", password, ""
	_, err := Open(t.Context(), refusedReader)
	wantError(t, err, andon.Unavailable, "the user lacks a right", "SELECT")
	asReader := secured(n, "state").as(refusedReader).Options
	err = provision.Init(t.Context(), asReader, provision.Setup{}, func(string) {})
	wantError(t, err, andon.Unavailable, "lacks a right that `andon store init` needs", "CREATE",
		"--dry-run")
	run(t, s, "GRANT SELECT ON KEYSPACE "+o.Keyspace+" TO reader")
	mayOnlyRead(t, refusedReader)
	run(t, s, "GRANT MODIFY ON KEYSPACE "+o.Keyspace+" TO reader")
	worker := begin(t, refusedReader)
	defer end(t, worker)
	if err := newFleet(t, worker).report(t.Context()); err != nil {
		t.Errorf("a user who may read and write can't: %v", err)
	}
	if err := worker.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// mayOnlyRead: a process that only reads is ready, and is not any more once it was to write.
func mayOnlyRead(t *testing.T, o Options) {
	s := begin(t, o)
	defer end(t, s)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	err := s.Append(t.Context(), andon.DefaultTenant, realClock(), []andon.Event{
		{Device: "a", State: "NORMAL", Time: realClock()},
	})
	wantError(t, err, andon.Unavailable, "the user lacks a right", "MODIFY")
	wantError(t, s.Ready(t.Context()), andon.Unavailable, "the user lacks a right", "MODIFY")
}

// as returns the options with another's user.
func (o Options) as(other Options) Options {
	o.User, o.Password, o.PasswordFile = other.User, other.Password, other.PasswordFile
	return o
}

// onlyTLS: a node that speaks TLS only, and asks for certificates.
func onlyTLS(t *testing.T, n *enginetest.Node) {
	authority, certificate, key := n.TLSFiles()
	for _, test := range []struct {
		name string
		tls  cql.TLS
		want string
	}{
		{"plain", cql.TLS{}, "cassandra.tls"},
		{"an unknown authority", cql.TLS{On: true, Cert: certificate, Key: key},
			"TLS with Cassandra fails"},
		{"no certificate", cql.TLS{On: true, CA: authority}, "TLS with Cassandra fails"},
		{"all of it", cql.TLS{On: true, CA: authority, Cert: certificate, Key: key}, ""},
		{"another name", cql.TLS{On: true, CA: authority, Cert: certificate, Key: key,
			SkipName: true}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := defaults()
			o.Now = realClock
			o.Hosts, o.TLS = []string{n.Addr()}, test.tls
			o.User, o.Password = enginetest.User, enginetest.Password
			err := provision.Init(t.Context(), o.Options, provision.Setup{}, func(string) {})
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				open(t, o)
				return
			}
			if err == nil || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
