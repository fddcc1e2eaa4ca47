package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/config"
)

// bell is what an adapter of something might have: settings, a list of words, a secret.
type bell struct {
	volume int
	rooms  []string
	url    string
	secret string
	loud   bool
}

func (b *bell) settings() config.Group {
	return config.Group{
		Name: "bell",
		Settings: []config.Setting{
			{Key: "volume", Value: config.Count(&b.volume), Help: "how loud it is"},
			{Key: "rooms", Value: config.List(&b.rooms), Help: "where it is heard"},
			{Key: "url", Value: config.Text(&b.url), Help: "where it is told"},
			{Key: "secret", Value: config.Secret(&b.secret), Help: "what it is signed with"},
			{Key: "loud", Value: config.OnOff(&b.loud), Help: "whether it is told loudly"},
		},
		Check: func(c *config.Check) {
			if !c.IsSet("url") {
				c.Wrong("url", "is missing")
			}
		},
	}
}

// load reads a file of such a text, and variables.
func load(t *testing.T, text string, env ...string) (*bell, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bell.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bell{volume: 3}
	origins, err := config.Load(config.Sources{File: file, Env: env}, b.settings())
	if err != nil {
		return b, strings.ReplaceAll(err.Error(), file, "bell.yaml")
	}
	var said strings.Builder
	for _, o := range origins {
		place := strings.ReplaceAll(o.Place, file, "bell.yaml")
		fmt.Fprintf(&said, "%s: %q from %s\n", o.Key, o.Value, place)
	}
	return b, said.String()
}

// TestSources: a variable may add to a file what must not be in a file.
func TestSources(t *testing.T) {
	b, said := load(t, "bell:\n  rooms: [hall, yard]\n  url: https://a\nbell.loud: on\n",
		"ANDON_BELL_SECRET=hunter2")
	want := &bell{3, []string{"hall", "yard"}, "https://a", "hunter2", true}
	if diff := cmp.Diff(want, b, cmp.AllowUnexported(bell{})); diff != "" {
		t.Error(diff, said)
	}
	const listed = `bell.volume: "3" from default
bell.rooms: "hall,yard" from bell.yaml:2
bell.url: "https://a" from bell.yaml:3
bell.secret: "(hidden)" from ANDON_BELL_SECRET
bell.loud: "on" from bell.yaml:4
`
	if diff := cmp.Diff(listed, said); diff != "" {
		t.Error(diff)
	}
}

func TestWrongSources(t *testing.T) {
	for _, test := range []struct{ text, env, want string }{
		{"bell: https://a", "", "bell.yaml:1: expected keys and values (key: value)\n" +
			"default: bell.url is missing"},
		{"bell:\n  url: a\n  lowd: on\n", "",
			`bell.yaml:3: "bell.lowd" is not a setting; did you mean bell.loud?`},
		{"bell:\n  url: ''\n  loud: perhaps\n", "",
			"bell.yaml:3: bell.loud \"perhaps\" is none of on, off\n" +
				"bell.yaml:2: bell.url is missing"},
		{"bell:\n  url: a\n  url: b\n", "",
			"bell.yaml:3: bell.url is set twice, first at bell.yaml:2"},
		{"bell: {url: a, secret: [hunter2]}\n", "",
			"bell.yaml:1: bell.secret takes one value"},
		{"bell.url: a", "ANDON_BELL_ROOM=a",
			"ANDON_BELL_ROOM: is not a setting; did you mean ANDON_BELL_ROOMS?"},
		{"", "ANDON_BELL_LOUD=on", "default: bell.url is missing"},
	} {
		_, said := load(t, test.text, test.env)
		if diff := cmp.Diff(test.want, said); diff != "" {
			t.Errorf("%s %s:\n%s", test.text, test.env, diff)
		}
	}
}

// TestSpellings: each setting has three, and a flag unless it is a secret.
func TestSpellings(t *testing.T) {
	var b bell
	var rows strings.Builder
	for _, s := range config.Settings(b.settings()) {
		fmt.Fprintf(&rows, "%s %s --%s %q %s\n", s.Key, s.Variable(), s.Flag(), s.Value, s.Help)
		if s.HasFlag() != (s.Key != "bell.secret") {
			t.Errorf("%s has a flag: %v", s.Key, s.HasFlag())
		}
	}
	for _, row := range []string{
		`bell.rooms ANDON_BELL_ROOMS --bell-rooms "" where it is heard`,
		`bell.secret ANDON_BELL_SECRET --bell-secret "" what`,
		`bell.loud ANDON_BELL_LOUD --bell-loud "off" whether`,
	} {
		if !strings.Contains(rows.String(), row) {
			t.Errorf("no %s in\n%s", row, &rows)
		}
	}
}
