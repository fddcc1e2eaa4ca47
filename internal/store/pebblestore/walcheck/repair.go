package walcheck

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// damagedDirs are the directories into which Repair moves damaged logs, each with a number.
const damagedDirs = "andon.damaged-"

// Repair reports damage of the logs, and what giving up costs. With giveUp it does that: the log is
// cut at the first damage, and it and all later ones are kept whole in a directory of their own.
// What follows the damage was computed from what is missing, so no part of it can be kept.
func (l *Logs) Repair(giveUp bool, report func(line string)) error {
	found, err := l.Damage()
	if err != nil {
		return err
	}
	if len(found) == 0 {
		report("The logs of the store in " + l.dir + " are whole. Nothing was changed.")
		return nil
	}
	for _, d := range found {
		report(d.String())
	}
	cost, err := l.cost(found[0])
	if err != nil {
		return err
	}
	report("What can't be replayed, and would be given up: " + cost + ".")
	if !giveUp {
		return nil
	}
	dir, err := l.moveAway(found[0])
	if err != nil {
		return fmt.Errorf("move the damaged log away: %w", err)
	}
	report("It was given up. The logs as they were are kept in " + dir + ".")
	return nil
}

// cost says what follows a damage.
func (l *Logs) cost(d Damage) (string, error) {
	text := fmt.Sprintf("all of %s", d.File)
	if !d.missing {
		text = fmt.Sprintf("%s from byte %d on", d.File, d.scan.end)
		if d.scan.lacks(d.synced) {
			text = fmt.Sprintf("%s from byte %d to %d", d.File, d.scan.end, d.synced)
		}
	}
	for _, number := range l.from(d.number + 1) {
		s, err := l.scan(number)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(", all %d bytes of %s", s.end, l.fs.PathBase(l.paths[number]))
	}
	return text, nil
}

// moveAway moves the damaged log and all later ones into a new directory, then puts back what can
// be replayed. syncedFile is moved last: until then the store is refused as before.
func (l *Logs) moveAway(d Damage) (dir string, err error) {
	for n := 1; ; n++ {
		dir = l.fs.PathJoin(l.dir, fmt.Sprintf("%s%d", damagedDirs, n))
		if _, err := l.fs.Stat(dir); err != nil {
			break
		}
	}
	if err := l.fs.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, number := range l.from(d.number) {
		path := l.paths[number]
		if err := l.fs.Rename(path, l.fs.PathJoin(dir, l.fs.PathBase(path))); err != nil {
			return "", err
		}
	}
	if !d.missing {
		err = vfs.LimitedCopy(l.fs, l.fs.PathJoin(dir, d.File), l.paths[d.number], d.scan.end)
	}
	synced := l.fs.PathJoin(l.dir, syncedFile)
	if _, failed := l.fs.Stat(synced); err == nil && failed == nil {
		err = l.fs.Rename(synced, l.fs.PathJoin(dir, syncedFile))
	}
	return dir, errors.Join(err, syncDirectory(l.fs, dir), syncDirectory(l.fs, l.dir))
}
