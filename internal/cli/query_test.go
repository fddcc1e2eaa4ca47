package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/golden"
)

// desk is a person at the command line, with a server whose clock does not run.
type desk struct {
	*testServer
	out, err bytes.Buffer
}

func newDesk(t testing.TB) *desk { return &desk{testServer: newTestServer(t)} }

// types runs a command, adds --url, and returns its exit code.
func (d *desk) types(ctx context.Context, args ...string) int {
	d.out.Reset()
	d.err.Reset()
	p := &command.Program{
		Stdin: strings.NewReader(""), Stdout: &d.out, Stderr: &d.err,
		Now: d.Clock,
	}
	return run(ctx, p, append(args, "--url", d.URL))
}

// does runs a command that must go well, and returns what it printed.
func (d *desk) does(args ...string) string {
	d.Helper()
	if code := d.types(d.Context(), args...); code != command.ExitDone {
		d.Fatalf("andon %s: exit code %d\n%s", strings.Join(args, " "), code, d.err.String())
	}
	return d.out.String()
}

// afternoon sends what happened before the clock stopped.
func (d *desk) afternoon() {
	d.Helper()
	text, err := os.ReadFile("testdata/afternoon.ndjson")
	if err != nil {
		d.Fatal(err)
	}
	d.Sends("/events", string(text))
}

// TestTablesGolden: what a person sees of each query.
func TestTablesGolden(t *testing.T) {
	d := newDesk(t)
	d.afternoon()
	d.Sends("/readings", `{"device":"press-7","time":"2020-04-24T14:59:00Z",`+
		`"metrics":{"door":1,"temp":21.5}}`)
	d.does("assign", "press-7", "Bob")
	d.does("escalate", "press-7", "--to", "Omar", "--by", "Bob", "--note", "third time")
	d.Now.Add(20 * 60 * 1_000_000)
	var got strings.Builder
	for _, query := range []string{
		"devices", "devices --sort severity --limit 2", "device press-7", "states",
		"events press-7",
		"entry press-7 2020-04-24T14:50:00.25Z WARNING2", "operator Liz --order asc",
		"supervisor Omar", "intervals press-7", "assignments press-7", "readings press-7",
		"readings press-7 --metrics temp", "latest press-7", "metric temp",
	} {
		args := append([]string{"query"}, strings.Fields(query)...)
		got.WriteString("$ andon query " + query + "\n" +
			d.does(append(args, "--output", "table")...) + d.err.String() + "\n")
	}
	got.WriteString("$ andon tenant list\n" + d.does("tenant", "list", "--output", "table"))
	golden.File(t, "testdata/tables.golden", got.String())
}

// TestLongTablesComeInParts: a list that never ends is shown as it comes.
func TestLongTablesComeInParts(t *testing.T) {
	const tablePart = 1000
	d := newDesk(t)
	var log strings.Builder
	for i := range tablePart + 1 {
		log.WriteString(`{"device":"d","state":"NORMAL","time":"` +
			d.Clock().Add(-andon.Duration(i*1_000_000)).String() + "\"}\n")
	}
	d.Sends("/events", log.String())
	out := d.does("query", "events", "d", "--all", "--output", "table")
	if got := strings.Count(out, "DEVICE"); got != 2 {
		t.Errorf("%d headings", got)
	}
	if got := strings.Count(out, "\n"); got != tablePart+1+2 {
		t.Errorf("%d lines", got)
	}
}

// TestPipesCutNothing: text is not cut in the table of a query either.
func TestPipesCutNothing(t *testing.T) {
	long := strings.Repeat("é", 100)
	d := newDesk(t)
	d.Sends("/events", `{"device":"d","state":"NORMAL","message":"`+long+`"}`)
	for _, query := range []string{"devices", "device d", "events d"} {
		args := append([]string{"query"}, strings.Fields(query)...)
		if got := d.does(append(args, "--output", "table")...); !strings.Contains(got, long) {
			t.Errorf("%s: the message is cut in\n%s", query, got)
		}
	}
}
