// Package doctor is the command "doctor": it checks a store or a server and says what to do about
// each problem.
package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
)

type doctor struct {
	*command.Program
	command.Target
	origins []config.Origin // where each setting comes from
	timeout time.Duration   // for a server to show what it acknowledged
	full    bool            // all checks
	report  examination
}

// Command is "andon doctor".
func Command(p *command.Program) *cobra.Command {
	d := &doctor{Program: p, timeout: 10 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store, or a running server, and say what to do",
		Long: `Check the configured store and this machine, and say what to do about each problem.

It runs the checks that the project runs on its own stores, in temporary tenants, which it deletes.
Then it looks at the disk, the clock, limits and memory, and names the source of each figure. It
opens the embedded store, so stop its server first. On a store that other programs may use at the
same time it runs only a few checks; --full runs all of them.

With --url it checks a running server instead: whether it is reachable and ready, its encryption,
clock, limits and disk, and one round trip in a temporary tenant. In about 20 requests it sends
events and a reading, changes them as people do, and compares each answer with the right one.

Settings are read as "andon serve" reads them.

Exit codes: 0 well, or only warnings; 1 a check failed; 2 wrong use.`,
		Example: `  andon doctor --data /var/lib/andon
  andon doctor --config /etc/andon/andon.yaml --output json
  andon doctor --url https://andon.example:8080 --token-file token`,
	}
	sources := local.SourceFlags(p, cmd)
	cmd.Flags().StringVar(&d.URL, "url", "",
		"`address` of a running server (default: check the store)")
	cmd.Flags().BoolVar(&d.full, "full", false, "run all checks, also on a store that others "+
		"may use meanwhile")
	form := command.ReportFlag(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error {
		return d.run(ctx, sources(), form.Value)
	})
	return cmd
}

func (d *doctor) run(ctx context.Context, from config.Sources, form string) error {
	c, origins, err := app.LoadConfig(from)
	if err != nil {
		return local.WrongConfig(err)
	}
	d.origins = origins
	if d.URL != "" {
		d.URL = command.WithScheme(d.URL)
		d.TokenFile, d.Attempts = c.TokenFile, command.AttemptsWaiting
		err = d.examineServer(ctx)
	} else {
		err = d.examineStore(ctx, c)
	}
	if err != nil {
		return err
	}
	if err := d.report.print(d.Program, form); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: not all was checked; the temporary tenants are deleted")
	}
	if n := d.report.tally(failed); n > 0 {
		return errors.New(draw.Count(n, "check") + " failed")
	}
	return nil
}

// sourceOf says where the value of a setting comes from.
func (d *doctor) sourceOf(key string) string {
	for _, o := range d.origins {
		if o.Key == key {
			return o.Key + " from " + o.Place
		}
	}
	return key
}
