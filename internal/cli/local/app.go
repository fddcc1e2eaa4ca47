// Package local is shared by the commands that work on this machine: the flags for settings, the
// application, facts about the machine.
package local

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
)

// WrongConfig marks an error as one of the configuration.
func WrongConfig(err error) error {
	return andon.Errorf(andon.Invalid, "the configuration is wrong:\n%w", err)
}

// NewApp returns the application of a configuration, which logs on standard error.
func NewApp(p *command.Program, c app.Config) *app.App {
	log := newLog(p.Stderr, c.Log)
	return app.New(app.Options{
		Config: c, Now: p.Now, Log: log, Version: p.Version,
		Fatal: func(err error) {
			what := "the disk of the store failed; what was acknowledged is kept"
			if andon.KindOf(err) == andon.Damaged {
				what = "the store is damaged: restore it from a backup"
			}
			log.Error(what, "error", err)
			os.Exit(command.ExitStore)
		},
	})
}

// newLog returns the log that a valid configuration describes.
func newLog(w io.Writer, c app.LogConfig) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // it was checked
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// NewQuietApp returns an App that works on a store without serving. The store logs errors only.
func NewQuietApp(p *command.Program, c app.Config) *app.App {
	c.Log.Level = "error"
	return NewApp(p, c)
}

// IsEmpty reports whether a directory does not exist or is empty: a store that is opened there is a
// new one.
func IsEmpty(path string) bool {
	entries, err := os.ReadDir(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// WriteFile makes a file of what write writes, for its owner alone. It gets its name once it is
// whole and on the disk; until then it is path.part.
func WriteFile(path string, write func(io.Writer) error) error {
	part, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return andon.Errorf(andon.Invalid, "make the file: %w", err)
	}
	if err = write(part); err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	if err := os.Rename(part.Name(), path); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// SyncDirectory makes the names in a directory outlive a power cut.
func SyncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WorkDirectory returns the directory for the stores that a command creates, and a function that
// removes it. keep names a directory that is not removed; "" means a temporary one.
func WorkDirectory(keep, pattern string) (dir string, remove func(), err error) {
	if keep != "" {
		return keep, func() {}, os.MkdirAll(keep, 0o700)
	}
	dir, err = os.MkdirTemp("", pattern)
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
