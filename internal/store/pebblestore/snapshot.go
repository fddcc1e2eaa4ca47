package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// snapshotDir holds the copy that a backup reads, below the directory of the store. What a process
// that was killed has left of it, the next opening removes.
const snapshotDir = ownPrefix + "snapshot"

// Snapshot implements andon.Maintenance. Tables are hard links, so the copy takes no time; it takes
// room as far as tables that it has are compacted meanwhile.
func (s *Store) Snapshot(
	ctx context.Context, take func(dir string, files []string) error,
) error {
	if !s.snapshot.TryLock() {
		return andon.Errorf(andon.Conflict,
			"another backup is being taken: wait until it has ended")
	}
	defer s.snapshot.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.failed(); err != nil {
		return err
	}
	if err := s.disk.check(); err != nil {
		return err
	}
	fs := s.options.FS
	dir := fs.PathJoin(s.disk.dir, snapshotDir)
	if err := fs.RemoveAll(dir); err != nil {
		return err
	}
	return errors.Join(s.copyAndTake(dir, take), fs.RemoveAll(dir))
}

func (s *Store) copyAndTake(dir string, take func(dir string, files []string) error) error {
	if err := s.copyTo(dir); err != nil {
		return err
	}
	files, err := s.options.FS.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(files)
	return take(dir, files)
}

// copyTo copies the store. No round runs meanwhile: the copy would have its blocks, and its logs
// might end before the rows that those come from. Nor does one of readings, or a merge, end: the
// engine copies its logs last, which might say so, without the tables that it was about.
func (s *Store) copyTo(dir string) error {
	return s.exclusively(func(d deletions) error {
		d.entries.HoldMerges()
		if err := s.copyEngine(dir); err != nil {
			return fmt.Errorf("copy the store: %w", err)
		}
		return walcheck.EndCopy(s.options.FS, dir)
	})
}

// copyEngine has Pebble copy itself. Where the directory of the copy can't be synced, Pebble
// panics. That ends the backup and not the process: the store itself is as it was.
func (s *Store) copyEngine(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine could not go on: %v", r)
		}
	}()
	return s.db.Checkpoint(dir, pebble.WithFlushedWAL())
}

// Copy has take copy the files of the store in dir, which no process may have open, and which stays
// as it is.
func Copy(dir string, o Options, take func(dir string, files []string) error) error {
	desc, release, err := closedStore(dir, &o)
	if err != nil {
		return err
	}
	defer release()
	if !desc.Exists {
		return andon.Errorf(andon.Invalid, "there is no store in %s", dir)
	}
	names, err := o.FS.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	slices.Sort(names)
	return take(dir, slices.DeleteFunc(names, func(name string) bool {
		is, err := o.FS.Stat(o.FS.PathJoin(dir, name))
		return err == nil && is.IsDir() || isOfProcess(name)
	}))
}

// isOfProcess reports whether a file is of the process that has a store open, and no part of it.
func isOfProcess(name string) bool {
	return name == lockFile || name == ownerFile || name == "LOCK" ||
		strings.HasPrefix(name, blocks.TablePrefix)
}
