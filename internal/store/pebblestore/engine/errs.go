package engine

import (
	"errors"
	"path"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
)

// ReadError is the error of a query. Where something is damaged it names the file.
func ReadError(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	file := "a file of the store"
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		file = path.Base(info.Path)
	}
	return andon.Errorf(andon.Damaged,
		"%s is damaged, and the answer needs what can't be read of it; other queries have "+
			"theirs. Restore the store from a backup", file)
}

// Together calls functions concurrently, and returns their errors.
func Together(steps ...func() error) error {
	errs := make([]error, len(steps))
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() { errs[i] = step() })
	}
	running.Wait()
	return errors.Join(errs...)
}
