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
		Short: "Report damage of the write-ahead log, and cut it off",
		Long: `Look for damage in the write-ahead logs of the embedded store. What comes after such
a place was acknowledged and can't be replayed, so the server does not start. It is better to
restore the directory from a backup. Without --give-up it changes nothing and prints what would be
lost.

With --give-up the logs end where the damage begins, and the server starts again. The damaged logs
are kept in the store's directory, as andon.damaged-NUMBER. Senders that still have what they sent
since then can send it again.

Stop the server first.`,
		Example: `  andon store repair --data /var/lib/andon
  andon store repair --data /var/lib/andon --give-up`,
	}
	load := local.SettingFlags(p, cmd)
	giveUp := cmd.Flags().Bool("give-up", false, "end the logs where the damage begins")
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
