package app_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/store/memstore"
)

// ring is an engine that the program has never heard of: what a new store has to bring.
type ring struct {
	adapter.NoFiles
	adapter.NoPlan
	adapter.NoSchema // but for Init
	Region           string
	Hosts            []string
	opened           adapter.Env
}

func (*ring) Name() string         { return "ring" }
func (*ring) Place() adapter.Place { return adapter.Elsewhere }

func (r *ring) Settings() config.Group {
	return config.Group{Name: r.Name(), Settings: []config.Setting{
		{Key: "region", Value: config.Choice(&r.Region, "eu", "us").OrNone(), Help: "its region"},
		{Key: "hosts", Value: config.List(&r.Hosts), Help: "where it answers"},
	}}
}

func (r *ring) Check() error {
	if r.Region == "" {
		return andon.Errorf(andon.Invalid, "ring.region is missing")
	}
	return nil
}

func (r *ring) Open(_ context.Context, e adapter.Env) (andon.Store, error) {
	r.opened = e
	return memstore.New(), r.Check()
}

func (r *ring) Init(
	_ context.Context, _ adapter.Env, s adapter.Setup, report func(statement string),
) error {
	report("CREATE " + r.Region + " TIMES " + s.Replication)
	return nil
}

// TestAnotherEngine: a store is its package and a line in the list. Nothing else has to know it:
// its settings are read from all sources, checked and shown, and the program makes and serves it.
func TestAnotherEngine(t *testing.T) {
	r := &ring{}
	c := app.NewConfig(append(all.New(), r))
	shown := app.NewConfig(append(all.New(), &ring{}))
	var rows strings.Builder
	for _, s := range config.Settings(shown.Groups()...) {
		fmt.Fprintf(&rows, "%s %s --%s %q %s\n", s.Key, s.Variable(), s.Flag(), s.Value, s.Help)
	}
	for _, want := range []string{
		`ring.region ANDON_RING_REGION --ring-region "" its region`,
		`ring.hosts ANDON_RING_HOSTS --ring-hosts `,
		"dynamodb (shared, durable) or ring (shared, durable)\n",
	} {
		if !strings.Contains(rows.String(), want) {
			t.Errorf("the settings have no %s", want)
		}
	}
	c.Listen, c.Store = "127.0.0.1:0", "ring"
	if err := app.Check(c); err == nil || !strings.Contains(err.Error(), "ring.region is missing") {
		t.Errorf("without a region: %v", err)
	}
	origins, err := config.Load(config.Sources{
		Env:   []string{"ANDON_RING_HOSTS=a,b"},
		Flags: map[string]string{"ring.region": "eu"},
	}, c.Groups()...)
	if err != nil || len(r.Hosts) != 2 || r.Hosts[1] != "b" {
		t.Fatalf("%v, %+v", err, r)
	}
	if !slices.ContainsFunc(origins, func(o config.Origin) bool {
		return o.Key == "ring.region" && o.Place == "--ring-region"
	}) {
		t.Error("where the region is from is not said")
	}
	a := app.New(app.Options{Config: c, Now: clock, Log: slog.New(slog.DiscardHandler)})
	told := ""
	e, env, err := a.Closed("")
	if err == nil {
		err = e.Init(t.Context(), env, adapter.Setup{Replication: "3"}, func(s string) { told = s })
	}
	if err != nil || told != "CREATE eu TIMES 3" {
		t.Errorf("made %q, %v", told, err)
	}
	if err := e.Repair(env, false, nil); andon.KindOf(err) != andon.Unsupported {
		t.Errorf("repairing it: %v", err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, plain(), a.URL()+"/readyz", ""); got != "200" {
		t.Errorf("/readyz answers %s", got)
	}
	if !strings.Contains(r.opened.Owner, a.URL()) || r.opened.Now == nil {
		t.Errorf("it is opened with %+v", r.opened)
	}
	stop(t, a)
}

// TestRootOnAStoreOfAnotherUser: what root would leave there the server of that user can't open.
func TestRootOnAStoreOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	c := app.NewConfig(all.New())
	c.Store, c.Data = "pebble", t.TempDir()
	now := func() andon.Time { return 1 }
	a := app.New(app.Options{Config: c, Now: now, Log: slog.New(slog.DiscardHandler)})
	s, err := a.OpenStore(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(c.Data, nobody, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.OpenStore(t.Context(), "test"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("opened: %v", err)
	}
	if _, _, err := a.Closed("test"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("as files: %v", err)
	}
}
