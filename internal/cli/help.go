package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/store/all"
)

// helpWidth is the usual width of a terminal.
const helpWidth = 80

// fitHelp wraps the help of a command and its subcommands.
func fitHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := cmp.Or(cmd.Long, cmd.Short)
		listed := strings.TrimRight(cmd.LocalFlags().FlagUsages(), " \n")
		usage := cmd.UsageString()
		if listed != "" {
			usage = strings.Replace(usage, listed, flagHelp(cmd.LocalFlags()), 1)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", wrapped(strings.TrimSpace(about)), usage)
	})
}

// flagHelp lists flags. The flags of each store but the default one have a list of their own.
func flagHelp(flags *pflag.FlagSet) string {
	stores := all.New().Names()
	lists := map[string]*pflag.FlagSet{}
	for _, store := range stores {
		lists[store] = pflag.NewFlagSet("", pflag.ContinueOnError)
		lists[store].SortFlags = false
	}
	flags.VisitAll(func(f *pflag.Flag) {
		store, _, _ := strings.Cut(f.Name, "-")
		if !slices.Contains(stores[1:], store) {
			store = stores[0]
		}
		lists[store].AddFlag(withShortValue(f))
	})
	text := ""
	for _, store := range stores {
		list := strings.TrimRight(lists[store].FlagUsagesWrapped(helpWidth), "\n")
		if list != "" && store != stores[0] {
			text += "\n\nFlags for --store " + store + ":\n"
		}
		text += list
	}
	return text
}

// withShortValue returns a flag whose help lists the words to choose from, if they would take too
// much of the line as the name of its value.
func withShortValue(f *pflag.Flag) *pflag.Flag {
	const long = 24
	kind, usage := pflag.UnquoteUsage(f)
	if len(kind) <= long {
		return f
	}
	short := *f
	short.Usage = usage + "; a `WORD` of " + strings.ReplaceAll(kind, "|", ", ")
	return &short
}

// wrapped wraps the paragraphs of a text. Lines that begin with a space are not changed.
func wrapped(text string) string {
	var lines []string
	line := ""
	flush := func() {
		if line != "" {
			lines = append(lines, line)
		}
		line = ""
	}
	for given := range strings.SplitSeq(text, "\n") {
		if given == "" || given[0] == ' ' {
			flush()
			lines = append(lines, given)
			continue
		}
		for word := range strings.FieldsSeq(given) {
			if line != "" && draw.ColumnsOf(line)+1+draw.ColumnsOf(word) > helpWidth {
				flush()
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
	}
	flush()
	return strings.Join(lines, "\n")
}

// helpCommand replaces cobra's own, which calls an unknown command a help topic.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Print what a command does",
		Long:    "Print what a command does, as --help after the command.",
		Example: `  andon help query devices`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return command.UnknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag() // lists --help, too
			return found.Help()
		},
	}
}
