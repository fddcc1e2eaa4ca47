package test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

// asProgram makes this test binary be andon, so that what is tested is what the flags of go test
// built, the race detector with it.
const asProgram = "TEST_BINARY_IS_ANDON"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main("v0.0.0-test"))
	}
	os.Exit(enginetest.Main(m))
}

// command is andon with arguments, in an environment without settings of its own.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = []string{
		asProgram + "=1", "TMPDIR=" + os.TempDir(), "GOMAXPROCS=" + os.Getenv("GOMAXPROCS"),
	}
	return cmd
}

// run runs a command to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// server is a running "andon serve".
type server struct {
	t   testing.TB
	url string
	cmd *exec.Cmd
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, store, dir string) *server {
	t.Helper()
	return start(t, "--store", store, "--data", dir, "--log-level", "warn")
}

// start starts a server with flags of its own, which ends with the test.
func start(t testing.TB, flags ...string) *server {
	t.Helper()
	return startProgram(t, command(t, serving(flags...)...))
}

func serving(flags ...string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)
}

// startProgram starts what is a server, which ends with the test.
func startProgram(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: cmd}
	t.Cleanup(func() { s.end(syscall.SIGTERM, 0) })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "andon: listening on ")
	if err != nil || !ok {
		t.Fatalf("the server said %q, %v", line, err)
	}
	s.url = url
	return s
}

// end ends the server by a signal and checks its exit code, -1 for one that was killed.
func (s *server) end(signal syscall.Signal, code int) {
	s.t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Error(err)
	}
	s.cmd.Wait() // the exit code says it all
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("the server ended with %d, want %d", got, code)
	}
}

// onEachStore runs a test against a server on each store that needs nothing but the program;
// TestCassandra… are for the other.
func onEachStore(t *testing.T, test func(t *testing.T, s *server)) {
	for _, e := range all.New() {
		if e.Place() == adapter.Elsewhere {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) { test(t, serve(t, e.Name(), t.TempDir())) })
	}
}

// tenant makes a tenant and returns a client for it.
func (s *server) tenant(t *testing.T, id, settings string) *client.Client {
	t.Helper()
	s.send(t, http.MethodPut, "/api/v1/tenants/"+id, "application/json", settings)
	c, err := client.New(client.Options{URL: s.url, Tenant: andon.TenantID(id)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// send sends a request as a user with curl would, and returns the answer's body.
func (s *server) send(t testing.TB, method, path, form, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", form)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s answers %d: %s", method, path, answer.StatusCode, text)
	}
	return string(text)
}

// imported runs "andon import" and checks its exit code; it returns both outputs.
func (s *server) imported(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, got := run(t, append([]string{"import", "--url", s.url}, args...)...)
	if got != code {
		t.Fatalf("import ended with %d, want %d:\n%s%s", got, code, stdout, stderr)
	}
	return stdout, stderr
}
