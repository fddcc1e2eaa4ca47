package engine

import (
	"errors"
	"fmt"
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

// unreadable is what rows panics with: what the store can't do without can't be read.
type unreadable struct{ err error }

// RecoverUnreadable makes it the error of the function that defers this.
func RecoverUnreadable(to *error) {
	r := recover()
	if u, ok := r.(unreadable); ok {
		err := u.err
		if e, ok := errors.AsType[*andon.Error](ReadError(err)); ok {
			err = fmt.Errorf("the store can't be opened without it: %w", e)
		}
		*to = err
	} else if r != nil {
		panic(r)
	}
}

// Together calls functions concurrently, and returns their errors. A row that can't be read is the
// error of the function that reads it.
func Together(steps ...func() error) error {
	errs := make([]error, len(steps))
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() {
			defer RecoverUnreadable(&errs[i])
			errs[i] = step()
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
