package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// The tests of this file kill the program with signal 9 at a random moment of something that takes
// long, and compare what is there with what was acknowledged. make test-long repeats them. A moment
// only decides what is tried: no test fails because the machine is slow or fast.

// largeWriters write so much that a store flushes every few hundred of their requests.
func largeWriters() (all []*writer) {
	for i := range 3 {
		device := andon.DeviceID(fmt.Sprintf("large-%d", i))
		text := strings.Repeat(" and so on", 16_000/10)
		all = append(all, &writer{device: device, batch: 20, text: text})
	}
	return all
}

// TestSerialKillWhileSettling kills a server under load while it writes what has come to rest as
// blocks, deletes the rows, and has its engine write them out.
func TestSerialKillWhileSettling(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, "pebble", dir)
	c, writers := newClient(t, s), largeWriters()
	var all sync.WaitGroup
	gone := make(chan struct{})
	for _, w := range writers {
		all.Go(func() { w.write(t.Context(), c, 0, func() {}) })
	}
	go func() {
		all.Wait()
		close(gone)
	}()
	killOnce(t, s.cmd, gone, func() bool { return tablesIn(t, dir) > 0 })
	<-gone
	s.cmd.Wait()
	verified(t, "--data", dir)
	checkKilled(t, dir, writers)
}

// killOnce kills a process at a random moment after the one from which on something is true.
func killOnce(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-ended:
			t.Log("it ended before it could be killed")
			return
		case <-time.After(time.Millisecond):
		}
	}
	after := time.Duration(rand.Int64N(int64(150 * time.Millisecond)))
	t.Logf("killed %s after the beginning", after)
	<-time.After(after)
	_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended
}

// tablesIn counts the tables that the engine has in a directory.
func tablesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, name := range namesIn(t, dir) {
		if strings.HasSuffix(name, ".sst") {
			n++
		}
	}
	return n
}

// checkKilled compares a store with what was acknowledged, and verifies it without a server.
func checkKilled(t *testing.T, dir string, writers []*writer) {
	t.Helper()
	s := serve(t, "pebble", dir)
	c := newClient(t, s)
	for _, w := range writers {
		w.check(t, c)
	}
	checkCounts(t, c, writers)
	s.end(syscall.SIGTERM, 0)
	verified(t, "--data", dir)
}

// TestSerialKillBackupCommand kills "andon backup". What it has written does not have the name of a
// backup, the server goes on, and the next backup is whole.
func TestSerialKillBackupCommand(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	s := serve(t, "pebble", dir)
	c := newClient(t, s)
	w := &writer{device: "d", batch: 100}
	w.send(t, c, 10)
	fill(t, c)
	file := filepath.Join(kept, "backup.tar.zst")
	killCommand(t, []string{"backup", file, "--url", s.url}, func() bool {
		_, err := os.Stat(file + ".part")
		return err == nil
	})
	if _, err := os.Stat(file); err == nil {
		t.Log("the backup was whole before its program was killed")
		verified(t, file)
		file = filepath.Join(kept, "other.tar.zst")
	}
	w.send(t, c, 1)
	for {
		_, said, code := run(t, "backup", file, "--url", s.url)
		if code == 0 {
			break
		}
		// The server has not noticed yet that the other one is gone.
		if !strings.Contains(said, "another backup is being taken") {
			t.Fatalf("the next backup ended with %d: %s", code, said)
		}
	}
	verified(t, file)
	w.check(t, c)
}

// killCommand runs a command and kills it after the moment from which on something is true.
func killCommand(t *testing.T, args []string, is func() bool) {
	t.Helper()
	cmd := command(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	killOnce(t, cmd, ended, is)
	<-ended
}

// verified runs "andon verify".
func verified(t *testing.T, args ...string) {
	t.Helper()
	said, notes, code := run(t, append([]string{"verify"}, args...)...)
	if code != 0 {
		t.Fatalf("verify ended with %d: %s%s", code, said, notes)
	}
}

// TestSerialKillRestore kills "andon restore". What it leaves is no store, for the server and for
// restore, until the directory was emptied; then it has all that the backup has.
func TestSerialKillRestore(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, "pebble", filepath.Join(dir, "data"))
	c := newClient(t, s)
	w := &writer{device: "d", batch: 100}
	w.send(t, c, 10)
	fill(t, c)
	file := filepath.Join(dir, "backup.tar.zst")
	if _, said, code := run(t, "backup", file, "--url", s.url); code != 0 {
		t.Fatalf("backup ended with %d: %s", code, said)
	}
	s.end(syscall.SIGTERM, 0)
	restored := filepath.Join(dir, "restored")
	restore := []string{"restore", file, "--data", restored}
	unpacked := filepath.Join(restored, "andon.restoring")
	killCommand(t, restore, func() bool {
		_, err := os.Stat(unpacked)
		return err == nil
	})
	if _, err := os.Stat(unpacked); err == nil {
		if _, said, code := run(t, serving("--data", restored)...); code <= 0 {
			t.Errorf("a server on what is not whole ended with %d: %s", code, said)
		}
		if _, said, code := run(t, restore...); code == 0 || !strings.Contains(said, "broken off") {
			t.Errorf("a restore into what is not whole ended with %d: %s", code, said)
		}
		if err := os.RemoveAll(restored); err != nil {
			t.Fatal(err)
		}
		if _, said, code := run(t, restore...); code != 0 {
			t.Fatalf("the next restore ended with %d: %s", code, said)
		}
	}
	again := newClient(t, serve(t, "pebble", restored))
	w.check(t, again)
}
