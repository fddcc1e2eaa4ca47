package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/sources"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
)

// send writes messages as a source of an App does.
func send(t *testing.T, a *App, name, mappingFile string, values ...string) {
	t.Helper()
	m, err := readMapping(mappingFile)
	if err != nil {
		t.Fatal(err)
	}
	w, err := a.writer(name, string(andon.DefaultTenant), m)
	if err != nil {
		t.Fatal(err)
	}
	var all []mapping.Message
	for i, value := range values {
		all = append(all, mapping.Message{
			Place: "p" + string(rune('0'+i)), Value: []byte(value), Time: a.Now() - andon.Time(i),
		})
	}
	if err := w.Write(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// TestRejections: what sources refused is listed over HTTP and on the command line, also after the
// program was started again, and is counted.
func TestRejections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	err := os.WriteFile(file, []byte("device: $.id\nstate: $.s\ntenant: $.of\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory", "pebble"} {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig()
			c.Listen, c.Store, c.Data = "127.0.0.1:0", name, t.TempDir()
			a := startWith(t, c)
			send(t, a, "line-3", "", `{"device":"d","state":"NORMAL"}`, `{"device":"d"}`, "\x1b[2J")
			send(t, a, "line-4", file, `{"id":"d","s":"NORMAL","of":"nobody"}`, `{"id":"d"}`)
			checkRejections(t, a)
			if text := fetch(t, a.URL()+"/metrics"); !strings.Contains(text,
				`andon_source_rejected_total{source="line-3"} 2`) ||
				!strings.Contains(text, `andon_source_entries_total{source="line-3"} 1`) ||
				!strings.Contains(text, `andon_source_messages_total{source="line-4"} 2`) {
				t.Error("the metrics lack counts of sources")
			}
			if err := a.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			if name == "pebble" {
				a = startWith(t, c)
				checkRejections(t, a)
				if err := a.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// startWith starts an App as its program does.
func startWith(t *testing.T, c Config) *App {
	t.Helper()
	a := New(Options{
		Config: c, Log: slog.New(slog.DiscardHandler),
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func checkRejections(t *testing.T, a *App) {
	t.Helper()
	c, err := client.New(client.Options{URL: a.URL()})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []int{1, 100} {
		var got []string
		all, err := seq.Collect(c.Rejections(t.Context(), "", client.Query{Page: page}))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			r.At = 0
			text, _ := json.Marshal(r)
			got = append(got, string(text))
		}
		want := []string{
			`{"source":"line-4","place":"p1","index":0,"reason":"there is no $.of",` +
				`"message":"{\"id\":\"d\"}"}`,
			`{"source":"line-4","place":"p0","index":0,"tenant":"nobody",` +
				`"reason":"there is no tenant \"nobody\"",` +
				`"message":"{\"id\":\"d\",\"s\":\"NORMAL\",\"of\":\"nobody\"}"}`,
			`{"source":"line-3","place":"p1","index":0,"reason":"state is missing",` +
				`"message":"{\"device\":\"d\"}"}`,
			`{"source":"line-3","place":"p2","index":0,"reason":"nothing could be read: line 1, ` +
				`at byte 0: want a value, found '\\x1b'","message":"` + "\uFFFD" + `[2J"}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	var out, problems bytes.Buffer
	p := &command.Program{Stdout: &out, Stderr: &problems, Now: a.Now}
	cmd := sources.Rejections(p)
	cmd.SetArgs([]string{"--url", a.URL(), "--source", "line-4", "--output", "csv", "--limit", "1",
		"--from", "1h"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	header, row, _ := strings.Cut(out.String(), "\n")
	if header != "at,source,place,index,line,tenant,reason,message" ||
		!strings.Contains(row, ",line-4,p1,0,,,there is no $.of,") ||
		!strings.Contains(problems.String(), "There are more than these 1") {
		t.Errorf("%s%s", out.String(), problems.String())
	}
	later := client.Query{From: a.Now().Add(1_000_000)}
	if all, err := seq.Collect(c.Rejections(t.Context(), "", later)); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
}

// modest is a store without records.
type modest struct{ andon.Store }

func (modest) Capabilities() andon.Capabilities { return andon.Capabilities{Name: "modest"} }

// TestSourcesNeedRecords: a store that can't keep what is refused has no sources, and says so; nor
// does a program start with a mapping that can't be read.
func TestSourcesNeedRecords(t *testing.T) {
	a := &App{store: modest{memstore.New()}}
	_, err := a.writer("line-3", string(andon.DefaultTenant), nil)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "modest") {
		t.Error(err)
	}
	a.services = newServices()
	err = a.addSource("kafka", source.Config{Mapping: "none.yaml"}, nil)
	if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), "none.yaml") {
		t.Error(err)
	}
}
