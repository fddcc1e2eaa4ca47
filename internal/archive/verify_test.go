package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// TestManifestsThatAreWrong: the file is named, what is wrong with it, and what to do.
func TestManifestsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":         "EOF",
		"not JSON": "invalid character",
		`{"version":1,"tenant":"b","kind":"events","date":"2026-01-02","files":[]}`: "it is the " +
			`manifest of tenant "b", events, 2026-01-02, and not of this day`,
		`{"version":1,"tenant":"a","kind":"events","date":"2026-01-02",` +
			`"files":[{"name":"x"}]}`: "there is no ",
	} {
		to := t.TempDir()
		folder := filepath.Join(to, "tenant=a", "kind=events", "date=2026-01-02")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(folder, manifestName)
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(t.Context(), Archive{
			Config: Config{To: to}, Progress: func(int, int) {},
			Now: func() andon.Time { return 1 },
		})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		_, err = a.Verify(t.Context(), Selection{}, func(place, what string) {
			said = append(said, place+": "+what)
		})
		all := strings.Join(said, "\n")
		if err != nil || len(said) != 1 || !strings.Contains(all, want) ||
			!strings.HasPrefix(all, "tenant=a/kind=events/date=2026-01-02/") ||
			!strings.HasSuffix(all, ": get it from a copy of the archive") {
			t.Errorf("%q: %s, %v", text, all, err)
		}
	}
}
