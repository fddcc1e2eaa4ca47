package test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// unprevented returns the exit code on which the systemd unit does not restart the server.
func unprevented(t *testing.T) int {
	t.Helper()
	unit, err := os.ReadFile("../deploy/systemd/andon.service")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^RestartPreventExitStatus=(\d+)$`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit prevents no restart")
	}
	code, _ := strconv.Atoi(string(found[1]))
	return code
}

// TestWrongConfigurationIsNotRestarted: what no restart would fix ends the server with the code on
// which systemd does not restart it; a crash of a program in Go ends it with 2.
func TestWrongConfigurationIsNotRestarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "andon.yaml")
	if err := os.WriteFile(file, []byte("lissten: 127.0.0.1:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--config", file}, {"--listen", "0.0.0.0:0"}} {
		_, said, code := run(t, append([]string{"serve", "--store", "memory"}, args...)...)
		if code == 2 || code != unprevented(t) {
			t.Errorf("serve %v ended with %d: %s", args, code, said)
		}
	}
}

// TestSerialFailingLogEndsTheServer puts a file in the place of a server's directory. Its log is
// still open, but it can't begin the next one.
func TestSerialFailingLogEndsTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "pebble", dir)
	c := newClient(t, s)
	err := os.Rename(dir, dir+".gone")
	if err = errors.Join(err, os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		e := andon.Event{
			Device: "d", Time: andon.Time(1_700_000_000_000_000 + n), State: "NORMAL",
			Message: strings.Repeat("x", 16<<10),
		}
		if _, err := c.AppendEvents(t.Context(), []andon.Event{e}); err != nil {
			break // the server is gone
		}
	}
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("the server ended with %d, want 4", code)
	}
}
