// Package cli is the command line: it joins the commands, which are in the packages below it, and
// turns errors into a message and an exit code.
//
// Only this package and those below it read arguments, the environment, the terminal and the real
// clock. They must not decide what a store or a server decides.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/change"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/doctor"
	"github.com/andonhq/andon/internal/cli/incidents"
	"github.com/andonhq/andon/internal/cli/live"
	"github.com/andonhq/andon/internal/cli/measure"
	"github.com/andonhq/andon/internal/cli/operate"
	"github.com/andonhq/andon/internal/cli/people"
	"github.com/andonhq/andon/internal/cli/planner"
	"github.com/andonhq/andon/internal/cli/preserve"
	"github.com/andonhq/andon/internal/cli/query"
	"github.com/andonhq/andon/internal/cli/sources"
	"github.com/andonhq/andon/internal/cli/transfer"
)

// Main runs the command line of this process and returns its exit code. release is the version of a
// release, else "".
func Main(release string) int {
	p := &command.Program{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(),
		Version: buildVersion(release),
		Now:     func() andon.Time { return andon.TimeOf(time.Now()) },
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away ("| head") must not end a server
	return run(ctx, p, os.Args[1:])
}

func run(ctx context.Context, p *command.Program, args []string) int {
	root := rootCommand(p)
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetErr(p.Stderr)
	command, err := root.ExecuteContextC(ctx)
	switch unwritten := p.Unwritten; {
	case unwritten != nil && (err == nil || !p.Started):
		if err = unwritten; errors.Is(err, syscall.EPIPE) { // the reader has seen enough ("| head")
			err = nil
		}
	case err != nil && !p.Started:
		err = misuse(command, err)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == os.Stdout.Name() &&
		errors.Is(e, syscall.EPIPE) { // likewise
		err = nil
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %s\n", command.CommandPath(), once(err.Error()))
	}
	return exitCode(err)
}

func rootCommand(p *command.Program) *cobra.Command {
	root := command.Group(&cobra.Command{
		Use: "andon",
		Short: "The state of every device of a fleet: " +
			"what it is now, what it was, who answers for it",
		Long: "Andon keeps the state of every device of a fleet: " +
			`what it is now, what it was, and who
answers for it. Devices report over HTTP, and people query over HTTP.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 some input was rejected, 4 the store can't go on, 78
the configuration of a server is wrong.`,
		Example: `  andon demo                      # a simulated factory, to look around
  andon serve --data /var/lib/andon
  andon import log.csv --device unit --time at --state status`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && args[0] == "--version" {
			_, err := fmt.Fprintln(p, command.VersionLine(p.Version))
			return err
		}
		return cmd.Help()
	}
	root.AddCommand(operate.Serve(p), transfer.Import(p), live.Demo(p), versionCommand(p))
	root.AddCommand(operate.Forward(p), operate.Config(p), doctor.Command(p), manCommand(p))
	root.AddCommand(live.Watch(p))
	root.AddCommand(incidents.Command(p), incidents.Report(p), incidents.Notify(p))
	root.AddCommand(people.Apply(p), people.Policy(p), people.Schedule(p), people.Rule(p))
	root.AddCommand(query.Command(p), sources.Rejections(p), sources.Map(p))
	root.AddCommand(change.Tenant(p), transfer.Group(p))
	root.AddCommand(transfer.Assign(p))
	root.AddCommand(change.Escalate(p))
	root.AddCommand(change.Withdraw(p))
	root.AddCommand(change.Retire(p), change.Send(p), change.Sweep(p))
	root.AddCommand(people.WithConfig(p, transfer.Export(p)))
	root.AddCommand(measure.Command(p), planner.Command(p))
	root.AddCommand(operate.Store(p))
	root.AddCommand(preserve.Backup(p), preserve.Restore(p))
	root.AddCommand(preserve.Verify(p), preserve.Archive(p))
	root.SetOut(p)
	root.InitDefaultCompletionCmd() // it writes where root does now
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		command.Group(completion)
	}
	root.SetHelpCommand(helpCommand())
	command.CheckArguments(root)
	fitHelp(root)
	return root
}

// once removes lines that repeat the end of a line above: on a full disk, write, sync and close
// fail with the same text.
func once(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		repeated := func(before string) bool { return strings.HasSuffix(before, line) }
		if line == "" || !slices.ContainsFunc(kept, repeated) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
