package test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "write into the pages what their commands print")

// tours are the pages whose commands are run, as a person would who reads on and pastes each block.
// The info string of a block says what it is:
//
//	sh tour       commands for the shell; a page has one shell, so variables last
//	sh server     commands for the other terminal; the last one starts a server and goes on, and a
//	              server that ran before was ended
//	text answer   what the block before prints, the standard error with it; spaces count as one
//	json answer   the same; a line that begins with a space goes on the one above
//
// In an answer "…" stands for anything, and as a line of its own for any lines. Where a block shows
// no answer each of its commands must succeed. Other blocks are not run.
var tours = []struct {
	page string
	said []string // what some command without an answer prints
}{
	{page: "README.md", said: []string{
		`"escalated_to":"Sara"`, `"seconds":`, `"temperature":71.5`, `"line":"L3"`,
	}},
	{page: "docs/getting-started.md"},
	{page: "docs/api-tour.md"},
	{page: "docs/importing.md"},
	{page: "docs/from-postgresql.md"},
}

// TestSerialTour runs each tour in the plain shell, which knows least, and in zsh, which differs
// most: what works in both works in bash.
func TestSerialTour(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl to run the tours with")
	}
	for _, tour := range tours {
		t.Run(filepath.Base(tour.page), func(t *testing.T) {
			p := readPage(t, tour.page)
			t.Cleanup(func() { p.save(t) })
			for _, shell := range []string{updatingShell, "zsh"} {
				t.Run(shell, func(t *testing.T) {
					t.Parallel()
					w := newWalk(t, p, shell)
					w.run()
					for _, said := range tour.said {
						if !strings.Contains(w.printed.String(), said) {
							t.Errorf("no answer says %s:\n%s", said, w.printed.String())
						}
					}
				})
			}
		})
	}
}

// updatingShell is the one whose answers go into the pages when they are updated.
const updatingShell = "sh"

// TestToursPaste: zsh takes no comments where somebody types, and it and bash read "!" there.
func TestToursPaste(t *testing.T) {
	odd := regexp.MustCompile(`(?m)^\s*#|\s#\s|!`)
	for _, tour := range tours {
		for _, b := range readPage(t, tour.page).blocks {
			if found := odd.FindString(b.text); found != "" && strings.HasPrefix(b.info, "sh ") {
				t.Errorf("%s:%d: the block can't be pasted into every shell: it has %q",
					tour.page, b.line, found)
			}
		}
	}
}

// page is a page of Markdown with its blocks of code.
type page struct {
	path   string
	lines  []string // with their ends
	blocks []*block
}

type block struct {
	info   string
	line   int    // of its first line, counted from 1
	text   string // as it is in the page
	answer *block // that the page shows after it; nil: none
	print  string // what is to be written in its place
}

func readPage(t *testing.T, name string) *page {
	t.Helper()
	p := &page{path: filepath.Join("..", filepath.FromSlash(name))}
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	var open, last *block
	for line := range strings.Lines(string(text)) {
		p.lines = append(p.lines, line)
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{info: info, line: len(p.lines) + 1}
		case fence && strings.HasSuffix(open.info, " answer"):
			if last == nil || last.answer != nil {
				t.Fatalf("%s:%d: an answer to nothing", name, open.line)
			}
			last.answer, open = open, nil
		case fence:
			p.blocks, last, open = append(p.blocks, open), open, nil
		case open != nil:
			open.text += line
		}
	}
	return p
}

// save writes the answers that are different into the page, where that is asked for.
func (p *page) save(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	for _, b := range slices.Backward(p.blocks) {
		if a := b.answer; a != nil && a.print != "" {
			end := a.line - 1 + strings.Count(a.text, "\n")
			p.lines = slices.Replace(p.lines, a.line-1, end, a.print)
		}
	}
	if err := os.WriteFile(p.path, []byte(strings.Join(p.lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shows reports whether the answer is what was printed.
func (b *block) shows(printed string) bool {
	shown := b.text
	if strings.HasPrefix(b.info, "json") {
		shown = strings.ReplaceAll(shown, "\n ", "")
	}
	form := "^"
	for line := range strings.Lines(oneSpace(shown)) {
		if line == "…\n" {
			form += `(?:.*\n)*`
			continue
		}
		form += strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
	}
	return regexp.MustCompile(form + "$").MatchString(oneSpace(printed))
}

var spaces = regexp.MustCompile(`(?m) +$|\r|^ +|( ) +`)

// oneSpace takes away the spaces that only line up columns.
func oneSpace(text string) string { return spaces.ReplaceAllString(text, "$1") }

// walk is one run through a page.
type walk struct {
	t       *testing.T
	page    *page
	shell   string
	dir     string // where the shell is; the program is in bin below it
	server  *server
	printed bytes.Buffer
}

// program is andon for the shells of a walk: it talks to the walk's server unless that is
// said, and answers as on a terminal.
const program = `#!/bin/sh
case "$1" in
serve | version | config | doctor) ;;
*) set -- "$@" --url "$SERVER" ;;
esac
case "$1 $2 $*" in
*--output*) ;;
query* | "tenant list"*) set -- "$@" --output table ;;
esac
exec env TEST_BINARY_IS_ANDON=1 "$SELF" "$@"
`

func newWalk(t *testing.T, p *page, shell string) *walk {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("there is no %s to paste into", shell)
	}
	w := &walk{t: t, page: p, shell: shell, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(w.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("bin/andon", []byte(program), 0o700)
	return w
}

func (w *walk) write(name string, text []byte, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.WriteFile(path, text, mode); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the blocks in their order, those between two servers in one shell.
func (w *walk) run() {
	w.t.Helper()
	var blocks []*block
	for _, b := range w.page.blocks {
		switch b.info {
		case "sh tour":
			blocks = append(blocks, b)
		case "sh server":
			w.paste(blocks)
			blocks = nil
			w.serve(b)
		}
	}
	w.paste(blocks)
}

// command is a shell with commands.
func (w *walk) command(shell, script string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	url := ""
	if w.server != nil {
		url = w.server.url
	}
	cmd := exec.Command(shell, "-c", script)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + filepath.Join(w.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TMPDIR=" + w.dir, "SELF=" + self, "SERVER=" + url,
		"ANDON_LISTEN=127.0.0.1:0", "ANDON_LOG_LEVEL=warn", "ANDON_LOG_AUDIT=off",
	}
	return cmd
}

// shownURL is where a server is in the pages.
const shownURL = "http://127.0.0.1:8080"

// serve ends the server that there was and starts the one of a block.
func (w *walk) serve(b *block) {
	w.t.Helper()
	if w.server != nil {
		w.server.end(syscall.SIGTERM, 0)
	}
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	lines[len(lines)-1] = "exec " + lines[len(lines)-1] // so that the signal reaches it
	cmd := w.command("sh", "set -eu\n"+strings.Join(lines, "\n"))
	cmd.Stderr = w.t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.server = &server{t: w.t, cmd: cmd}
	w.t.Cleanup(func() { w.server.end(syscall.SIGTERM, 0) })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "andon: listening on ")
	if err != nil || !ok {
		w.t.Fatalf("%s:%d: the server said %q, %v", w.page.path, b.line, line, err)
	}
	w.server.url = url
	w.compare(b, line)
}

const endOfBlock = "\x1e\n"

// paste runs blocks in one shell, and compares what each printed with what the page shows.
func (w *walk) paste(blocks []*block) {
	w.t.Helper()
	if len(blocks) == 0 {
		return
	}
	if w.server == nil {
		w.serve(&block{text: "andon serve --data andon-data"})
	}
	script := "set -u\ncurl() { command curl -sS $fail \"$@\"; }\n"
	for _, b := range blocks {
		strict := "set -e; fail=--fail-with-body\n"
		if b.answer != nil {
			strict = "set +e; fail=\n"
		}
		script += strict + b.text + "printf '\\036\\n'\n"
	}
	cmd := w.command(w.shell, strings.ReplaceAll(script, shownURL, w.server.url))
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		w.t.Fatal(err)
	}
	w.printed.Write(out)
	parts := strings.Split(string(out), endOfBlock)
	for i, b := range blocks {
		if i == len(parts)-1 {
			w.t.Fatalf("%s:%d: a command does not succeed (%v):\n%s%s",
				w.page.path, b.line, err, b.text, parts[i])
		}
		w.compare(b, parts[i])
	}
}

func (w *walk) compare(b *block, printed string) {
	w.t.Helper()
	printed = strings.ReplaceAll(printed, w.server.url, shownURL)
	a := b.answer
	if a == nil || a.shows(printed) {
		return
	}
	switch {
	case !*update:
		w.t.Errorf("%s:%d: the page shows\n%s\nand it prints\n%s", w.page.path, a.line, a.text,
			printed)
	case w.shell == updatingShell:
		a.print = printed
	}
}
