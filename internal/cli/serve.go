package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server. It prints one line with its address once it answers, logs to standard
error, and ends on SIGTERM or SIGINT with exit code 0, once the requests under way are answered.

Each flag is also a variable of the environment (--log-level: ANDON_LOG_LEVEL) and a key of the YAML
file that --config names (log.level). A flag stands above a variable, a variable above the file. No
file is read unless it is named.

Exit codes: 0 ended, 1 something that is needed can't be had now (a port, the store), 2 wrong use or
a crash, 4 the store can't go on (its disk failed), 78 the settings are wrong. What supervises the
server restarts it on all but 0 and 78.`,
		Example: `  andon serve --data /var/lib/andon
  andon serve --listen 0.0.0.0:8080 --token-file token --tls-cert cert.pem --tls-key key.pem
  andon serve --store cassandra --cassandra-hosts 10.0.0.1,10.0.0.2
  ANDON_STORE=memory andon serve --listen 127.0.0.1:0`,
		Args: cobra.NoArgs,
	}
	load := p.settingFlags(cmd)
	cmd.RunE = p.does(func(ctx context.Context, _ []string) error {
		c, err := load()
		if err == nil {
			err = p.serve(ctx, c)
		}
		return ofConfig(err)
	})
	return cmd
}

// serve runs the server until the context ends.
func (p *program) serve(ctx context.Context, c config.Config) error {
	a := p.newApp(c, newLog(p.stderr, c.Log))
	if err := a.Start(ctx); err != nil {
		return unlessInterrupted(ctx, err)
	}
	fmt.Fprintf(p.stdout, "andon: listening on %s\n", a.URL())
	err := a.Wait(ctx)
	return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
}

func (p *program) newApp(c config.Config, log *slog.Logger) *app.App {
	return app.New(app.Options{
		Config: c, Now: p.now, Log: log, Version: p.version,
		Fatal: func(err error) {
			what := "the disk of the store failed; what was acknowledged is kept"
			if andon.KindOf(err) == andon.Damaged {
				what = "the store is damaged: restore it from a backup"
			}
			log.Error(what, "error", err)
			os.Exit(exitStore)
		},
	})
}

// newLog makes the log that the configuration, which was checked, asks for.
func newLog(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
