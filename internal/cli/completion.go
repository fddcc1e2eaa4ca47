package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
)

// completionCommand replaces cobra's own, whose help has no example.
func completionCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script for completion in a shell",
		Long: `Print a script for a shell. After the shell has read it, the Tab key completes
commands, flags and their values.

  bash        needs the package bash-completion;
              read at each login from /etc/bash_completion.d
  zsh         read from a directory of $fpath, under the name _andon
  fish        read from ~/.config/fish/completions
  powershell  read from the file that $PROFILE names`,
		Example: `  source <(andon completion bash)                          # this shell only
  andon completion bash > /etc/bash_completion.d/andon
  andon completion zsh > "${fpath[1]}/_andon"              # after: autoload -U compinit; compinit
  andon completion fish > ~/.config/fish/completions/andon.fish
  andon completion powershell >> $PROFILE`,
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		DisableFlagsInUseLine: true,
	}
	cmd.RunE = p.Does(func(_ context.Context, args []string) error {
		return printCompletion(p, cmd.Root(), args[0])
	})
	return cmd
}

func printCompletion(p *command.Program, root *cobra.Command, shell string) error {
	switch shell {
	case "zsh":
		return root.GenZshCompletion(p.Stdout)
	case "fish":
		return root.GenFishCompletion(p.Stdout, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(p.Stdout)
	case "bash":
		return root.GenBashCompletionV2(p.Stdout, true)
	}
	return andon.Errorf(andon.Invalid, "%s is none of bash, zsh, fish, powershell",
		command.Quoted(shell))
}
