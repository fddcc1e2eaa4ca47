package designs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
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

// TestHashes: each hash has partitions of its own, and spreads devices evenly; that of the article
// is the number of a UUID's first three digits.
func TestHashes(t *testing.T) {
	const n, devices = 8, 4000
	keys := map[int]bool{}
	for _, hash := range Hashes() {
		c, err := ParseBuckets("8, hash:" + hash)
		if err != nil {
			t.Fatal(err)
		}
		var in [n]int
		for i := range devices {
			key, bucket := c.Bucket(fmt.Sprintf("%08x-cdef-4567", uint32(i)*2654435761), n)
			keys[key] = true
			in[bucket]++
		}
		for bucket, got := range in {
			if got < devices/n*8/10 || got > devices/n*12/10 {
				t.Errorf("%s: %d of %d devices are in bucket %d", hash, got, devices, bucket)
			}
		}
		plain, _ := ParseBuckets("8")
		if c.Equal(plain) != (hash == Hashes()[0]) {
			t.Errorf("%s is the default: %t", hash, c.Equal(plain))
		}
	}
	if len(keys) != len(Hashes()) {
		t.Errorf("partitions are keyed with %v", keys)
	}
	c, _ := ParseBuckets("3,hash:hex3")
	for device, want := range map[string]int{
		"11111111-aaaa-bbbb-cccc-12345678abcd": 0x111 % 3, "ab": 0xab % 3, "": -1, "press": -1,
	} {
		if want < 0 {
			want = shared.Spread(shared.Hash(device), 3)
		}
		if _, got := c.Bucket(device, 3); got != want {
			t.Errorf("%q is in bucket %d, want %d", device, got, want)
		}
	}
}

func TestBucketsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0": "no such number", "-1": "no such number", "x": "no such number", "A=": "number",
		"A=0": "number", "1025": "number", "A=1e3": "number", "16 8": "number",
		"metro/=5": "no state that there can be", "metro/ =5": "no state", "=5": "no state",
		"/NORMAL=4": "no tenant that there can be", "a/b/c=4": "%2F for one in a name",
		"*=4":        "no state",
		"*/NORMAL=4": "no tenant", "a%2=4": "no state", "%2=4": "no state", "16,8": "second number",
		"A=4,B=4,A=8": "second rule for the same",
		"hash:md5":    "none of fnv1a, hex3, crc32c", "hash:hex3,hash:hex3": "second hash",
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
