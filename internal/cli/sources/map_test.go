package sources_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/sources"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

// run runs andon map, and returns what it prints on standard output, and on standard error.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, problems bytes.Buffer
	p := &command.Program{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &problems,
		Now: func() andon.Time { return now },
	}
	cmd := sources.Map(p)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), problems.String(), err
}

// using writes a mapping and returns its file.
func using(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mapping.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestExamples runs the examples of the page on the real inputs, which are next to the repository.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/mapping.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n# (\\S+)([^\n]*)\n(.*?)```\n\n```json\n(.*?)```")
	found := example.FindAllStringSubmatch(string(page), -1)
	if len(found) < 4 {
		t.Errorf("the page has %d examples", len(found))
	}
	data := filepath.Join("..", "..", "..", "..", "shared", "data")
	for _, f := range found {
		t.Run(f[1], func(t *testing.T) {
			file := filepath.Join(data, filepath.FromSlash(f[1]))
			if _, err := os.Stat(file); err != nil {
				t.Skipf("the real input %s is not next to this checkout: %v", f[1], err)
			}
			args := append([]string{file, "--using", using(t, f[3])}, strings.Fields(f[2])...)
			got, problems, err := run(t, "", args...)
			if err != nil {
				t.Fatal(err, problems)
			}
			if diff := cmp.Diff(f[4], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTablesOnThePage: the page has the tables as they are.
func TestTablesOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/mapping.md")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := run(t, "", "--list", "--output", "csv")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`, \d+|, completed`)
	for line := range strings.Lines(list) {
		f := strings.SplitN(strings.TrimSpace(line), ",", 3)
		names := strings.Trim(f[2], `"`)
		if f[0] == "packml" {
			names = number.ReplaceAllString(names, "")
		}
		if f[0] != "table" && !strings.Contains(string(page), "| "+names+" |") {
			t.Errorf("the page lacks %s of %s: %s", f[1], f[0], names)
		}
	}
}

// TestConsoleConsumer: what Kafka's console consumer prints is taken as it is.
func TestConsoleConsumer(t *testing.T) {
	mapping := using(t, "device: '{key}'\nstate: $.s\nmessage: '{header:plant} {topic}'\n")
	got, problems, err := run(t,
		"CreateTime:1764840000000\tPartition:0\tOffset:7\tplant:acme,x:y\tpress-7\t{\"s\":\"A\"}\n"+
			"CreateTime:1764840000001\tNO_HEADERS\tpress-7\t{\"s\":\"B\"}\n\n"+
			"press-7\t{\"s\":\"C\"}\n{\"s\":\"D\"}\nnull\t[1]\nno json\n",
		"-", "--using", mapping, "--topic", "t", "--key", "usual", "--header", "plant=none")
	want := `{"line":1,"device":"press-7","time":"2025-12-04T09:20:00Z","message":"acme t",` +
		`"state":"A"}
{"line":2,"device":"press-7","time":"2025-12-04T09:20:00.001Z","message":"none t","state":"B"}
{"line":4,"device":"press-7","time":"2025-12-04T12:34:56.000003Z","message":"none t","state":"C"}
{"line":5,"device":"usual","time":"2025-12-04T12:34:56.000004Z","message":"none t","state":"D"}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const wantProblems = "line 6, entry 0: there is no $.s\n" +
		"line 7, entry 0: at byte 0: want a value, found no\n"
	if diff := cmp.Diff(wantProblems, problems); diff != "" || err != command.ErrRejected {
		t.Error(diff, err)
	}
}
