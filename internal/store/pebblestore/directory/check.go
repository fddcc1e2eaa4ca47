package directory

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// What may be in a directory that is made a store. Pebble deletes every table and log that its
// manifest does not name, so a directory is looked at before Pebble sees it.
const (
	manifestMarker = "marker.manifest."
	// OwnPrefix begins the names of Andon's own files.
	OwnPrefix  = "andon."
	unfinished = "MANIFEST-000001" // of a first start that was broken off: it names no table

	restoringDir = OwnPrefix + "restoring" // of a restore that has not ended
)

// checkNames refuses a directory that is no store and is not empty: it belongs to another
// program. It reads names only, and comes before anything is written.
func checkNames(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	if slices.Contains(names, restoringDir) {
		return andon.Errorf(andon.Invalid, "a restore into %s was broken off: empty the directory "+
			"and restore again", dir)
	}
	if slices.ContainsFunc(names, isManifestMarker) {
		return nil
	}
	var foreign []string
	for _, name := range names {
		if !isOurs(name) {
			foreign = append(foreign, name)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	slices.Sort(foreign)
	return andon.Errorf(andon.Invalid,
		"%s has files that are not Andon's (%s) and no store: name a directory that is empty, "+
			"or does not exist yet",
		dir, strings.Join(foreign[:min(len(foreign), 3)], ", "))
}

// checkMarker refuses a store that lost the file which names its manifest: Pebble would take the
// directory for an empty one, and delete all tables. The caller has the directory locked.
func checkMarker(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	if slices.ContainsFunc(names, isManifestMarker) {
		return nil
	}
	manifest, holdsData := "", false
	for _, name := range names {
		switch {
		case !engineFile().MatchString(name):
		case strings.HasPrefix(name, "MANIFEST-"):
			manifest = max(manifest, name)
			holdsData = holdsData || name != unfinished
		case !strings.HasSuffix(name, ".dbtmp") && name != "LOCK":
			holdsData = true
		}
	}
	if !holdsData {
		return nil
	}
	return lostMarker(dir, manifest)
}

// lostMarker says how the marker can be had again.
func lostMarker(dir, manifest string) error {
	if manifest == "" {
		return andon.Errorf(andon.Damaged,
			"%s holds tables or logs, but no manifest (MANIFEST-*) and no %s*: restore both from "+
				"where this copy was made. Nothing was changed", dir, manifestMarker)
	}
	return andon.Errorf(andon.Damaged,
		"%s holds a store, but the file %s* is missing, which says which manifest is in use; it "+
			"is empty, and some tools do not copy empty files. Restore it from where this copy "+
			"was made. If it is gone there too, make it: an empty file named "+
			"%[2]s000001. and the manifest's name; the newest here is %[2]s000001.%[3]s. "+
			"Nothing was changed", dir, manifestMarker, manifest)
}

func isManifestMarker(name string) bool { return strings.HasPrefix(name, manifestMarker) }

// engineFile matches the names of Pebble's files.
func engineFile() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+(-[0-9]+)?\.(log|sst|blob)|(MANIFEST|OPTIONS)-[0-9]+|LOCK|` +
		`marker\.(manifest|format-version)\..*|(CURRENT|temporary)\..*\.dbtmp)$`)
}

// isOurs reports whether a file does not keep a directory from becoming a store: it is ours, the
// engine's, or of a file system's root.
func isOurs(name string) bool {
	return name == "lost+found" || strings.HasPrefix(name, OwnPrefix) ||
		engineFile().MatchString(name)
}

// checkOptions refuses the store of another program that uses Pebble, and names the file where it
// can't be read. Pebble checks the same, but later and without the name.
func (d *Directory) checkOptions() error {
	desc, dir := d.Desc, d.Path
	if !desc.Exists || desc.OptionsFilename == "" {
		return nil
	}
	text, err := engine.ReadFile(d.FS, desc.OptionsFilename)
	if err != nil {
		return err
	}
	p := d.Options()
	p.EnsureDefaults()
	err = p.CheckCompatibility(dir, string(text))
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), " name from file "):
		return andon.Errorf(andon.Invalid,
			"%s holds the store of another program (%w): name another directory", dir, err)
	}
	return andon.Errorf(andon.Damaged,
		"%s is damaged (%w): restore it, or move it aside: it says how the store was set up, "+
			"and a new one is written", desc.OptionsFilename, err)
}

// checkEngine refuses the files of a newer Pebble.
func checkEngine(desc *pebble.DBDesc) error {
	if desc.Exists && desc.FormatMajorVersion > engineFormat {
		return andon.Errorf(andon.Conflict,
			"its engine's format is %d and this program reads up to %d: "+
				"use the program that wrote it",
			desc.FormatMajorVersion, engineFormat)
	}
	return nil
}

// OpenError is an error of opening Pebble. Where the directory lacks the marker of Pebble's format,
// it says so.
func (d *Directory) OpenError(err error) error {
	if !errors.Is(err, pebble.ErrDBNotPristine) {
		return err
	}
	return andon.Errorf(andon.Damaged,
		"%s holds a store, but the file marker.format-version.* is missing, which is empty. "+
			"Restore it from where this copy was made, or make it: an empty file named "+
			"marker.format-version.000001.%03d. Nothing was changed", d.Path, engineFormat)
}
