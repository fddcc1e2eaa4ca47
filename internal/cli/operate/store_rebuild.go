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
	cmd := command.Group(&cobra.Command{
		Use:     "rebuild",
		Short:   "Rebuild what a store can rebuild",
		Long:    `Rebuild the index rows of a store from the truth. Servers go on serving.`,
		Example: `  andon store rebuild latest --config andon.yaml --to state`,
	})
	cmd.AddCommand(rebuildLatestCommand(p))
	return cmd
}

type rebuild struct {
	*command.Program
	to      *command.Choice // "" for the design in use
	buckets string
}

func rebuildLatestCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latest",
		Short: "Rebuild the index of devices by state, or change its design",
		Long: `Rebuild the index of devices by state, in the design in use or in another.
Servers go on serving meanwhile, in the former design until the new one is whole; then they take the
new one by themselves. A server whose settings name a design (cassandra.latest) does not start with
another one: change these, too.

If it is interrupted, no answer changes: run the command again.`,
		Example: `  andon store rebuild latest --config andon.yaml
  andon store rebuild latest --config andon.yaml --to state
  andon store rebuild latest --config andon.yaml --to buckets --buckets 32`,
	}
	load := local.SettingFlags(p, cmd)
	r := rebuild{Program: p}
	r.to = command.ChoiceFlag(cmd, "to", "", "the design (default: the one in use)", designs()...)
	cmd.Flags().StringVar(&r.buckets, "buckets", "",
		"`number` of partitions of a state under the design buckets: 16, or 16,WARNING4=4")
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		return r.run(ctx, c)
	})
	return cmd
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
		return r.nothing(c.Store)
	}
	// The settings may name the design that is there, or already the one that is to be.
	a := local.NewQuietApp(r.Program, c)
	store, err := a.OpenInAnyDesign(ctx, "andon store rebuild latest")
	if err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	bar := draw.NewBar(r.Stderr, "devices", 0, awaited)
	var rebuilt atomic.Int64
	err = store.RebuildLatest(ctx, r.to.Value, r.buckets, func(done, total int64) {
		rebuilt.Store(done)
		bar.Show(done, total)
	})
	bar.End()
	err = errors.Join(err, store.Close())
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: no answer has changed; " +
			"run the same command again, which begins anew")
	}
	if err == nil {
		fmt.Fprintf(r.Stdout, "Rebuilt: %s.\n", draw.Count(int(rebuilt.Load()), "device"))
	}
	return err
}

// nothing says that a store has no designs; that one was asked for is a mistake, then.
func (r *rebuild) nothing(store string) error {
	if r.to.Value != "" || r.buckets != "" {
		return andon.Errorf(andon.Invalid, "the store %s has no designs to choose from: "+
			"is --store, or --config, the right one?", store)
	}
	fmt.Fprintf(r.Stdout, "The store %s has nothing to rebuild: nothing is to be done.\n", store)
	return nil
}

// awaited says what is being waited for: every server has to follow before the devices are gone
// over, and after that.
func awaited(done, total int64) string {
	text := fmt.Sprintf(" %d of %d", done, total)
	switch done {
	case 0:
		text += ", waiting half a minute for every server to follow"
	case total:
		text += ", waiting a minute for every server to go over"
	}
	return text
}
