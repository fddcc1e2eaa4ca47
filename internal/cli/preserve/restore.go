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

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/backup"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

type restoring struct {
	*command.Program
	source, data string
}

// Restore is "andon restore".
func Restore(p *command.Program) *cobra.Command {
	r := &restoring{Program: p}
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Make an embedded store of a backup",
		Long: `Make an embedded store of what andon backup wrote, in a directory that is empty or
does not exist yet. The backup is checked first: each file against its sum, then all that the store
has, as andon verify does. Only then the directory becomes a store. If the backup is damaged, the
directory stays empty, or is not made.`,
		Example: `  andon restore /backup/andon-2026-11-22.tar.zst --data /var/lib/andon`,
	}
	cmd.Flags().StringVar(&r.data, "data", "", "`directory` of the store to be")
	return p.Does(cmd, func(ctx context.Context, args []string) error {
		if r.source = args[0]; r.data == "" {
			return andon.Errorf(andon.Invalid, "name the directory of the store to be: --data DIR")
		}
		return command.UnlessInterrupted(ctx, r.run(ctx))
	})
}

// unpackedDir holds what is restored, below the directory of the store to be, until it is checked.
// The store refuses to begin in a directory that has it.
const unpackedDir = "andon.restoring"

func (r *restoring) run(ctx context.Context) error {
	if err := r.checkEmpty(); err != nil {
		return err
	}
	_, err := os.Stat(r.data)
	made := errors.Is(err, os.ErrNotExist)
	unpacked := filepath.Join(r.data, unpackedDir)
	if err := os.MkdirAll(unpacked, 0o700); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	kept, err := r.unpack(ctx, unpacked)
	if err == nil {
		_, err = verifyStore(ctx, r.Program, unpacked)
	}
	if err == nil && made {
		err = local.SyncDirectory(filepath.Dir(r.data))
	}
	if err == nil {
		err = moveStore(unpacked, r.data)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(unpacked))
		if made { // else a server that is started on it begins an empty store
			err = errors.Join(err, os.Remove(r.data))
		}
		return err
	}
	fmt.Fprintf(r, "Restored into %s: %s, %s, as of %s.\n", r.data,
		draw.Count(kept.Files, "file"), draw.Bytes(uint64(kept.Bytes)), kept.Taken)
	return nil
}

// checkEmpty refuses a directory that holds anything but what a file system's root has.
func (r *restoring) checkEmpty() error {
	entries, err := os.ReadDir(r.data)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return andon.Errorf(andon.Invalid, "look into --data: %w", err)
	}
	for _, e := range entries {
		if e.Name() == unpackedDir {
			return andon.Errorf(andon.Invalid, "a restore into %s is running or was broken "+
				"off: where none is, empty the directory and restore again", r.data)
		}
		if e.Name() != "lost+found" {
			return andon.Errorf(andon.Invalid, "%s is not empty (%s): name a directory that is, "+
				"or does not exist yet", r.data, e.Name())
		}
	}
	return nil
}

func (r *restoring) unpack(ctx context.Context, dir string) (backup.Contents, error) {
	into := backup.Into(dir)
	return readBackup(ctx, r.Program, "unpack", r.source,
		func(name string, content io.Reader) error {
			if backup.IsOwn(name) {
				return nil
			}
			return into(name, content)
		})
}

// readBackup reads a backup to its end, has put take each file, and checks the sums.
func readBackup(
	ctx context.Context, p *command.Program, doing, source string,
	put func(name string, content io.Reader) error,
) (kept backup.Contents, err error) {
	size := int64(0)
	if is, err := os.Stat(source); err == nil {
		size = is.Size()
	}
	bar := draw.NewFileBar(p.Stderr, doing, size)
	defer bar.End()
	from, err := backup.Open(source, bar.Reader)
	if err != nil {
		return kept, err
	}
	kept, err = backup.Read(from, func(name string, content io.Reader) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return put(name, content)
	})
	if err != nil {
		err = andon.Errorf(andon.KindOf(err), "%s: %w", source, err)
	}
	return kept, errors.Join(err, from.Close())
}

// moveStore makes a directory the store that was unpacked below it. The file that makes a store of
// a directory comes last: until then it is refused as damaged. Where a file can't be moved, those
// that were are removed.
func moveStore(from, to string) (err error) {
	var moved []string
	defer func() {
		if err != nil {
			for _, path := range slices.Backward(moved) { // the one that makes it a store first
				err = errors.Join(err, os.Remove(path))
			}
		}
	}()
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	last := func(e os.DirEntry) int {
		if strings.HasPrefix(e.Name(), "marker.manifest.") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return last(a) - last(b) })
	for _, e := range entries {
		if last(e) > 0 {
			if err := local.SyncDirectory(to); err != nil {
				return err
			}
		}
		path := filepath.Join(to, e.Name())
		if err := os.Rename(filepath.Join(from, e.Name()), path); err != nil {
			return err
		}
		moved = append(moved, path)
	}
	if err := os.Remove(from); err != nil {
		return err
	}
	return local.SyncDirectory(to)
}
