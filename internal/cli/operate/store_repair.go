package operate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
)

func storeRepairCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Say what of an embedded store is damaged, and give that up if told to",
		Long: `Look for damage of the write-ahead logs of the embedded store: what stands behind
such a place was acknowledged and can't be replayed, so the server does not start. Restoring the
directory from a backup is the better way. Without --give-up nothing is changed, and what giving up
costs is printed.

With --give-up the logs end where the damage begins, and the server starts again. The logs as they
were are kept in the store's directory, under andon.damaged-NUMBER. Senders that still have what
they sent since then can send it again.

Stop the server first.`,
		Example: `  andon store repair --data /var/lib/andon
  andon store repair --data /var/lib/andon --give-up`,
	}
	load := local.SettingFlags(p, cmd)
	giveUp := cmd.Flags().Bool("give-up", false, "give up what can't be read")
	cmd.RunE = p.Does(func(context.Context, []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		return local.NewQuietApp(p, c).RepairStore(*giveUp, func(line string) {
			fmt.Fprintln(p.Stdout, line)
		})
	})
	return cmd
}
