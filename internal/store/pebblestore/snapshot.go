package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// snapshotDir holds the copy that a backup reads, below the directory of the store. What a process
// that was killed has left of it, the next opening removes.
const snapshotDir = directory.OwnPrefix + "snapshot"

// Snapshot implements andon.Maintenance. Tables are hard links, so the copy takes no time; it takes
// space as far as tables that it has are compacted meanwhile.
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
	if err := s.pipe.Failed(); err != nil {
		return err
	}
	if err := s.dir.Disk.Check(); err != nil {
		return err
	}
	fs := s.dir.FS
	dir := fs.PathJoin(s.dir.Path, snapshotDir)
	if err := fs.RemoveAll(dir); err != nil {
		return err
	}
	return errors.Join(s.copyAndTake(dir, take), fs.RemoveAll(dir))
}

func (s *Store) copyAndTake(dir string, take func(dir string, files []string) error) error {
	if err := s.copyTo(dir); err != nil {
		return err
	}
	files, err := s.dir.FS.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(files)
	return take(dir, files)
}

// copyTo copies the store. No flush runs meanwhile: the copy would have its blocks, and its logs
// might end before the rows that those come from. Nor does one of readings, or a merge, end: the
// engine copies its logs last, which might say so, without the tables that it was about.
func (s *Store) copyTo(dir string) error {
	return s.exclusively(func(d deletions) error {
		d.holdMerges()
		if err := s.copyEngine(dir); err != nil {
			return fmt.Errorf("copy the store: %w", err)
		}
		return walcheck.EndCopy(s.dir.FS, dir)
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
