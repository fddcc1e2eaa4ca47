package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// TestLaterLineWins: of many lines of one entry the last one wins, wherever requests end and
// however many are under way, each time that the file is imported.
func TestLaterLineWins(t *testing.T) {
	const rows, identities, devices = 60_000, 1000, 50
	d := newDesk(t)
	var text strings.Builder
	text.WriteString("device,time,state,message\n")
	for i := range rows {
		id := i % identities
		fmt.Fprintf(&text, "d%d,2020-01-01T00:00:%02d,NORMAL,v%02d\n",
			id%devices, id/devices, i/identities)
	}
	file := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		said := d.does("import", file, "--batch", "700")
		if !strings.HasPrefix(said, "imported 60000, rejected 0 of ") {
			t.Errorf("import %d: %s", i, said)
		}
		for device := range devices {
			id := andon.DeviceID(fmt.Sprintf("d%d", device))
			entries := 0
			for e, err := range d.Client("default").DeviceEvents(t.Context(), id, client.Query{}) {
				if err != nil || e.Message != "v59" {
					t.Fatalf("import %d: %s at %s has %q, %v", i, id, e.Time, e.Message, err)
				}
				entries++
			}
			if entries != identities/devices {
				t.Errorf("import %d: %s has %d entries", i, id, entries)
			}
		}
	}
}
