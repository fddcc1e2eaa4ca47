// Package preserve is the commands that keep a store from being lost: "backup", "restore" and
// "verify".
package preserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/backup"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

// saving is a backup under way.
type saving struct {
	*command.Program
	command.Target
	data   string // the directory of a store that no process has open; "": a server's store
	target string // a file, or "-"
}

// Backup is "andon backup".
func Backup(p *command.Program) *cobra.Command {
	s := &saving{Program: p, Target: p.NewTarget()}
	cmd := &cobra.Command{
		Use:   "backup TARGET",
		Short: "Copy a whole embedded store, also of a running server",
		Long: `Copy the whole embedded store of a running server, all tenants, as it is at one
moment: all that was acknowledged before is in it. The server goes on. With --data the store is that
in a directory that no server uses.

TARGET is a file whose name ends in .tar.zst, or "-", which is standard output. A file gets its name
when it is whole; until then it is TARGET.part. What is received is checked against the server's
sums. andon restore makes a store of it.

A backup has all that the store has, so it is readable for its owner alone.`,
		Example: `  andon backup /backup/andon-2026-11-22.tar.zst
  andon backup andon.tar.zst --url https://andon.example.com --token-file token
  andon backup - | ssh backup.example.com 'cat > andon.tar.zst'
  andon backup /backup/andon.tar.zst --data /var/lib/andon`,
	}
	s.ServerFlags(cmd)
	cmd.Flags().StringVar(&s.data, "data", "",
		"`directory` of a store that no server uses, in place of a server")
	cmd.MarkFlagsMutuallyExclusive("url", "data")
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		s.target = args[0]
		return s.run(ctx)
	})
	return cmd
}

func (s *saving) run(ctx context.Context) error {
	out, err := newTarget(s.target, s.Stdout)
	if err != nil {
		return err
	}
	bar := draw.NewFileBar(s.Stderr, "backup", 0)
	var kept backup.Contents
	err = s.source(ctx, func(r io.Reader) (err error) {
		kept, err = out.take(bar.Reader(r))
		return err
	})
	bar.End()
	if err = out.end(err); err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	if s.target != standardOutput {
		fmt.Fprintf(s.Stdout, "Backed up to %s: %s, %s.\n", s.target,
			draw.Count(kept.Files, "file"), draw.Bytes(uint64(kept.Bytes)))
	}
	return nil
}

// source has take read a backup that is being made.
func (s *saving) source(ctx context.Context, take func(io.Reader) error) error {
	if s.data == "" {
		return s.Ask(ctx, func(c *client.Client) error {
			r, err := c.Backup(ctx)
			if err != nil {
				return err
			}
			defer r.Close()
			return take(r)
		})
	}
	if err := checkData(s.data); err != nil {
		return err
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := appOf(s.Program, s.data).Backup(ctx, w)
		w.CloseWithError(err)
		ended <- err
	}()
	err := take(r)
	r.CloseWithError(err)
	if cause := <-ended; err != nil && cause != nil {
		return cause // and not that what it wrote ends early
	}
	return err
}

// checkData refuses what can't be the directory of a store. An empty one stays so: looking for a
// store leaves a lock there, and then nothing could be restored into it.
func checkData(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return andon.Errorf(andon.Invalid, "%s is no directory, so there is no store in it", dir)
	case err != nil:
		return andon.Errorf(andon.Invalid, "look for a store: %w", err)
	case len(entries) == 0:
		return andon.Errorf(andon.Invalid, "there is no store in %s: it is empty", dir)
	}
	return nil
}

// appOf is an App for the embedded store in a directory.
func appOf(p *command.Program, dir string) *app.App {
	c := app.DefaultConfig()
	c.Data = dir
	return local.NewQuietApp(p, c)
}

const standardOutput = "-"

// target is the file that a backup goes to, or standard output.
type target struct {
	path string         // "" is standard output
	file *os.File       // nil: it is standard output
	pack io.WriteCloser // compresses
}

func newTarget(path string, stdout io.Writer) (*target, error) {
	t := &target{path: path}
	_, err := os.Stat(path)
	switch {
	case path == standardOutput && draw.IsTerminal(stdout):
		return nil, andon.Errorf(andon.Invalid, "standard output is a terminal: "+
			"send it to a file or a program")
	case path == standardOutput:
		t.path = ""
	case !strings.HasSuffix(path, ".tar.zst"):
		return nil, andon.Errorf(andon.Invalid, "%s does not end in .tar.zst, which a backup is",
			path)
	case err == nil:
		return nil, andon.Errorf(andon.Invalid, "%s is there already: name another target", path)
	default:
		const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if t.file, err = os.OpenFile(path+".part", flags, 0o600); err != nil {
			return nil, andon.Errorf(andon.Invalid, "make the target: %w", err)
		}
		stdout = t.file
	}
	t.pack, err = backup.Compress(stdout)
	return t, err
}

// take reads a backup to its end, checks it and writes it.
func (t *target) take(r io.Reader) (backup.Contents, error) {
	written := io.TeeReader(r, t.pack)
	kept, err := backup.Read(written, discard)
	if err == nil {
		_, err = io.Copy(io.Discard, written) // the end of a tar
	}
	return kept, err
}

// discard takes a file of a backup whose sum alone counts.
func discard(_ string, content io.Reader) error {
	_, err := io.Copy(io.Discard, content)
	return err
}

// end gives what is whole its name, and removes what is not.
func (t *target) end(err error) error {
	err = errors.Join(err, t.pack.Close())
	if t.file == nil {
		return err
	}
	err = errors.Join(err, t.file.Sync(), t.file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(t.file.Name()))
	}
	if err := os.Rename(t.file.Name(), t.path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(t.path))
}

// syncDirectory makes the names in a directory outlive a power cut.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
