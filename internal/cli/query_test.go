package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// desk is a person at the command line, with a server whose clock stands still.
type desk struct {
	testing.TB
	url      string
	now      atomic.Int64
	out, err bytes.Buffer

	mu     sync.Mutex
	before func(*http.Request) // called before each request to the server; may be nil
}

func newDesk(t testing.TB) *desk {
	now, err := andon.ParseTime("2020-04-24T15:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{TB: t}
	d.now.Store(int64(now))
	memory := memstore.New()
	store := wrap.Retain(memory, d.clock)
	api := httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: d.clock}), Now: d.clock,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.beforeEach(r)
		api.ServeHTTP(w, r)
	}))
	d.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *desk) clock() andon.Time { return andon.Time(d.now.Load()) }

func (d *desk) beforeEach(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		d.before(r)
	}
}

// meddle makes a function be called before each request from now on.
func (d *desk) meddle(before func(*http.Request)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// types runs a command, adds --url, and returns its exit code.
func (d *desk) types(ctx context.Context, args ...string) int {
	d.out.Reset()
	d.err.Reset()
	p := &program{
		stdin: strings.NewReader(""), stdout: &d.out, stderr: &d.err,
		now: d.clock,
	}
	return p.run(ctx, append(args, "--url", d.url))
}

// does runs a command that must go well, and returns what it printed.
func (d *desk) does(args ...string) string {
	d.Helper()
	if code := d.types(d.Context(), args...); code != exitDone {
		d.Fatalf("andon %s: exit code %d\n%s", strings.Join(args, " "), code, d.err.String())
	}
	return d.out.String()
}

func (d *desk) client(tenant andon.TenantID) *client.Client {
	c, err := client.New(client.Options{URL: d.url, Tenant: tenant})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(c.Close)
	return c
}

// afternoon sends what happened before the clock stopped.
func (d *desk) afternoon() {
	d.Helper()
	text, err := os.ReadFile("testdata/afternoon.ndjson")
	if err != nil {
		d.Fatal(err)
	}
	d.sends("/events", string(text))
}

func (d *desk) sends(path, body string) {
	d.Helper()
	answer, err := http.Post(d.url+"/api/v1"+path, "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		d.Fatal(answer.Status)
	}
}

// TestTablesGolden: what a person sees of each question.
func TestTablesGolden(t *testing.T) {
	d := newDesk(t)
	d.afternoon()
	d.sends("/readings", `{"device":"press-7","time":"2020-04-24T14:59:00Z",`+
		`"metrics":{"door":1,"temp":21.5}}`)
	d.does("assign", "press-7", "Bob")
	d.does("escalate", "press-7", "--to", "Omar", "--by", "Bob", "--note", "third time")
	d.now.Add(20 * 60 * 1_000_000)
	var got strings.Builder
	for _, question := range []string{
		"devices", "devices --sort severity --limit 2", "device press-7", "states",
		"events press-7",
		"entry press-7 2020-04-24T14:50:00.25Z WARNING2", "operator Liz --order asc",
		"supervisor Omar", "intervals press-7", "assignments press-7", "readings press-7",
		"readings press-7 --metrics temp", "latest press-7", "metric temp",
	} {
		args := append([]string{"query"}, strings.Fields(question)...)
		got.WriteString("$ andon query " + question + "\n" +
			d.does(append(args, "--output", "table")...) + d.err.String() + "\n")
	}
	got.WriteString("$ andon tenant list\n" + d.does("tenant", "list", "--output", "table"))
	golden(t, "testdata/tables.golden", got.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-rewrite writes it anew)\n%s", path, diff)
	}
}

func TestStatesAreColoured(t *testing.T) {
	var out bytes.Buffer
	w := page{w: &out, depth: allColours}
	set := andon.DefaultStates()
	w.table([][]cell{{looks{states: set}.state("WARNING4")}, {looks{states: set}.state("OFF")}})
	want := "  \x1b[48;2;183;28;28;38;2;255;255;255m✖ WARNING4\x1b[0m\n" +
		"  \x1b[48;2;84;110;122;38;2;255;255;255m○ OFF\x1b[0m\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLegible: a message can't move the cursor, colour the terminal or turn the direction of text.
func TestLegible(t *testing.T) {
	for text, want := range map[string]string{
		"plain Zoë 🏭":              "plain Zoë 🏭",
		"\x1b[31mred\r\nnext\ttab": " [31mred  next tab",
		"\u009b31m":                " 31m",
		"a\u202eb\u2066c":          "a\ufffdb\ufffdc",
		strings.Repeat("é", 61):    strings.Repeat("é", 61),
	} {
		if got := legible(text); got != want {
			t.Errorf("legible(%q) is %q, want %q", text, got, want)
		}
	}
}

// TestLongTablesComeInParts: a list that never ends is shown as it comes.
func TestLongTablesComeInParts(t *testing.T) {
	d := newDesk(t)
	var log strings.Builder
	for i := range tablePart + 1 {
		log.WriteString(`{"device":"d","state":"NORMAL","time":"` +
			d.clock().Add(-andon.Duration(i*1_000_000)).String() + "\"}\n")
	}
	d.sends("/events", log.String())
	out := d.does("query", "events", "d", "--all", "--output", "table")
	if got := strings.Count(out, "DEVICE"); got != 2 {
		t.Errorf("%d headings", got)
	}
	if got := strings.Count(out, "\n"); got != tablePart+1+2 {
		t.Errorf("%d lines", got)
	}
}

// TestOnlyTerminalsCut: a long text is cut where a person looks at a table, so that the columns
// behind it are seen, but never on its way into a file or a pipe.
func TestOnlyTerminalsCut(t *testing.T) {
	long := strings.Repeat("é", widestCell+1)
	c := textColumn("note", func(text *string) string { return *text })
	if got := c.cell(looks{}, &long).text; got != long {
		t.Errorf("in a pipe it is %s", got)
	}
	want := strings.Repeat("é", widestCell-1) + "…"
	if got := c.cell(looks{brief: true}, &long).text; got != want {
		t.Errorf("on a terminal it is %s", got)
	}
	d := newDesk(t)
	d.sends("/events", `{"device":"d","state":"NORMAL","message":"`+long+`"}`)
	for _, question := range []string{"devices", "device d", "events d"} {
		args := append([]string{"query"}, strings.Fields(question)...)
		if got := d.does(append(args, "--output", "table")...); !strings.Contains(got, long) {
			t.Errorf("%s: the message is cut in\n%s", question, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{
		"metro": "metro", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'",
	} {
		if got := shellWord(name); got != want {
			t.Errorf("shellWord(%q) is %s, want %s", name, got, want)
		}
	}
}

// TestSecondsHaveNoExponent: a spreadsheet would round them.
func TestSecondsHaveNoExponent(t *testing.T) {
	i := client.Interval{Seconds: 12_345_678.000001}
	for _, c := range intervalColumns() {
		if c.name == "seconds" && c.text(&i) != "12345678.000001" {
			t.Errorf("got %s", c.text(&i))
		}
	}
}

// TestStrangeStatesAreFew: of states that are none no more is kept and shown than a person reads.
func TestStrangeStatesAreFew(t *testing.T) {
	var s strangeStates
	s.learn(andon.DefaultStates().Defs())
	s.add([]andon.Event{{State: "NORMAL"}, {State: "ODD"}, {State: "BAD"}},
		client.Result{Rejected: []andon.Rejection{{Index: 2}}})
	want := "1 state is not in tenant metro's set and has severity 16: ODD; " +
		"see andon tenant set --help\n"
	if got := s.note("metro"); got != want {
		t.Errorf("got %s", got)
	}
	for i := range 2 * keptStrange {
		s.add([]andon.Event{{State: andon.State(fmt.Sprintf("%04d", i))}}, client.Result{})
	}
	want = "1000 states or more are not in tenant metro's set and have severity 16: " +
		"0000, 0001, 0002, 0003, 0004, …; see andon tenant set --help\n"
	if got := s.note("metro"); got != want || len(s.names) != keptStrange {
		t.Errorf("got %s", got)
	}
}
