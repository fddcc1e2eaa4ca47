package operate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/all"
)

func storeRebuildCommand(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "rebuild",
		Short:   "Rebuild index rows of a store",
		Long:    `Rebuild the index rows of a store from its entries. Servers keep serving.`,
		Example: `  andon store rebuild latest --config andon.yaml --to state`,
	}, rebuildLatestCommand(p))
}

type rebuild struct {
	*command.Program
	to      *command.Choice // "": the present design
	buckets string
}

func rebuildLatestCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latest",
		Short: "Rebuild the index of devices by state, or change its design",
		Long: `Rebuild the index of devices by state, in its present design or in another. Servers
keep serving: in the former design until the new one is complete, then in the new one. A server
whose settings name another design (cassandra.latest) does not start: change the settings, too.

If it is interrupted, no answer changes: run the command again.`,
		Example: `  andon store rebuild latest --config andon.yaml
  andon store rebuild latest --config andon.yaml --to state
  andon store rebuild latest --config andon.yaml --to buckets --buckets 32`,
	}
	r := rebuild{Program: p}
	r.to = command.ChoiceFlag(cmd, "to", "", "the design (default: the present one)", designs()...)
	cmd.Flags().StringVar(&r.buckets, "buckets", "",
		"`number` of partitions of a state under the design buckets: 16, or 16,WARNING4=4")
	return local.Runs(p, cmd, r.run)
}

func designs() (words []string) {
	for _, e := range all.New() {
		words = append(words, e.Designs()...)
	}
	return words
}

func (r *rebuild) run(ctx context.Context, c app.Config) error {
	e, err := c.Engine()
	if err != nil {
		return err
	}
	if len(e.Designs()) == 0 {
		return r.hasNoDesigns(c.Store)
	}
	// The settings may name the present design, or already the new one.
	a := local.NewQuietApp(r.Program, c)
	store, err := a.OpenInAnyDesign(ctx, "andon store rebuild latest")
	if err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	bar := draw.NewBar(r.Stderr, "devices", 0, progress)
	var rebuilt atomic.Int64
	err = store.RebuildLatest(ctx, r.to.Value, r.buckets, func(done, total int64) {
		rebuilt.Store(done)
		bar.Show(done, total)
	})
	bar.End()
	err = errors.Join(err, store.Close())
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: no answer has changed; " +
			"run the same command again to start over")
	}
	if err == nil {
		fmt.Fprintf(r, "Rebuilt: %s.\n", draw.Count(int(rebuilt.Load()), "device"))
	}
	return err
}

// hasNoDesigns reports that a store has no designs, as an error if the user chose one.
func (r *rebuild) hasNoDesigns(store string) error {
	if r.to.Value != "" || r.buckets != "" {
		return andon.Errorf(andon.Invalid, "the store %s has no designs to choose from: "+
			"is --store, or --config, the right one?", store)
	}
	fmt.Fprintf(r, "The store %s has nothing to rebuild.\n", store)
	return nil
}

// progress describes the state of a rebuild. Before and after the devices are rewritten, it waits
// until every server uses the same designs.
func progress(done, total int64) string {
	text := fmt.Sprintf(" %d of %d", done, total)
	switch done {
	case 0:
		text += ", waiting half a minute for all servers"
	case total:
		text += ", waiting a minute for all servers"
	}
	return text
}
