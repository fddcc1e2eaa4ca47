package cli

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestDemoGolden: with its clock stopped the demo prints the same on every machine, but for the
// port, the directory and the time that the import took.
func TestDemoGolden(t *testing.T) {
	now, err := andon.ParseTime("2025-12-04T13:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs, now: func() andon.Time { return now }}
	if code := p.run(t.Context(), []string{"demo", "--listen", "127.0.0.1:0"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	varies := regexp.MustCompile(`127\.0\.0\.1:\d+|\S+/log\.csv in [0-9.]+s`)
	got := varies.ReplaceAllString(out.String(), "…")
	const golden = "testdata/demo.golden"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; -rewrite accepts):\n%s", diff)
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]andon.Duration{
		"0s": 0, "59s": 59_999_999, "1m00s": 60_000_000, "59m59s": 3_599_000_000,
		"1h00m": 3_600_000_000, "23h59m": 86_399_000_000, "2d03h": 2*86_400_000_000 + 3*3_600_000_000,
	} {
		if got := age(d); got != want {
			t.Errorf("age(%d) is %s, want %s", d, got, want)
		}
	}
}

func TestTableAlignsWhatIsColoured(t *testing.T) {
	var out bytes.Buffer
	page{w: &out, colour: true}.table([][]cell{
		{{text: "● NORMAL", colour: "#2e7d32"}, {text: "7", right: true}},
		{{text: "x"}, {text: "12", right: true}},
	})
	want := "  \x1b[38;2;46;125;50m● NORMAL\x1b[0m   7\n  x         12\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
