// Package doctor is the command "doctor": it looks at a store or a server and says what to do.
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
	"github.com/andonhq/andon/storecheck"
)

type doctor struct {
	*command.Program
	origins []config.Origin
	command.Target
	patience time.Duration      // with a server whose store is eventual
	asks     []storecheck.Check // of a server
	full     bool               // all checks
	report   examination
}

// Command is "andon doctor".
func Command(p *command.Program) *cobra.Command {
	d := &doctor{Program: p, patience: 10 * time.Second, asks: storecheck.ServerChecks()}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store, or a running server, and say what to do",
		Long: `Check the store that is configured, and the machine that it is on: every check that
the project runs on its own stores, in throwaway tenants which are deleted after them; then the
disk, the clock, limits and memory, each with the place that the figure comes from. The embedded
store is opened for that, so stop its server first, or ask the server. On a store that others may
use meanwhile only a few of the checks run, unless --full asks for all of them.

With --url, check a running server instead, over HTTP: every one of those checks that a client can
ask, each in a throwaway tenant which is deleted after it, also when you break it off. That is
about 3,500 small requests, one after the other but for a few: seconds beside the server, two
minutes where an answer takes 30 ms. A check that needs a clock which can be set is listed as not
asked, with the reason. Where entries may arrive in any order one order is tried, and every order
with --full.

What is wrong is told with what to do about it. Settings are taken as "andon serve" takes them.

Exit codes: 0 well, or only warnings; 1 a check failed; 2 wrong use.`,
		Example: `  andon doctor --data /var/lib/andon
  andon doctor --config /etc/andon/andon.yaml --output json
  andon doctor --url https://andon.example:8080 --token-file token`,
	}
	sources := local.SourceFlags(p, cmd)
	cmd.Flags().StringVar(&d.URL, "url", "", "address of a running server; none: the configured "+
		"store")
	cmd.Flags().BoolVar(&d.full, "full", false, "run all checks, also on a store that others "+
		"may use meanwhile; at a server in every order of arrival")
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
		return errors.New("interrupted: not all was looked at; the throwaway tenants are deleted")
	}
	if n := d.report.tally(failed); n > 0 {
		return errors.New(draw.Count(n, "check") + " failed")
	}
	return nil
}

func (d *doctor) placeOf(key string) string {
	for _, o := range d.origins {
		if o.Key == key {
			return o.Key + " from " + o.Place
		}
	}
	return key
}
