package all_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/all"
)

func TestOpenEach(t *testing.T) {
	for _, name := range all.Names() {
		t.Run(name, func(t *testing.T) {
			c := all.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
			s, err := all.Open(name, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Capabilities().Name; !strings.HasPrefix(got, name) {
				t.Errorf("the store calls itself %q", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"cassandra": `store "cassandra" is not in this build yet: this one has pebble, memory`,
		"dynamodb":  `store "dynamodb" is not in this build yet: this one has pebble, memory`,
		"pebbel":    `store "pebbel" is unknown: this build has pebble, memory`,
	} {
		_, err := all.Open(name, all.Config{})
		if err == nil || err.Error() != want || andon.KindOf(err) != andon.Invalid {
			t.Errorf("Open(%q): got %v, want %s", name, err, want)
		}
	}
}
