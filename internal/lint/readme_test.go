package lint_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var tour = regexp.MustCompile("(?s)```sh tour\n(.*?)```")

// TestTour runs the tour of the README against a server: each line of it works.
func TestTour(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl to run the tour with")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := tour.FindSubmatch(text)
	if found == nil {
		t.Fatal("The rule: README.md has a tour, in a block that begins with ```sh tour.")
	}
	script := strings.ReplaceAll(string(found[1]), "http://127.0.0.1:8080", server(t))
	const strict = "set -eu\ncurl() { command curl -sS --fail-with-body \"$@\"; echo; }\n"
	out, err := exec.CommandContext(t.Context(), "sh", "-xc", strict+script).CombinedOutput()
	if err != nil {
		t.Errorf("The rule: each line of the tour in README.md works. (%v)\n%s", err, out)
	}
	for _, said := range []string{
		`"escalated_to":"Sara"`, `"seconds":`, `"temperature":71.5`, `"line":"L3"`,
	} {
		if !bytes.Contains(out, []byte(said)) {
			t.Errorf("no answer of the tour says %s:\n%s", said, out)
		}
	}
}

// server starts the program and returns its address.
func server(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--listen", "127.0.0.1:0", "--store", "memory",
		"--log-level", "warn")
	cmd.Env, cmd.Stderr = []string{asProgram + "=1"}, t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "andon: listening on ")
	if err != nil || !ok {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return address
}
