package command

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/seq"
)

// Names asks a server for names that a shell may complete, each with what is shown next to it.
type Names func(context.Context, *client.Client) iter.Seq2[cobra.Completion, error]

// DocumentNames are those of the documents of a kind.
func DocumentNames(kind string) Names {
	return func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return func(yield func(cobra.Completion, error) bool) {
			for d, err := range c.Documents(ctx) {
				if (err != nil || d.Kind == kind) && !yield(d.Name, err) {
					return
				}
			}
		}
	}
}

// OpenIncidents are the IDs of those that are open, severest first, with their devices and states.
func OpenIncidents(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
	all := c.Incidents(ctx, client.IncidentQuery{})
	return seq.Map(all, func(in client.Incident) cobra.Completion {
		about := draw.Legible(string(in.Device) + " " + string(in.State))
		return cobra.CompletionWithDesc(in.ID, about)
	})
}

// Completes has a shell complete the arguments of the command by what the server has.
func (t *Target) Completes(arguments ...Names) {
	t.command.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, begun string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(arguments) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return t.complete(cmd.Context(), arguments[len(args)], begun)
	}
}

// CompletesFlag has a shell complete the value of a flag by what the server has.
func (t *Target) CompletesFlag(flag string, names Names) {
	// The only error is a second registration.
	_ = t.command.RegisterFlagCompletionFunc(flag, func(
		cmd *cobra.Command, _ []string, begun string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		return t.complete(cmd.Context(), names, begun)
	})
}

// complete returns what begins so, as far as the server answers in time: whoever waits has pressed
// a key.
func (t *Target) complete(
	ctx context.Context, names Names, begun string,
) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	const inTime, most = 2 * time.Second, 100
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	t.Attempts = 1
	_ = t.Ask(ctx, func(c *client.Client) error { // where it fails, nothing is completed
		for name, err := range names(ctx, c) {
			if err != nil || len(all) == most {
				return err
			}
			if strings.HasPrefix(name, begun) {
				all = append(all, name)
			}
		}
		return nil
	})
	return all, cobra.ShellCompDirectiveNoFileComp
}
