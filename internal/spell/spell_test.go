package spell_test

import (
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/spell"
)

func TestNearest(t *testing.T) {
	names := []string{"limit", "cursor", "operator", "escalated_to"}
	for name, want := range map[string]string{
		"LIMIT": "limit",
		"limti": "limit", "cursr": "cursor", "opertor": "operator", "esc": "escalated_to",
		"": "", "colour": "", "xyzzy": "", strings.Repeat("limit", 20): "",
	} {
		if got := spell.Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"same", "same", 0}} {
		if got := spell.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
