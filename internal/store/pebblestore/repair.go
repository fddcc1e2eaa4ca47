package pebblestore

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// Repair looks for damage of the logs of the store in dir, which no process may have open, and
// reports what it finds and what giving up costs. With giveUp it does that (walcheck.Logs.Repair).
func Repair(dir string, o Options, giveUp bool, report func(line string)) error {
	d, err := closedStore(dir, &o)
	if err != nil {
		return err
	}
	defer d.Release()
	l, err := walcheck.Find(d.FS, dir, d.Desc)
	if err != nil {
		return err
	}
	return l.Repair(giveUp, report)
}

// Copy has take copy the files of the store in dir, which no process may have open, and which stays
// as it is.
func Copy(dir string, o Options, take func(dir string, files []string) error) error {
	d, err := closedStore(dir, &o)
	if err != nil {
		return err
	}
	defer d.Release()
	if !d.Desc.Exists {
		return andon.Errorf(andon.Invalid, "there is no store in %s", dir)
	}
	files, err := d.Files()
	if err != nil {
		return err
	}
	return take(dir, slices.DeleteFunc(files, func(name string) bool {
		return strings.HasPrefix(name, blocks.TablePrefix)
	}))
}

// closedStore occupies the directory of a store without opening it. The caller releases it.
func closedStore(dir string, o *Options) (*directory.Directory, error) {
	o.complete()
	d := directory.New(o.directory(dir))
	return d, d.Occupy()
}
