package pebblestore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Repair looks for damage of the logs of the store in dir, which no one may have open, and tells
// what it finds and what giving up costs. With giveUp it does that: the log is cut at the first
// damage, and it and all later ones are kept whole in a directory beside. What stands behind the
// damage is worked out from what is missing, so no part of it can be kept.
func Repair(dir string, o Options, giveUp bool, tell func(line string)) error {
	desc, release, err := closedStore(dir, &o)
	if err != nil {
		return err
	}
	defer release()
	l, err := findLogs(o.FS, dir, desc)
	if err != nil {
		return err
	}
	found, err := l.damage()
	if err != nil {
		return err
	}
	if len(found) == 0 {
		tell("The logs of the store in " + dir + " are whole. Nothing was changed.")
		return nil
	}
	return l.repair(found, giveUp, tell)
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

func (l *logs) repair(found []logDamage, giveUp bool, tell func(line string)) error {
	for _, d := range found {
		tell(d.String())
	}
	first := found[0]
	cost, err := l.cost(first)
	if err != nil {
		return err
	}
	tell("What can't be replayed, and would be given up: " + cost + ".")
	if !giveUp {
		return nil
	}
	aside, err := l.setAside(first)
	if err != nil {
		return fmt.Errorf("set the damaged log aside: %w", err)
	}
	tell("It was given up. The logs as they were are kept in " + aside + ".")
	return nil
}

// cost says what stands behind a damage.
func (l *logs) cost(d logDamage) (string, error) {
	text := fmt.Sprintf("all of %s", d.file)
	if !d.gone {
		end := max(d.synced, d.scan.end+d.scan.behind)
		text = fmt.Sprintf("%s from byte %d to %d (%d writes of it can still be read)",
			d.file, d.scan.end, end, d.scan.records)
	}
	for _, number := range l.from(d.number + 1) {
		s, err := l.scan(number)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(", all %d bytes of %s", s.end+s.behind, l.fs.PathBase(l.paths[number]))
	}
	return text, nil
}

// from returns the numbers of the logs from one on.
func (l *logs) from(number uint64) []uint64 {
	var numbers []uint64
	for n := range l.paths {
		if n >= number {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// setAside moves the damaged log and all behind it into a directory of their own, then puts what
// can be replayed back. syncedFile goes last: until then the store is refused as before.
func (l *logs) setAside(d logDamage) (aside string, err error) {
	for n := 1; ; n++ {
		aside = l.fs.PathJoin(l.dir, fmt.Sprintf("%sdamaged-%d", ownPrefix, n))
		if _, err := l.fs.Stat(aside); err != nil {
			break
		}
	}
	if err := l.fs.MkdirAll(aside, 0o700); err != nil {
		return "", err
	}
	for _, number := range l.from(d.number) {
		path := l.paths[number]
		if err := l.fs.Rename(path, l.fs.PathJoin(aside, l.fs.PathBase(path))); err != nil {
			return "", err
		}
	}
	if !d.gone {
		err = copyHead(l.fs, l.fs.PathJoin(aside, d.file), l.paths[d.number], d.scan.end)
	}
	synced := l.fs.PathJoin(l.dir, syncedFile)
	if _, there := l.fs.Stat(synced); err == nil && there == nil {
		err = l.fs.Rename(synced, l.fs.PathJoin(aside, syncedFile))
	}
	return aside, errors.Join(err, syncDirectory(l.fs, aside), syncDirectory(l.fs, l.dir))
}

// copyHead makes a file of the first bytes of another.
func copyHead(fs vfs.FS, from, to string, bytes int64) error {
	content, err := readFile(fs, from)
	if err != nil {
		return err
	}
	f, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(content[:min(bytes, int64(len(content)))])
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDirectory(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
