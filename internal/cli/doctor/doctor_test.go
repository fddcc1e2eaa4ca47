package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/storecheck"
)

// textOf writes findings as "status area what: found", those with advice marked by an arrow.
func textOf(all ...finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s %s: %s", f.Status, f.Area, f.What, f.Found)
		if f.Advice != "" {
			b.WriteString(" ->")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// says checks that each text is reported, and that whatever is not well comes with advice.
func says(t *testing.T, name string, all []finding, want ...string) {
	t.Helper()
	got := textOf(all...)
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%s: %q is not in\n%s", name, text, got)
		}
	}
	for _, f := range all {
		if (f.Status != well) != (f.Advice != "") {
			t.Errorf("%s: %s has advice %q", name, f.Status, f.Advice)
		}
	}
}

func TestDoctorOfDisks(t *testing.T) {
	const gib = 1 << 30
	for name, test := range map[string]struct {
		disk app.Disk
		want string
	}{
		"space": {app.Disk{Free: 50 * gib, Size: 100 * gib, Type: "ext4"},
			"ok disk space: 50 GiB free of 100 GiB, 1 GiB in reserve\nok disk kind: ext4"},
		"little":  {app.Disk{Free: 3 * gib, Size: 4 * gib}, "warning disk space"},
		"a tenth": {app.Disk{Free: 9 * gib, Size: 100 * gib}, "warning disk space"},
		"none":    {app.Disk{Free: gib / 2, Size: 100 * gib}, "failed disk space: 512 MiB"},
		"files": {app.Disk{Free: gib, Size: gib, Files: 1e6, FreeFiles: 10},
			"warning disk files"},
		"network": {app.Disk{Free: gib, Size: gib, Type: "nfs", Network: true},
			"warning disk kind: nfs"},
		"memory": {app.Disk{Free: gib, Size: gib, Type: "tmpfs", Passing: "gone"},
			"warning disk kind: tmpfs: gone"},
	} {
		says(t, name, diskFindings(test.disk, gib, "data"), test.want)
	}
	says(t, "quick", []finding{syncFinding(time.Millisecond, nil)}, "ok disk fsync: 1ms")
	says(t, "slow", []finding{syncFinding(time.Second, nil)}, "warning disk fsync: 1s")
	says(t, "no disk", []finding{syncFinding(0, io.ErrClosedPipe)}, "failed disk fsync: io: ")
}

func TestDoctorOfMachines(t *testing.T) {
	yes, no := true, false
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	says(t, "clock", clock(now, time.Time{}, &yes),
		"ok clock time: 2026-01-02T03:04:05Z", "ok clock synchronised: yes")
	says(t, "no clock", clock(now, now.Add(time.Hour), &no),
		"failed clock time", "warning clock synchronised")
	says(t, "limits", limits(65536), "ok limits open files: at most 65536")
	says(t, "no limits", limits(math.MaxUint64),
		"ok limits open files: unlimited")
	says(t, "few files", limits(4096), "warning limits open files")
	says(t, "too few files", limits(1024), "failed limits open files")
	c := app.DefaultConfig()
	says(t, "memory", memory(local.Machine{Memory: 8 << 30}, c),
		"ok machine memory: 8 GiB, of which 704 MiB")
	says(t, "little memory", memory(local.Machine{Memory: 512 << 20}, c),
		"warning machine memory")
	if found := limits(0); found != nil {
		t.Errorf("of a machine that says nothing: %v", found)
	}
	if got := draw.Bytes(1536) + ", " + draw.Bytes(0) + ", " + draw.Bytes(
		1<<20); got != "1.5 KiB, 0 B, 1 MiB" {
		t.Errorf("sizes: %s", got)
	}
}

func TestDoctorOfMetrics(t *testing.T) {
	values := map[string]float64{
		"process_open_fds": 1000, "process_max_fds": 1024, "andon_disk_free_bytes": 1e9,
		"andon_disk_size_bytes": 1e11, "andon_disk_reserve_bytes": 2e8,
	}
	says(t, "metrics", metricFindings(values), "warning limits open files: 1000 of at most 1024",
		"warning disk space: 954 MiB free of 93.1 GiB")
	values["process_max_fds"], values["andon_disk_free_bytes"] = 65536, 5e10
	says(t, "metrics", metricFindings(values), "ok limits open files", "ok disk space")
	if found := metricFindings(map[string]float64{}); found != nil {
		t.Errorf("of no metrics: %v", found)
	}
	now := time.Now()
	says(t, "clocks", []finding{clockDifference(now, now.Add(time.Second))}, "ok clock")
	says(t, "clocks", []finding{clockDifference(now, now.Add(-time.Minute))}, "warning clock "+
		"difference from this machine: 1m0s")
	for url, want := range map[string]string{
		"http://127.0.0.1:1": "", "http://localhost": "", "http://[::1]:1": "",
		"https://plant.example": "",
		"http://plant.example":  "the token too",
	} {
		if got := textOf(unencrypted(url, true)...); !strings.Contains(got, want) ||
			(want == "") != (got == "") {
			t.Errorf("%s: %q", url, got)
		}
	}
}

func TestDoctorOfWhatWontOpen(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{andon.Errorf(andon.Conflict, "open already, in process 7 (andon at https://h:1), since"),
			"andon doctor --url https://h:1"},
		{andon.Errorf(andon.Conflict, "open already"), "--url http://127.0.0.1:8080"},
		{andon.Errorf(andon.Full, "no space"), "pebble.reserve"},
		{fmt.Errorf("open: %w", errPermission()), "sudo -u andon"},
		{errors.New("damaged"), "does not start either"},
	} {
		f := unopened(app.DefaultConfig(), test.err)
		if f.Status != failed || !strings.Contains(f.Advice, test.want) {
			t.Errorf("%v: %+v", test.err, f)
		}
	}
}

func errPermission() error {
	return fmt.Errorf("mkdir: %w", errors.Join(errors.New("denied"), fs.ErrPermission))
}

// newDoctor is a doctor on the command line of a test.
func newDoctor() (*doctor, *bytes.Buffer) {
	var out bytes.Buffer
	return &doctor{Program: &command.Program{
		Stdout: &out, Stderr: io.Discard, Version: client.Version{Version: "v1"},
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	}}, &out
}

// forgetful is a store that forgets assignments.
type forgetful struct{ andon.Store }

func (f *forgetful) Assign(
	ctx context.Context, id andon.TenantID, now andon.Time, all []andon.Assignment,
) ([]andon.Assignment, error) {
	return all, nil
}

// TestDoctorOfStores: a store that does other than it should has a finding for each check.
func TestDoctorOfStores(t *testing.T) {
	store := memstore.New()
	d, out := newDoctor()
	d.describe(t.Context(), store, app.DefaultConfig())
	says(t, "memory", d.report.Findings, "warning store durability")
	d.runChecks(t.Context(), &forgetful{store}, storecheck.Checks())
	says(t, "forgetful", d.report.Findings, "failed checks 2.6 unassigned means no one")
	if err := d.report.print(d.Program, command.FormatJSON); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"status": "failed",`) {
		t.Errorf("got %s", out)
	}
}

// TestDoctorOfRefusals: what refuses every check is reported once, with how many there were; what
// refuses one of them is reported as any other failure.
func TestDoctorOfRefusals(t *testing.T) {
	for method, want := range map[string]string{
		"Append": "failed checks semantics: 7 checks could not be made: no space left ->\n" +
			"ok checks semantics: 2 checks passed",
		"Retire": "failed checks 2.10 a retired device leaves counts and lists, its history " +
			"stays: scenarios/retirement.txt: line ",
	} {
		for _, kind := range []andon.Kind{andon.Full, andon.Unavailable} {
			var faults wrap.Faults
			faults.Set(wrap.Fail(andon.Errorf(kind, "no space left")), method)
			d, _ := newDoctor()
			d.runChecks(t.Context(), wrap.Around(memstore.New(), faults.Hook), storecheck.Few())
			says(t, method, d.report.Findings, want)
			if n := d.report.tally(failed); n != 1 {
				t.Errorf("%s: %d failures:\n%s", method, n, textOf(d.report.Findings...))
			}
		}
	}
}

// TestDoctorIsGentle: on a store that others use a few checks run, and all of them when asked.
func TestDoctorIsGentle(t *testing.T) {
	c := app.DefaultConfig()
	for _, test := range []struct {
		store      string
		full, some bool
	}{{"pebble", false, false}, {"cassandra", false, true}, {"cassandra", true, false}} {
		d, _ := newDoctor()
		c.Store, d.full = test.store, test.full
		checks := d.checksOf(c)
		if some := len(checks) < 10; some != test.some {
			t.Errorf("%s, full %v: %d checks", test.store, test.full, len(checks))
		}
	}
	d, _ := newDoctor()
	d.runChecks(t.Context(), memstore.New(), storecheck.Few())
	says(t, "few", d.report.Findings, "ok checks semantics: 9 checks passed; --full runs all")
}

// brokenServer serves the API but for what broken answers itself.
func brokenServer(
	t *testing.T, store andon.Store, broken func(http.ResponseWriter, *http.Request) bool,
) *httptest.Server {
	t.Helper()
	now := func() andon.Time { return andon.TimeOf(time.Now()) }
	store = wrap.Retain(store, now)
	api := httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: now}), Now: now,
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !broken(w, r) {
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestDoctorOfDefects: a defect of the store is found over HTTP by the steps that meet it, and by
// no other.
func TestDoctorOfDefects(t *testing.T) {
	nothing := func(http.ResponseWriter, *http.Request) bool { return false }
	for method, want := range map[string]string{
		"":                 "ok checks round trip: 19 answers are right",
		"SupervisorEvents": "failed checks entries of a supervisor: ",
		"Retire":           "failed checks retire: ",
	} {
		var faults wrap.Faults
		if method != "" {
			faults.Set(wrap.Fail(andon.Errorf(andon.Internal, "planted")), method)
		}
		store := memstore.New()
		s := brokenServer(t, wrap.Around(store, faults.Hook), nothing)
		d, _ := newDoctor()
		d.URL, d.Attempts = s.URL, 1
		if err := d.examineServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		says(t, method, d.report.Findings, want)
		if n := d.report.tally(failed); (n == 0) != (method == "") || n > 4 {
			t.Errorf("%q: %d failures", method, n)
		}
		onlyDefault(t, store)
	}
}

// onlyDefault checks that nothing is left.
func onlyDefault(t *testing.T, store andon.Store) {
	t.Helper()
	tenants, err := store.Tenants(t.Context())
	if err != nil || len(tenants) != 1 {
		t.Errorf("left: %v, %v", tenants, err)
	}
}

// simple is a store with one tenant, as DynamoDB in the layouts of the guides.
type simple struct{ andon.Store }

func (simple) Capabilities() andon.Capabilities { return andon.Capabilities{Durable: true} }

func (simple) PutTenant(context.Context, andon.Tenant) (is andon.Tenant, err error) {
	return is, andon.Errorf(andon.Unsupported, "there is one tenant")
}

func (simple) DeleteTenant(context.Context, andon.TenantID) error {
	return andon.Errorf(andon.Unsupported, "there is one tenant")
}

// TestDoctorOfOneTenant: where no temporary tenant can be made nothing is tried, which is no
// failure.
func TestDoctorOfOneTenant(t *testing.T) {
	store := simple{memstore.New()}
	d, _ := newDoctor()
	d.runChecks(t.Context(), store, storecheck.Few())
	want := "ok checks not asked: all checks: this store has only the tenant default, " +
		"so none can be made to try it in\n"
	if got := textOf(d.report.Findings...); got != want {
		t.Errorf("got %s", got)
	}
	s := brokenServer(t, store, func(http.ResponseWriter, *http.Request) bool { return false })
	d.URL, d.Attempts = s.URL, 1
	if err := d.examineServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	says(t, "server", d.report.Findings, "ok checks not asked: the round trip: this store has only")
	if n := d.report.tally(failed); n > 0 {
		t.Errorf("failures:\n%s", textOf(d.report.Findings...))
	}
}

func TestDoctorOfServers(t *testing.T) {
	for name, test := range map[string]struct {
		path, answer string
		status       int
		want         string
	}{
		"wrong": {"/intervals", `{"items":[]}`, 200, "failed checks intervals of one state: " +
			`the answer is "", not "WARNING2 NORMAL"`},
		"sick": {"/escalations", `{}`, 500, "failed checks escalate: "},
		"incapable": {"/metrics/temp/", `{}`, 501,
			"ok checks not asked: this store can't serve: one metric of all devices"},
		"not ready": {"/readyz", `{}`, 503, "failed server ready"},
		"no tenant": {"/tenants/andon-check", `{}`, 500, "failed checks create a tenant"},
		"mute":      {"/metrics", `{}`, 404, "warning server metrics: Not Found (HTTP 404)"},
		"strange":   {"/version", `hello`, 200, "failed server reach: read the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			store := memstore.New()
			s := brokenServer(t, store, func(w http.ResponseWriter, r *http.Request) bool {
				hit := strings.Contains(r.URL.Path, test.path) && r.Method != http.MethodDelete &&
					(test.path != "/metrics" || r.URL.Path == "/metrics")
				if hit {
					w.WriteHeader(test.status)
					io.WriteString(w, test.answer)
				}
				return hit
			})
			d, _ := newDoctor()
			d.URL, d.Attempts = s.URL, 1
			if err := d.examineServer(t.Context()); err != nil {
				t.Fatal(err)
			}
			says(t, name, d.report.Findings, test.want)
			onlyDefault(t, store)
		})
	}
}

// TestDoctorInterrupted: a doctor that is interrupted leaves nothing.
func TestDoctorInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var posts atomic.Int64
	store := memstore.New()
	s := brokenServer(t, store, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && posts.Add(1) == 2 {
			cancel()
		}
		return false
	})
	d, _ := newDoctor()
	d.URL, d.Attempts, d.timeout = s.URL, 1, time.Second
	err := d.run(ctx, config.Sources{}, command.FormatTable)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v", err)
	}
	onlyDefault(t, store)
}
