package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
)

// TestLaterLineStands: of many lines of one entry the last one stands, wherever requests end and
// however many are under way, each time that the file is imported.
func TestLaterLineStands(t *testing.T) {
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
	for i, want := range []string{
		": 1000 new, 0 there already, 59000 replaced", ": 0 new, 0 there already, 60000 replaced",
	} {
		said := d.does("import", file, "--batch", "700")
		if !strings.HasPrefix(said, "imported 60000, rejected 0 of ") ||
			!strings.HasSuffix(strings.TrimSpace(said), want) {
			t.Errorf("import %d: %s", i, said)
		}
		for device := range devices {
			id := andon.DeviceID(fmt.Sprintf("d%d", device))
			entries := 0
			for e, err := range d.client("default").DeviceEvents(t.Context(), id, client.Query{}) {
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

// TestFoldKeepsEscalations: lines of one entry are sent as one, unless that would lose whom the
// earlier one was escalated to.
func TestFoldKeepsEscalations(t *testing.T) {
	var p parcel[andon.Event]
	put := func(line int, message, to string, want folding) {
		t.Helper()
		item := ingest.Item[andon.Event]{Index: line - 2, Line: line, Value: andon.Event{
			Device: "d", Time: andon.MinTime, State: "NORMAL", Message: message,
			EscalatedTo: andon.PersonID(to),
		}}
		got := foldEvent(&p, &item)
		if got != want {
			t.Errorf("line %d: %d, want %d", line, got, want)
		}
		if got == another {
			p.items = append(p.items, item)
		}
	}
	put(2, "one", "", another)
	put(3, "one", "", folded)
	put(4, "two", "Sara", folded)
	put(5, "three", "Sara", folded)
	put(6, "three", "Tom", ofAnotherRequest)
	put(7, "three", "", ofAnotherRequest)
	got := p.counted(client.Result{Accepted: 1, New: 1})
	want := outcomes{accepted: 4, fresh: 1, unchanged: 1, replaced: 2, twin: twin{3, 4}}
	if got != want {
		t.Errorf("counted %+v", got)
	}
	rejected := p.reject(andon.Rejection{Index: 0, Error: "no"})
	if len(rejected) != 4 || rejected[0].Line != 5 || rejected[3].Line != 4 {
		t.Errorf("rejected %+v", rejected)
	}
	got = p.counted(client.Result{})
	if got.accepted+got.replaced+got.unchanged != 0 {
		t.Errorf("of rejected lines counted %+v", got)
	}
}
