package cli

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"andon": func() { os.Exit(Main("v0.0.0-test")) },
	})
}

// TestScript runs testdata/script. Next to the commands of testscript there are:
//
//	exits CODE COMMAND ARG...   run a command, which must end with that exit code
//	server [FLAG...]            start "andon serve" on a free port and set $URL
//	shutdown                    end the server by SIGTERM; it must exit with 0
//
// $DOCS is the directory docs.
func TestScript(t *testing.T) {
	nothingIsLeftOut(t)
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCS", docs)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"server":   startServer,
			"shutdown": shutDown,
		},
	})
}

// nothingIsLeftOut refuses the command of testscript that passes a script without the rest of it.
func nothingIsLeftOut(t *testing.T) {
	t.Helper()
	scripts, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^(\[.*\] )?stop\b`).Match(text) {
			t.Errorf("%s: stop ends a script as passed; shutdown ends the server", name)
		}
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	code := 0
	var e *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &e) {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

// servers are the servers of all scripts, by process.
var servers sync.Map

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--log-level", "warn"}
	cmd := exec.Command("andon", append(serve, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		if _, running := servers.LoadAndDelete(cmd.Process.Pid); running {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	servers.Store(cmd.Process.Pid, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "andon: listening on ")
	if !ok {
		ts.Fatalf("the server said %q", line)
	}
	ts.Setenv("URL", url)
	ts.Setenv("SERVER_PID", strconv.Itoa(cmd.Process.Pid))
}

func shutDown(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(ts.Getenv("SERVER_PID"))
	ts.Check(err)
	cmd, _ := servers.LoadAndDelete(pid)
	ts.Check(cmd.(*exec.Cmd).Process.Signal(syscall.SIGTERM))
	ts.Check(cmd.(*exec.Cmd).Wait())
}
