package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/adapter"
)

func storeShardsCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shards KIND[=NAME] [NUMBER]",
		Short: "Print or set in how many shards something is",
		Long: `Print in how many shards something is, or set the number: a power of two up to 64. It
is stored next to the data, so every server uses it within seconds, and it only grows. KIND is
device, operator, supervisor, state or metric; without a NAME it is all of that kind.

DynamoDB takes 1,000 write units a second for one key. With dynamodb.shards auto, servers raise
the number of what is busy by themselves; set it before a load that comes at once.`,
		Example: `  andon store shards --config andon.yaml device=press-1 8
  andon store shards --config andon.yaml operator=Liz
  andon store shards --config andon.yaml --tenant metro state=NORMAL 16`,
	}
	tenant := cmd.Flags().String("tenant", string(andon.DefaultTenant), "`id` of the tenant")
	form := command.SentenceFlag(cmd, command.FormatText)
	return local.Runs(p, cmd, func(ctx context.Context, c app.Config) error {
		is, err := storeShards(ctx, p, c, andon.TenantID(*tenant), cmd.Flags().Args())
		switch {
		case err != nil:
			return err
		case form.Value == command.FormatJSON:
			return p.PrintJSON(is)
		}
		fmt.Fprintf(p, "%s: %s.\n", cmd.Flags().Arg(0), draw.Count(is.Shards, "shard"))
		return nil
	})
}

// shards is in how many something is; without a name it is all of its kind.
type shards struct {
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	Shards int    `json:"shards"`
}

func storeShards(
	ctx context.Context, p *command.Program, c app.Config, tenant andon.TenantID, args []string,
) (is shards, err error) {
	is.Kind, is.Name, _ = strings.Cut(args[0], "=")
	number := 0
	if len(args) == 2 {
		if number, err = strconv.Atoi(args[1]); err != nil || number < 1 {
			return is, andon.Errorf(andon.Invalid, "%q is no number of shards", args[1])
		}
	}
	if c.Place() != adapter.Elsewhere { // it must not be created
		return is, andon.Errorf(andon.Unsupported, "the store %s is not divided: is --store, or "+
			"--config, the right one?", c.Store)
	}
	store, err := local.NewQuietApp(p, c).OpenStore(ctx, "andon store shards")
	if err != nil {
		return is, command.UnlessInterrupted(ctx, err)
	}
	is.Shards, err = store.Divide(ctx, tenant, is.Kind, is.Name, number)
	return is, command.UnlessInterrupted(ctx, errors.Join(err, store.Close()))
}
