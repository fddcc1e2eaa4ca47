package test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/backup"
)

// TestBackupUnderLoad takes a backup while writers write. What is restored of it has all that was
// acknowledged before, and answers queries as the server would have.
func TestBackupUnderLoad(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, "pebble", filepath.Join(dir, "data"))
	c := newClient(t, s)
	writers := []*writer{{device: "single", batch: 1}, {device: "d#1", batch: 100}}
	kept := make([]writer, len(writers))
	for i, w := range writers { // what is acknowledged before the backup
		w.send(t, c, 20)
		kept[i] = *w
	}
	var busy, all sync.WaitGroup
	for _, w := range writers {
		busy.Add(1)
		all.Go(func() { w.write(t.Context(), c, 5, busy.Done) })
	}
	busy.Wait()
	file := filepath.Join(dir, "backup.tar.zst")
	if _, said, code := run(t, "backup", file, "--url", s.url); code != 0 {
		t.Fatalf("backup ended with %d: %s", code, said)
	}
	s.end(syscall.SIGKILL, -1)
	all.Wait()
	restored := filepath.Join(dir, "restored")
	if _, said, code := run(t, "restore", file, "--data", restored); code != 0 {
		t.Fatalf("restore ended with %d: %s", code, said)
	}
	again := serve(t, "pebble", restored)
	c = newClient(t, again)
	for i := range kept {
		kept[i].sent = writers[i].sent
		kept[i].check(t, c)
	}
	checkCounts(t, c, writers)
}

// TestSerialKillDuringBackup kills a server while it sends a backup. The part is known to be one,
// and the server starts again with all that it had acknowledged.
func TestSerialKillDuringBackup(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, "pebble", dir)
	c := newClient(t, s)
	w := &writer{device: "d", batch: 100}
	w.send(t, c, 10)
	fill(t, c) // more than connections hold
	r, err := c.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(namesIn(t, dir), "andon.snapshot") {
		t.Fatal("all of the backup was sent before it was read")
	}
	s.end(syscall.SIGKILL, -1)
	part, _ := io.ReadAll(r) // the connection is cut
	_, err = backup.Read(strings.NewReader(string(part)), func(_ string, f io.Reader) error {
		_, err := io.Copy(io.Discard, f)
		return err
	})
	if err == nil {
		t.Error("the part passes for a backup")
	}
	again := serve(t, "pebble", dir)
	w.check(t, newClient(t, again))
	if slices.Contains(namesIn(t, dir), "andon.snapshot") {
		t.Error("what the backup left is still there")
	}
	again.end(syscall.SIGTERM, 0)
	if said, _, code := run(t, "verify", "--data", dir); code != 0 {
		t.Errorf("verify ended with %d: %s", code, said)
	}
}

// send sends so many requests.
func (w *writer) send(t *testing.T, c *client.Client, requests int) {
	t.Helper()
	for range requests {
		events := make([]andon.Event, w.batch)
		for i := range events {
			events[i] = w.event(w.acknowledged + i)
		}
		if _, err := c.AppendEvents(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		w.acknowledged += w.batch
	}
	w.sent = w.acknowledged
}

// fill sends 30 MB that do not become smaller.
func fill(t *testing.T, c *client.Client) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	text := make([]byte, 1000)
	for n := range 30 {
		events := make([]andon.Event, 1000)
		for i := range events {
			for j := range text {
				text[j] = byte('!' + rng.IntN(90))
			}
			events[i] = andon.Event{
				Device: "large", Time: andon.MinTime + andon.Time(1000*n+i), State: "NORMAL",
				Message: string(text),
			}
		}
		if _, err := c.AppendEvents(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSerialRestoreWhereFilesCannotGrow restores where no file can have more than so many blocks,
// until there are enough: nothing is left until then. It is how a disk is full, a block later each
// time.
func TestSerialRestoreWhereFilesCannotGrow(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, "pebble", filepath.Join(dir, "data"))
	w := &writer{device: "d", batch: 100}
	w.send(t, newClient(t, s), 10)
	s.end(syscall.SIGTERM, 0)
	file, restored := filepath.Join(dir, "backup.tar.zst"), filepath.Join(dir, "restored")
	if _, said, code := run(t, "backup", file, "--data", filepath.Join(dir, "data")); code != 0 {
		t.Fatalf("backup ended with %d: %s", code, said)
	}
	blocks, code := 0, 1
	for ; code != 0; blocks++ {
		restore := command(t, "restore", file, "--data", restored)
		limit := fmt.Sprintf(`ulimit -f %d && exec "$@"`, blocks)
		cmd := exec.Command("sh", append([]string{"-c", limit, "sh"}, restore.Args...)...)
		cmd.Env, cmd.Dir = restore.Env, restore.Dir
		said, _ := cmd.CombinedOutput()
		code = cmd.ProcessState.ExitCode()
		if code == 0 {
			break
		}
		if !strings.Contains(string(said), "file too large") || blocks > 1000 {
			t.Fatalf("with %d blocks restore ended with %d: %s", blocks, code, said)
		}
		if _, err := os.Stat(restored); !os.IsNotExist(err) {
			t.Fatalf("with %d blocks restore left something: %v", blocks, err)
		}
	}
	if blocks < 5 {
		t.Errorf("%d blocks were enough", blocks)
	}
	verified(t, "--data", restored)
	w.check(t, newClient(t, serve(t, "pebble", restored)))
}
