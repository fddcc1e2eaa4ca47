// Package operate has the commands for operating a server: "serve", "config" and "store".
package operate

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
)

// Serve is "andon serve".
func Serve(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server. It prints one line with its address when it is ready, and logs to
standard error. On SIGTERM or SIGINT it answers the running requests and ends with exit code 0. The
store of a large fleet then writes what would make the next start slow, for a second or two on a
fast disk. A second signal ends the server at once, and loses nothing.

Each flag is also an environment variable (--log-level: ANDON_LOG_LEVEL) and a key of the YAML file
that --config names (log.level). A flag overrides a variable, a variable overrides the file. No file
is read unless it is named.

Exit codes: 0 ended, 1 something is not available now (a port, the store), 2 wrong use or a crash, 4
the store can't go on (its disk failed), 78 the settings are wrong. A supervisor should restart the
server on all but 0 and 78.`,
		Example: `  andon serve --data /var/lib/andon
  andon serve --listen 0.0.0.0:8080 --token-file token --tls-cert cert.pem --tls-key key.pem
  andon serve --store cassandra --cassandra-hosts 10.0.0.1,10.0.0.2
  ANDON_STORE=memory andon serve --listen 127.0.0.1:0`,
	}
	local.Runs(p, cmd, func(ctx context.Context, c app.Config) error { return serve(ctx, p, c) })
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return command.OfConfig(run(cmd, args))
	}
	return cmd
}

func serve(ctx context.Context, p *command.Program, c app.Config) error {
	a := local.NewApp(p, c)
	if err := a.Start(ctx); err != nil {
		return command.UnlessInterrupted(ctx, err)
	}
	// A server goes on where nobody can read this.
	_, _ = io.WriteString(p.Stdout, "andon: listening on "+a.URL()+"\n")
	err := a.Wait(ctx)
	return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
}
