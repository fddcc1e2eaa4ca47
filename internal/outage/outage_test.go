package outage_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon/internal/outage"
)

// TestLog: what fails is told once when it begins and once when it ends, of each part, or of all
// together; what is forgotten is told no more.
func TestLog(t *testing.T) {
	for part, want := range map[string]string{
		"part": "begins part=a\nbegins part=b\nends part=a\nbegins part=a\n",
		"":     "begins\nends\n",
	} {
		var text strings.Builder
		l := outage.Log{Part: part, Begins: "begins", Ends: "ends", Logger: slog.New(
			slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(
				_ []string, a slog.Attr,
			) slog.Attr {
				if a.Key == "time" || a.Key == "level" || a.Key == "error" {
					return slog.Attr{}
				}
				return a
			}}))}
		wrong := errors.New("wrong")
		for _, of := range []string{"a", "a", "b"} {
			l.Note(of, wrong)
		}
		l.Note("a", nil)
		l.Note("a", wrong)
		l.Forget("b")
		l.Note("b", nil)
		if part == "" {
			l.Note("a", nil)
		}
		got := strings.ReplaceAll(text.String(), "msg=", "")
		if diff := cmp.Diff(want, got); diff != "" || l.Count.Load() != 4 {
			t.Error(diff, l.Count.Load())
		}
	}
}
