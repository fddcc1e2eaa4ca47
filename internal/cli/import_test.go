package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// TestRejectsStandInOrder: parcels end in any order, and their lines are shown in that of the file.
func TestRejectsStandInOrder(t *testing.T) {
	var out bytes.Buffer
	r, err := newReport(importOptions{file: "log.csv"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(all ...int) (rejected []andon.Rejection) {
		for _, n := range all {
			rejected = append(rejected, andon.Rejection{Index: n, Line: n, Error: "no"})
		}
		return rejected
	}
	shows := func(want string) {
		t.Helper()
		got := strings.ReplaceAll(strings.ReplaceAll(out.String(), "log.csv:", ""), ": no\n", " ")
		if got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
	five := outcomes{accepted: 5}
	for number, first := range []int{1, 6, 10, 11, 12} {
		r.begin(number, first)
	}
	r.settle(1, five, lines(7, 6))
	r.refuse(lines(8))
	shows("")
	r.settle(0, five, lines(3, 1, 2))
	shows("1 2 3 6 7 8 ")
	r.settle(4, five, lines(12))
	r.settle(3, five, lines(11))
	shows("1 2 3 6 7 8 ")
	r.settleRest() // parcel 2 was lost
	shows("1 2 3 6 7 8 11 12 ")
	if accepted, rejected := r.counts(); accepted != 20 || rejected != 8 {
		t.Errorf("accepted %d, rejected %d", accepted, rejected)
	}
}

// TestRejectsAreLegible: a reason may quote the file, whose control characters must not reach a
// terminal.
func TestRejectsAreLegible(t *testing.T) {
	var out bytes.Buffer
	r, err := newReport(importOptions{file: "log.csv"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	r.refuse([]andon.Rejection{{Line: 2, Error: "not \x1b[31mred\n"}})
	if want := "log.csv:2: not  [31mred \n"; out.String() != want {
		t.Errorf("it shows %q, want %q", out.String(), want)
	}
}

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
	d.meddle(func(r *http.Request) {
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
		if (code == exitMisuse) != (want != "") || !strings.Contains(d.err.String(), want) {
			t.Errorf("%s: exit code %d: %s", times, code, d.err.String())
		}
	}
}
