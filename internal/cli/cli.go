// Package cli is the command line: a file for each subcommand. It turns arguments into calls of the
// application and of the client, and errors into a sentence and an exit code.
//
// It is the only package that reads arguments, the environment, the terminal and the real clock. It
// must not decide what a store or a server decides.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// program is one run of the command line.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string // "NAME=value"
	version        httpapi.Version
	now            func() andon.Time
	started        bool // the arguments were understood
}

// Main runs the command line of this process and returns its exit code. release is "" for a build
// that is none.
func Main(release string) int {
	p := &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(),
		version: buildVersion(release),
		now:     func() andon.Time { return andon.TimeOf(time.Now()) },
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away ("| head") must not end a server
	return p.run(ctx, os.Args[1:])
}

// run runs one command and returns its exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !p.started {
		err = misuse(command, err)
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "%s: %s\n", command.CommandPath(), err)
	}
	return exitCode(err)
}

func (p *program) rootCommand() *cobra.Command {
	root := group(&cobra.Command{
		Use: "andon",
		Short: "The state of every device of a fleet: " +
			"what it is now, what it was, who answers for it",
		Long: "Andon keeps the state of every device of a fleet: " +
			`what it is now, what it was, and who
answers for it. Devices report over HTTP, and people ask over HTTP.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 some input was rejected, 4 the store can't go on, 78
the configuration of a server is wrong.`,
		Example: `  andon demo                      # a small factory, to look around
  andon serve --data /var/lib/andon
  andon import log.csv --device unit --time at --state status`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.Flags().Bool("version", false, "print which build this is")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && args[0] == "--version" {
			return p.printVersion()
		}
		return cmd.Help()
	}
	root.AddCommand(p.serveCommand(), p.importCommand(), p.demoCommand(), p.versionCommand())
	root.AddCommand(p.configCommand(), p.doctorCommand(), p.completionCommand(), p.manCommand())
	root.AddCommand(p.watchCommand())
	root.AddCommand(p.queryCommand())
	root.AddCommand(p.tenantCommand())
	root.AddCommand(p.assignCommand())
	root.AddCommand(p.escalateCommand())
	root.AddCommand(p.withdrawCommand())
	root.AddCommand(p.retireCommand(), p.sendCommand(), p.sweepCommand())
	root.AddCommand(p.exportCommand())
	root.AddCommand(p.benchCommand())
	root.AddCommand(p.storeCommand())
	root.SetHelpCommand(p.helpCommand())
	checkArguments(root)
	fitHelp(root)
	return root
}

// does makes a function the work of a command. From here on, errors are not misuse of the command
// line unless they say so.
func (p *program) does(
	work func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.started = true
		return work(cmd.Context(), args)
	}
}

// variable returns the value of a variable of the environment, "" where it is not set.
func (p *program) variable(name string) string {
	value := ""
	for _, entry := range p.environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
