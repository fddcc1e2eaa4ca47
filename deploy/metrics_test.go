package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// board is what concerns us of a dashboard of Grafana.
type board struct {
	UID    string  `json:"uid"`
	Panels []panel `json:"panels"`

	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	} `json:"targets"`
}

func dashboard(t *testing.T) (b board) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "grafana/andon.json")), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b board) queries() (all []string) {
	for _, p := range b.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, a := range b.Annotations.List {
		all = append(all, a.Expr)
	}
	return all
}

// TestSerialDashboard: panels have a title and say what they show, each id is there once, and none
// lies on another.
func TestSerialDashboard(t *testing.T) {
	b := dashboard(t)
	if b.UID != "andon" || len(b.Panels) < 10 {
		t.Fatalf("got %q with %d panels", b.UID, len(b.Panels))
	}
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range b.Panels {
		if p.Title == "" || ids[p.ID] || p.Type != "row" && (p.Description == "" ||
			len(p.Targets) == 0) {
			t.Errorf("panel %d: %q, %q, %d queries", p.ID, p.Title, p.Description, len(p.Targets))
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestSerialMetricNames: the dashboard and the rules ask for metrics that the program has, and for
// labels that these have.
func TestSerialMetricNames(t *testing.T) {
	metrics := exposed(t, config.Sources{})
	// Of DynamoDB and Cassandra.
	metrics.labels = append(metrics.labels, "operation", "table", "index", "node", "pool")
	asked := dashboard(t).queries()
	for _, v := range dashboard(t).Templating.List {
		if v.Definition != "" {
			asked = append(asked, v.Definition)
		}
	}
	exprs := regexp.MustCompile(`(?m)^\s+expr: (?:\|\n((?: {10,}.*\n)+)|(.+)\n)`)
	for _, file := range rules() {
		text := read(t, "prometheus/"+file+".rules.yml")
		for _, m := range exprs.FindAllStringSubmatch(text, -1) {
			asked = append(asked, m[1]+m[2])
		}
	}
	if len(asked) < 30 {
		t.Fatalf("only %d queries", len(asked))
	}
	name := regexp.MustCompile(`\b(?:andon|go|process)_[a-z0-9_]+\b`)
	for _, q := range asked {
		names := name.FindAllString(q, -1)
		if len(names) == 0 && !strings.HasPrefix(q, "up{") {
			t.Errorf("%s asks for no metric", q)
		}
		for _, n := range names {
			if strings.HasPrefix(n, "andon_dynamodb_") || strings.HasPrefix(n, "andon_cassandra_") {
				continue // TestSerialMetricNamesOfDynamoDB and TestSerialFigures look at them
			}
			if !slices.Contains(metrics.names, n) {
				t.Errorf("%s asks for %s, which /metrics does not have", q, n)
			}
		}
		for _, l := range labelsIn(q) {
			if !slices.Contains(metrics.labels, l) {
				t.Errorf("%s asks for the label %s, which no metric has", q, l)
			}
		}
	}
}

// TestSerialMetricNamesOfDynamoDB is TestSerialMetricNames for what only that store has.
func TestSerialMetricNamesOfDynamoDB(t *testing.T) {
	metrics := exposed(t, config.Sources{Env: []string{
		"ANDON_STORE=dynamodb", "ANDON_DYNAMODB_ENDPOINT=" + enginetest.DynamoDB(t).URL,
		"ANDON_DYNAMODB_KEY=any", "ANDON_DYNAMODB_SECRET=any",
		fmt.Sprintf("ANDON_DYNAMODB_PREFIX=deploy_%08x_", rand.Uint32()),
	}})
	name := regexp.MustCompile(`\bandon_dynamodb_[a-z0-9_]+\b`)
	asked := name.FindAllString(read(t, "prometheus/andon.rules.yml"), -1)
	if len(asked) < 3 {
		t.Fatalf("the rules ask for %q", asked)
	}
	for _, n := range asked {
		if !slices.Contains(metrics.names, n) {
			t.Errorf("the rules ask for %s, which /metrics does not have", n)
		}
	}
	for _, l := range []string{"operation", "table", "index"} {
		if !slices.Contains(metrics.labels, l) {
			t.Errorf("the rules ask for the label %s, which no metric has", l)
		}
	}
}

var (
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// labelsIn returns the labels that a query names.
func labelsIn(q string) (all []string) {
	for _, m := range matcher.FindAllStringSubmatch(q, -1) {
		all = append(all, m[1])
	}
	for _, m := range grouping.FindAllStringSubmatch(q, -1) {
		all = append(all, strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")...)
	}
	return all
}

// exposition is what /metrics has: names and labels, and the labels that Prometheus adds.
type exposition struct{ names, labels []string }

// started starts the program, until the end of the test.
func started(t *testing.T, set config.Sources) *app.App {
	t.Helper()
	c, _, err := app.LoadConfig(set)
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Data, c.Log.Audit = "127.0.0.1:0", t.TempDir(), false
	a := app.New(app.Options{
		Config: c, Log: slog.New(slog.DiscardHandler),
		Now: func() andon.Time { return andon.TimeOf(time.Now()) },
	})
	e, env, err := a.Closed("")
	if err == nil {
		err = e.Init(t.Context(), env, adapter.Setup{}, func(string) {})
	}
	if err != nil && andon.KindOf(err) != andon.Unsupported {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// exposed starts the program, uses it once, and reads /metrics.
func exposed(t *testing.T, set config.Sources) exposition {
	t.Helper()
	a := started(t, set)
	get(t, a.URL()+"/livez") // what counts requests has no series before the first
	line := regexp.MustCompile(`(?m)^([a-z_][a-z0-9_]*)(?:\{(.*)\})? `)
	e := exposition{labels: []string{"job", "instance"}}
	for _, m := range line.FindAllStringSubmatch(get(t, a.URL()+"/metrics"), -1) {
		e.names = append(e.names, m[1])
		e.labels = append(e.labels, labelsIn(m[2])...)
	}
	return e
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, answer.Status, err)
	}
	return string(text)
}
