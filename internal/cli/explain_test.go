package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/cli/command"
)

// planned is what a server answers to any query that is to be explained.
const planned = `{"statements":[{"statement":"SELECT entry FROM andon.latest_by_device ` +
	`WHERE tenant = ? AND device = ?","partition":["default","press-7"],` +
	`"consistency":"LOCAL_QUORUM","times":12,"rows":34,"scanned":40,"units":1.5,"ms":5.25},` +
	`{"statement":"SELECT record\nFROM andon.tenants","times":1,"rows":1,"ms":0.5}]}`

// newPlanner is a desk before a server that explains all that it is asked, and nothing else.
func newPlanner(t *testing.T, plan string) *desk {
	d := &desk{testServer: &testServer{TB: t}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("explain") != "true" {
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, plan)
	}))
	d.URL = server.URL
	t.Cleanup(server.Close)
	return d
}

func TestExplain(t *testing.T) {
	d := newPlanner(t, planned)
	const table = `PARTITION CONSISTENCY TIMES ROWS SCANNED BYTES UNITS MS STATEMENT
default, press-7 LOCAL_QUORUM 12 34 40 1.5 5.25 SELECT entry FROM andon.latest_by_device ` +
		`WHERE tenant = ? AND device = ?
1 1 0.5 SELECT record FROM andon.tenants
`
	got := d.does("query", "device", "press-7", "--explain", "--output", "table")
	if diff := cmp.Diff(table, squeezed(got)); diff != "" {
		t.Error(diff)
	}
	got = d.does("query", "device", "press-7", "--explain")
	want := `{"statement":"SELECT entry FROM andon.latest_by_device WHERE tenant = ? AND ` +
		`device = ?","partition":["default","press-7"],"consistency":"LOCAL_QUORUM",` +
		`"times":12,"rows":34,"scanned":40,"units":1.5,"ms":5.25}` + "\n" +
		`{"statement":"SELECT record\nFROM andon.tenants","times":1,"rows":1,"ms":0.5}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = d.does("query", "device", "press-7", "--explain", "--output", "csv")
	const columns = "statement,partition,consistency,times,rows,scanned,bytes,units,ms\n"
	if !strings.HasPrefix(got, columns) ||
		!strings.Contains(got, `,"default, press-7",LOCAL_QUORUM,12,34,40,,1.5,5.25`) {
		t.Errorf("got %s", got)
	}
}

// squeezed is a table without how wide its columns are.
func squeezed(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// TestExplainEachQuestion: each asks for its plan alone, in every format, and prints nothing else.
func TestExplainEachQuestion(t *testing.T) {
	d := newPlanner(t, planned)
	for _, query := range []string{
		"device press-7", "devices", "devices --sort severity", "states", "events press-7",
		"entry press-7 2020-04-24T14:40:00Z WARNING1", "operator Liz --all", "supervisor Sara",
		"intervals press-7", "assignments press-7", "readings press-7", "latest press-7",
		"metric temp",
	} {
		for _, form := range []string{"table", "csv", "json"} {
			args := append([]string{"query"}, strings.Fields(query)...)
			got := d.does(append(args, "--explain", "--output", form)...)
			if n := strings.Count(got, "LOCAL_QUORUM"); n != 1 || strings.Contains(got, "WARNING") {
				t.Errorf("%s as %s: %s", query, form, got)
			}
			if d.err.Len() > 0 {
				t.Errorf("%s as %s says %s", query, form, d.err.String())
			}
		}
	}
}

func TestExplainNothing(t *testing.T) {
	d := newPlanner(t, `{"statements":[]}`)
	if got := d.does("query", "states", "--explain", "--output", "table"); got != "" ||
		!strings.Contains(d.err.String(), "without its engine") {
		t.Errorf("got %q, %q", got, d.err.String())
	}
}

// TestExplainUnsupported: a store without an engine has nothing to explain.
func TestExplainUnsupported(t *testing.T) {
	d := newDesk(t)
	if code := d.types(t.Context(), "query", "states", "--explain"); code != command.ExitFailed ||
		!strings.Contains(d.err.String(), "501") || d.out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, d.out.String(), d.err.String())
	}
}
