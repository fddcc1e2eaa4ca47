package lint_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/storecheck"
)

var update = flag.Bool("update", false, "write the pages that are generated")

// asProgram makes this test binary be andon, for its help.
const asProgram = "TEST_BINARY_IS_ANDON"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main("v0.0.0"))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// page compares a page with what it is generated from.
func page(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "..", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("The rule: %s is generated, and is what the code says.\n"+
			"To fix it: make update writes it. (%v)", name, err)
	}
}

func generated(from string) string {
	return "<!-- Generated from " + from + " by make update; do not edit. -->\n\n"
}

func TestConfigurationPage(t *testing.T) {
	c := app.DefaultConfig()
	page(t, "docs/configuration.md", reference(c.Groups()...))
}

const referenceHead = `# Configuration

<!-- Generated from the settings that the program and the stores declare; do not edit. -->

A setting has three spellings: a key of the YAML file that --config or ANDON_CONFIG names, a
variable of the environment, a flag. Flags override variables, which override the file.
Secrets have no flag, since command lines can be read by every user of a machine.
Unknown names and invalid values are rejected: the program reports the position and exits.

| key | variable | flag | default | |
|---|---|---|---|---|
`

// reference is the page that lists every setting of groups.
func reference(groups ...config.Group) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range config.Settings(groups...) {
		flag, standard := "none", s.Value.String()
		if s.HasFlag() {
			flag = "`--" + s.Flag() + "`"
		}
		if standard != "" {
			standard = "`" + standard + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n",
			s.Key, s.Variable(), flag, standard, s.Help)
	}
	return b.String()
}

// TestCommandsPage: the page holds the help of each command, as the program prints it.
func TestCommandsPage(t *testing.T) {
	page(t, "docs/commands.md", "# The command line\n\n"+generated("the help of the program")+
		"[configuration.md](configuration.md) lists the settings that `andon serve` "+
		"takes as flags.\n"+
		helpOf(t))
}

// helpOf returns the help of a command and of all below it, as sections.
func helpOf(t *testing.T, command ...string) string {
	text := help(t, command...)
	name := strings.Join(append([]string{"andon"}, command...), " ")
	all := fmt.Sprintf("\n## %s\n\n```\n%s```\n", name, text)
	for _, below := range commands(text) {
		all += helpOf(t, append(slices.Clone(command), below)...)
	}
	return all
}

// help returns what a command prints when it is asked for help, in an environment without settings.
func help(t *testing.T, command ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, append(command, "--help")...)
	cmd.Env = []string{asProgram + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("andon %s --help: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

var command = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)

// commands returns the names that the help of the program lists, but for those that every
// program of this kind has.
func commands(help string) (names []string) {
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range command.FindAllStringSubmatch(list, -1) {
		if m[1] != "completion" && m[1] != "help" {
			names = append(names, m[1])
		}
	}
	return names
}

// beyondChecks is what else the stores are tested with.
const beyondChecks = `Beyond these checks:

- Each job of the embedded store is broken at its first call that can fail or wait, at its second,
  and so on: 24 jobs at 6,105 places, some 600 of them in each run of the tests ([what breaks, and
  what must hold](design/pebblestore.md#checked-by)).
- A restore is stopped and killed at each look at its context, and is given 200 damaged backups,
  files that can't be moved, and files that can't grow.
- While policies run, the program is killed at random: one process on the embedded store, either of
  two on DynamoDB or Cassandra. Each step is in its log once, not early, and within a second after
  it was due or the process is back. Nobody is missed, and no message is made twice. Of 10,000
  policies and twelve kills on the embedded store, on two cores that did other work, the latest step
  came 2.4 seconds after it was due, kills and busy times included. All 2,909 messages came.
- Random histories go over HTTP to two processes on one engine (DynamoDB, Cassandra) and to one on
  the embedded store, which are killed and stopped at random; their answers are compared with those
  of the reference store.
`

// TestChecksPage: the page lists all checks, and each section is explained in docs/semantics.md.
func TestChecksPage(t *testing.T) {
	sections := sectionsOf(t, "semantics.md")
	bySection := map[string]string{}
	for _, c := range storecheck.Checks() {
		bySection[c.Section] += "- " + c.Name + "\n"
	}
	var b strings.Builder
	b.WriteString("# What every store is checked for\n\n" + generated("package storecheck") +
		"The sections are those of [semantics.md](semantics.md).\n\n" + beyondChecks)
	for _, s := range sections {
		if checks := bySection[s.number]; checks != "" {
			fmt.Fprintf(&b, "\n## %s %s\n\n%s", s.number, s.title, checks)
			delete(bySection, s.number)
		}
	}
	for number, checks := range bySection {
		t.Errorf("The rule: each check is of a section of docs/semantics.md. "+
			"There is no section %s, of\n%s", number, checks)
	}
	page(t, "docs/checks.md", b.String())
}

type section struct{ number, title string }

var numbered = regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)?|limits) (.*)$`)

// sectionsOf returns the sections of a page that have a number, or the name that
// checks know them by.
func sectionsOf(t *testing.T, name string) (all []section) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range numbered.FindAllStringSubmatch(string(text), -1) {
		all = append(all, section{m[1], m[2]})
	}
	return all
}
