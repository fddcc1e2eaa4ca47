package designs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// TestRandomStateKeys: of two states at one instant the later one in the log has the greater key.
func TestRandomStateKeys(t *testing.T) {
	draw := func(r *rand.Rand) andon.EventKey {
		return andon.EventKey{
			Severity: uint8(r.IntN(256)),
			State:    []andon.State{"A", "AB", "B", "0", "日"}[r.IntN(5)],
		}
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		a, b := draw(r), draw(r)
		got := strings.Compare(stateKey(a.Severity, a.State), stateKey(b.Severity, b.State))
		if want := a.Compare(b); got != want {
			t.Fatalf("seed %d: %+v to %+v is %d, want %d", seed, a, b, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	c, err := ParseBuckets(` 8, WARNING4=4,metro/NORMAL=64,a=b=2,bus/*=32, a%2Fb=3,` +
		`a%2Fb/on "off"%25=5, two words=6`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tenant string
		state  andon.State
		want   int
	}{
		{"default", "NORMAL", 8}, {"default", "WARNING4", 4}, {"metro", "NORMAL", 64},
		{"metro\t3", "NORMAL", 64}, {"metro", "WARNING4", 4}, {"default", "a=b", 2},
		{"bus", "WARNING4", 32}, {"bus\t1", "NORMAL", 32}, {"default", "a/b", 3}, {"a", "b", 8},
		{"a/b", `on "off"%`, 5}, {"default", "two words", 6},
	} {
		if got := c.Count(test.tenant, test.state); got != test.want {
			t.Errorf("%q %s has %d buckets, want %d", test.tenant, test.state, got, test.want)
		}
	}
	if c, err := ParseBuckets(""); err != nil || c.Count("t", "S") != DefaultBuckets {
		t.Errorf("without a setting there are %d buckets, %v", c.Count("t", "S"), err)
	}
}

func TestBucketsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0": "no such number", "-1": "no such number", "x": "no such number", "A=": "number",
		"A=0": "number", "1025": "number", "A=1e3": "number", "16 8": "number",
		"metro/=5": "no state that there can be", "metro/ =5": "no state", "=5": "no state",
		"/NORMAL=4": "no tenant that there can be", "a/b/c=4": "%2F for one in a name",
		"*=4": "no state",
		"*/NORMAL=4": "no tenant", "a%2=4": "no state", "%2=4": "no state", "16,8": "second number",
		"A=4,B=4,A=8": "second rule for the same",
	} {
		_, err := ParseBuckets(text)
		if andon.KindOf(err) != andon.Invalid || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "rules of buckets") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestOwnTables: each state has a table of its own that CQL can name, or goes to the rest.
func TestOwnTables(t *testing.T) {
	states := []andon.State{"NORMAL", "normal", "Wärme", "a b", "x", "STATE_1", "İ",
		andon.State(strings.Repeat("long", 16)), andon.State(strings.Repeat("long", 15) + "g")}
	names := map[string]andon.State{"latest_in_other_states": "the rest"}
	for _, state := range ownTables(states) {
		name := newTablesDesign(nil).TableOf(state)
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
		other, taken := names[name]
		if taken || len(name) > 48 || strings.Trim(name, letters) != "" {
			t.Errorf("the table of %q is %q, which %q has", state, name, other)
		}
		names[name] = state
	}
	if len(names) < 7 {
		t.Errorf("only %d of %d states have tables: %v", len(names), len(states), names)
	}
}
