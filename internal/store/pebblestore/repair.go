package pebblestore

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// Repair looks for damage of the logs of the store in dir, which no process may have open, and
// reports what it finds and what giving up costs. With giveUp it does that (walcheck.Logs.Repair).
func Repair(dir string, o Options, giveUp bool, report func(line string)) error {
	desc, release, err := closedStore(dir, &o)
	if err != nil {
		return err
	}
	defer release()
	l, err := walcheck.Find(o.FS, dir, desc)
	if err != nil {
		return err
	}
	return l.Repair(giveUp, report)
}

// closedStore occupies the directory of a store without opening it. The caller releases it.
func closedStore(dir string, o *Options) (desc *pebble.DBDesc, release func(), err error) {
	o.complete()
	if _, err := o.FS.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("look for a store: %w", err)
	}
	if err := checkDirectory(o.FS, dir); err != nil {
		return nil, nil, err
	}
	if release, err = occupy(o.FS, dir, o.Owner); err != nil {
		return nil, nil, err
	}
	if err = checkMarker(o.FS, dir); err == nil {
		if desc, err = pebble.Peek(dir, o.FS); err != nil {
			err = fmt.Errorf("look at the store in %s: %w", dir, err)
		}
	}
	if err != nil {
		release()
	}
	return desc, release, err
}
