package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
)

// measurable are the stores that can be measured: those that can be made anew for it.
func measurable() []string {
	return append([]string{local.Embedded, "memory"}, clusterSubjects()...)
}

// checkStores refuses what can't be measured.
func (b *benchmark) checkStores() error {
	for i, name := range b.stores {
		if !slices.Contains(measurable(), name) {
			return andon.Errorf(
				andon.Invalid,
				"--store %s can't be measured: there are %s%s",
				command.Quoted(
					name,
				),
				command.Joined(measurable(), " and "),
				command.DidYouMean(name, measurable()),
			)
		}
		if slices.Contains(b.stores[:i], name) {
			return andon.Errorf(andon.Invalid, "--store %s is named twice", name)
		}
	}
	if slices.ContainsFunc(b.stores, inCluster) {
		return b.loadCluster()
	}
	return nil
}

// directory returns where the stores are made, and what cleans up afterwards.
func (b *benchmark) directory() (dir string, remove func(), err error) {
	if b.keep != "" {
		return b.keep, func() {}, os.MkdirAll(b.keep, 0o700)
	}
	dir, err = os.MkdirTemp("", "andon-bench-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// openSubject opens a store of its own: in a directory of its name, or in a cluster. end closes it.
func (b *benchmark) openSubject(ctx context.Context, name, dir string) (
	store andon.Store, end func() error, err error,
) {
	if inCluster(name) {
		return b.openCluster(ctx, name)
	}
	if store, err = b.openEmbedded(ctx, name, dir); err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

func (b *benchmark) openEmbedded(ctx context.Context, name, dir string) (andon.Store, error) {
	log := local.NewLog(b.Stderr, config.Log{Level: "error"})
	return all.Open(ctx, name, all.Config{
		Log: log, Dir: filepath.Join(dir, name), Owner: "andon bench",
		Fatal: func(err error) {
			log.Error("the disk of the store failed", "error", err)
			os.Exit(command.ExitStore)
		},
	})
}

// warn says where the figures would be of something else than a disk.
func (b *benchmark) warn() {
	if b.report.Machine.Passing != "" {
		m := b.report.Machine
		fmt.Fprintf(b.Stderr, "Note: %s is %s: %s. TMPDIR names another directory.\n",
			m.Directory, m.Disk, m.Passing)
	}
}
