package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/cli/command"
)

// TestImportOutlivesTheServer: a server that goes away during an import is waited for.
func TestImportOutlivesTheServer(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "log.csv")
	text := "device,time,state\n"
	for i := range 10 {
		text += fmt.Sprintf("a,2020-01-%02d,NORMAL\n", i+1)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	posts := 0
	d.OnRequest(func(r *http.Request) {
		if r.Method == http.MethodPost {
			if posts++; posts == 2 || posts == 3 {
				panic(http.ErrAbortHandler) // the connection breaks without an answer
			}
		}
	})
	said := d.does("import", file, "--batch", "2")
	if !strings.HasPrefix(said, "imported 10, rejected 0 of ") || posts != 7 {
		t.Errorf("%d requests: %s", posts, said)
	}
}

// TestDoubtedTimes: a unit that was not given is doubted where the digits of most times are of
// another; dates and times of that very unit are not.
func TestDoubtedTimes(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "log.csv")
	for times, want := range map[string]string{
		"1577836800 1577836801 1577836802000": "--precision s;",
		"1577836800000000":                    "--precision us;",
		"1577836800000000000":                 "--precision ns;",
		"1577836800000 1577836800":            "",
		"1970-01-12T14:13:20Z":                "",
		"86400000":                            "",
	} {
		text := "device,time,state\n"
		for _, at := range strings.Fields(times) {
			text += "a," + at + ",NORMAL\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code := d.types(t.Context(), "import", file)
		if (code == command.ExitMisuse) != (want != "") || !strings.Contains(d.err.String(), want) {
			t.Errorf("%s: exit code %d: %s", times, code, d.err.String())
		}
	}
}
