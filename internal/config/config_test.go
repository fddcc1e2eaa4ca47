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

// bell is what an adapter of something might have: settings, a list of words, and lists of objects.
type bell struct {
	volume int
	rooms  []string
	hooks  []*hook
}

type hook struct {
	url, secret string
	loud        bool
	keys        []*key
}

type key struct{ name string }

func (b *bell) settings() config.Group {
	return config.Group{Name: "bell", Settings: []config.Setting{
		{Key: "volume", Value: config.Count(&b.volume), Help: "how loud it is"},
		{Key: "rooms", Value: config.List(&b.rooms), Help: "where it is heard"},
		{Key: "hooks", Value: config.Objects(&b.hooks, (*hook).settings), Help: "who is told"},
	}}
}

func (h *hook) settings() config.Group {
	return config.Group{
		Settings: []config.Setting{
			{Key: "url", Value: config.Text(&h.url), Help: "where it is told"},
			{Key: "secret", Value: config.Secret(&h.secret), Help: "what it is signed with"},
			{Key: "loud", Value: config.OnOff(&h.loud), Help: "whether it is told loudly"},
			{Key: "keys", Value: config.Objects(&h.keys, (*key).settings), Help: "its keys"},
		},
		Check: func(c *config.Check) {
			if !c.IsSet("url") {
				c.Wrong("url", "is missing")
			}
		},
	}
}

func (k *key) settings() config.Group {
	return config.Group{Settings: []config.Setting{
		{Key: "name", Value: config.Given(&k.name), Help: "its name"},
	}}
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

const hooks = `bell:
  rooms: [hall, yard]
  hooks:
    - url: https://a
      keys:
        - name: one
        - name: two
    - url: https://b
      loud: on
`

// TestObjects: a list of objects is read from a file, and from variables by numbers, which may add
// to an object of the file what must not be in a file.
func TestObjects(t *testing.T) {
	b, said := load(t, hooks, "ANDON_BELL_HOOKS_1_SECRET=hunter2",
		"ANDON_BELL_HOOKS_2_URL=https://c", "ANDON_BELL_HOOKS_2_KEYS_0_NAME=three")
	want := &bell{volume: 3, rooms: []string{"hall", "yard"}, hooks: []*hook{
		{url: "https://a", keys: []*key{{"one"}, {"two"}}},
		{url: "https://b", loud: true, secret: "hunter2"},
		{url: "https://c", keys: []*key{{"three"}}},
	}}
	if diff := cmp.Diff(want, b, cmp.AllowUnexported(bell{}, hook{}, key{})); diff != "" {
		t.Error(diff, said)
	}
	const listed = `bell.volume: "3" from default
bell.rooms: "hall,yard" from bell.yaml:2
bell.hooks.0.url: "https://a" from bell.yaml:4
bell.hooks.0.secret: "" from default
bell.hooks.0.loud: "off" from default
bell.hooks.0.keys.0.name: "one" from bell.yaml:6
bell.hooks.0.keys.1.name: "two" from bell.yaml:7
bell.hooks.1.url: "https://b" from bell.yaml:8
bell.hooks.1.secret: "(hidden)" from ANDON_BELL_HOOKS_1_SECRET
bell.hooks.1.loud: "on" from bell.yaml:9
bell.hooks.2.url: "https://c" from ANDON_BELL_HOOKS_2_URL
bell.hooks.2.secret: "" from default
bell.hooks.2.loud: "off" from default
bell.hooks.2.keys.0.name: "three" from ANDON_BELL_HOOKS_2_KEYS_0_NAME
`
	if diff := cmp.Diff(listed, said); diff != "" {
		t.Error(diff)
	}
	// What is printed of a configuration is a file, too: keys by numbers.
	again, said := load(t, "bell.hooks.0.url: https://a\nbell.hooks.1.url: https://b\n")
	if len(again.hooks) != 2 || again.hooks[1].url != "https://b" {
		t.Error(said)
	}
}

func TestWrongObjects(t *testing.T) {
	for _, test := range []struct{ text, env, want string }{
		{"bell.hooks: https://a", "",
			"bell.yaml:1: bell.hooks is a list: write - before each of its objects"},
		{"bell.hooks: [https://a]", "", "bell.yaml:1: expected keys and values (key: value)\n" +
			"bell.yaml:1: bell.hooks.0.url is missing"},
		{"bell.hooks:\n- url: a\n  lowd: on\n", "",
			`bell.yaml:3: "bell.hooks.0.lowd" is not a setting; did you mean bell.hooks.0.loud?`},
		{"bell.hooks:\n- url: a\n- loud: perhaps\n", "",
			"bell.yaml:3: bell.hooks.1.loud \"perhaps\" is none of on, off\n" +
				"bell.yaml:3: bell.hooks.1.url is missing"},
		{"bell.hooks:\n- url: a\n  url: b\n", "",
			"bell.yaml:3: bell.hooks.0.url is set twice, first at bell.yaml:2"},
		{"bell.hooks:\n- {url: a, secret: [hunter2]}\n", "",
			"bell.yaml:2: bell.hooks.0.secret takes one value"},
		{"", "ANDON_BELL_HOOKS_1_URL=a", "ANDON_BELL_HOOKS_1_URL: is not a setting: " +
			"bell.hooks is a list, numbered from 0 on without gaps, and has 0 so far"},
		{"", "ANDON_BELL_HOOKS=a", "ANDON_BELL_HOOKS: is not a setting; " +
			"did you mean ANDON_BELL_ROOMS?"},
		{"", "ANDON_BELL_HOOKS_0_LOUD=on", "ANDON_BELL_HOOKS_0_LOUD: bell.hooks.0.url is missing"},
	} {
		_, said := load(t, test.text, test.env)
		if diff := cmp.Diff(test.want, said); diff != "" {
			t.Errorf("%s %s:\n%s", test.text, test.env, diff)
		}
	}
}

// TestSpellings: objects have their settings in the reference, and no flags.
func TestSpellings(t *testing.T) {
	var b bell
	page := config.Reference(b.settings())
	for _, row := range []string{
		"| `bell.rooms` | `ANDON_BELL_ROOMS` | `--bell-rooms` |  | where it is heard |",
		"| `bell.hooks.N.loud` | `ANDON_BELL_HOOKS_N_LOUD` | none | `off` | whether",
		"| `bell.hooks.N.keys.N.name` | `ANDON_BELL_HOOKS_N_KEYS_N_NAME` | none |",
	} {
		if !strings.Contains(page, row) {
			t.Errorf("no %s in\n%s", row, page)
		}
	}
	for _, s := range config.Settings(b.settings()) {
		if s.HasFlag() != (s.Key != "bell.hooks") {
			t.Errorf("%s has a flag: %v", s.Key, s.HasFlag())
		}
	}
}
