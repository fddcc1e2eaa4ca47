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
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s",
			wrapped(strings.TrimSpace(about), helpWidth), fitCommands(usage))
	})
}

// fitCommands wraps the list of subcommands.
func fitCommands(usage string) string {
	lines := strings.Split(usage, "\n")
	listed := false
	for i, line := range lines {
		if line != "" && line[0] != ' ' {
			listed = line == "Available Commands:"
		}
		if !listed || draw.ColumnsOf(line) <= helpWidth {
			continue
		}
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		begin := strings.Index(line, strings.TrimSpace(what))
		text := wrapped(strings.TrimSpace(what), helpWidth-begin)
		lines[i] = line[:begin] + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", begin))
	}
	return strings.Join(lines, "\n")
}

// flagHelp lists flags. The flags of each store but the default one have a list of their own.
func flagHelp(flags *pflag.FlagSet) string {
	others := all.New().Names()[1:]
	parts := make([]strings.Builder, 1+len(others))
	flags.VisitAll(func(f *pflag.Flag) {
		part := 1 + slices.IndexFunc(others, func(store string) bool {
			return strings.HasPrefix(f.Name, store+"-")
		})
		if !f.Hidden {
			parts[part].WriteString(oneFlag(f))
		}
	})
	text := strings.TrimRight(parts[0].String(), "\n")
	for i, store := range others {
		if own := strings.TrimRight(parts[1+i].String(), "\n"); own != "" {
			text += "\n\nFlags for --store " + store + ":\n" + own
		}
	}
	return text
}

// oneFlag formats a flag with its description next to it, or below a long name.
func oneFlag(f *pflag.Flag) string {
	const column = 28
	alone := pflag.NewFlagSet("", pflag.ContinueOnError)
	alone.AddFlag(f)
	name, what, _ := strings.Cut(strings.TrimSpace(alone.FlagUsages()), "   ")
	if !strings.HasPrefix(name, "-"+f.Shorthand+",") {
		name = "    " + name // in place of a letter
	}
	flag, words, _ := strings.Cut(strings.TrimSpace(name), " ")
	if strings.Contains(words, "|") &&
		draw.ColumnsOf(name)+2 > helpWidth {
		name = "    " + flag + " WORD"
		what += ": " + strings.ReplaceAll(words, "|", ", ")
	}
	text := "  " + name
	if len(text)+2 > column {
		text += "\n"
	}
	space := strings.Repeat(" ", column)
	for i, line := range strings.Split(wrapped(what, helpWidth-column), "\n") {
		if i == 0 && !strings.HasSuffix(text, "\n") {
			text += strings.Repeat(" ", column-len(text)) + line + "\n"
			continue
		}
		text += space + line + "\n"
	}
	return text
}

// wrapped wraps the paragraphs of a text. Lines that begin with a space are not changed.
func wrapped(text string, width int) string {
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
			if line != "" && draw.ColumnsOf(line)+1+draw.ColumnsOf(word) > width {
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
