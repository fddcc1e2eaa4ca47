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
	"slices"
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
	*command.Target
	data   string // the directory of a store that no process has open; "": a server's store
	target string // a file, or standardOutput
}

const standardOutput = "-"

// Backup is "andon backup".
func Backup(p *command.Program) *cobra.Command {
	s := &saving{Program: p}
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
	s.Target = p.NewServer(cmd)
	cmd.Flags().StringVar(&s.data, "data", "",
		"`directory` of a store that no server uses, in place of a server")
	cmd.MarkFlagsMutuallyExclusive("url", "data")
	return p.Does(cmd, func(ctx context.Context, args []string) error {
		s.target = args[0]
		return s.run(ctx)
	})
}

func (s *saving) run(ctx context.Context) error {
	if err := s.checkTarget(); err != nil {
		return err
	}
	var kept backup.Contents
	save := func(w io.Writer) (err error) {
		kept, err = s.save(ctx, w)
		return err
	}
	if s.target == standardOutput {
		return command.UnlessInterrupted(ctx, save(s.Stdout))
	}
	if err := local.WriteFile(s.target, save); err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	fmt.Fprintf(s, "Backed up to %s: %s, %s.\n", s.target,
		draw.Count(kept.Files, "file"), draw.Bytes(uint64(kept.Bytes)))
	return nil
}

// checkTarget refuses what a backup can't be written to.
func (s *saving) checkTarget() error {
	_, err := os.Stat(s.target)
	switch {
	case s.target == standardOutput && draw.IsTerminal(s.Stdout):
		return andon.Errorf(andon.Invalid, "standard output is a terminal: "+
			"send it to a file or a program")
	case s.target == standardOutput:
		return nil
	case !strings.HasSuffix(s.target, ".tar.zst"):
		return andon.Errorf(andon.Invalid, "%s does not end in .tar.zst, which a backup is",
			s.target)
	case err == nil:
		return andon.Errorf(andon.Invalid, "%s is there already: name another target", s.target)
	}
	dir := filepath.Dir(s.target)
	files, err := os.ReadDir(dir)
	if err == nil && slices.ContainsFunc(files, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "marker.manifest.")
	}) {
		return andon.Errorf(andon.Invalid, "%s is the directory of a store: a backup in it is "+
			"lost with it, so name another target", dir)
	}
	return nil
}

// save reads a backup to its end, checks it and writes it, compressed.
func (s *saving) save(ctx context.Context, w io.Writer) (kept backup.Contents, err error) {
	pack, err := backup.Compress(w)
	if err != nil {
		return kept, err
	}
	bar := draw.NewFileBar(s.Stderr, "backup", 0)
	defer bar.End()
	err = s.source(ctx, func(r io.Reader) (err error) {
		written := io.TeeReader(bar.Reader(r), pack)
		if kept, err = backup.Read(written, discard); err == nil {
			_, err = io.Copy(io.Discard, written) // the end of a tar
		}
		return err
	})
	return kept, errors.Join(err, pack.Close())
}

// discard takes a file of a backup whose sum alone counts.
func discard(_ string, content io.Reader) error {
	_, err := io.Copy(io.Discard, content)
	return err
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
