package command

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
)

// The forms of an answer. Which of them a command has, its flag --output says.
const (
	FormatTable  = "table"  // for a person
	FormatText   = "text"   // a sentence
	FormatJSON   = "json"   // of a list one object a line
	FormatNDJSON = "ndjson" // the same, where nothing else of JSON is meant
	FormatCSV    = "csv"    // RFC 4180 with a header
	FormatYAML   = "yaml"
)

// OutputFlag gives a command -o, --output: the one flag that chooses the form of an answer.
func OutputFlag(cmd *cobra.Command, initial, help string, words ...string) *Choice {
	return choiceFlag(cmd, "output", "o", initial, help, words)
}

// ReportFlag is OutputFlag for a report that people read as a table.
func ReportFlag(cmd *cobra.Command, more ...string) *Choice {
	return OutputFlag(cmd, FormatTable, "form of the report",
		append([]string{FormatTable, FormatJSON}, more...)...)
}

// SentenceFlag is OutputFlag for a command that says what it did, initially in that form.
func SentenceFlag(cmd *cobra.Command, initial string) *Choice {
	return OutputFlag(cmd, initial, "say what came of it in a sentence, or as JSON",
		FormatText, FormatJSON)
}

// Tell prints what came of a command that has a SentenceFlag.
func (p *Program) Tell(form *Choice, kept any, format string, args ...any) error {
	if form.Value == FormatJSON {
		return json.NewEncoder(p.Stdout).Encode(kept)
	}
	_, err := fmt.Fprintf(p.Stdout, format+"\n", args...)
	return err
}

// Once gives a choice the name that its flag had in former versions. Scripts have it, so it stays,
// and no help shows it.
func (c *Choice) Once(cmd *cobra.Command, name string) {
	cmd.Flags().Var(c, name, "now --output")
	_ = cmd.Flags().MarkHidden(name) // it is there
}

// OnceJSON keeps --json, which former versions had for --output json.
func (c *Choice) OnceJSON(cmd *cobra.Command) {
	cmd.Flags().Var(onceJSON{c}, "json", "now --output json")
	cmd.Flags().Lookup("json").NoOptDefVal = "true"
	_ = cmd.Flags().MarkHidden("json") // it is there
}

type onceJSON struct{ *Choice }

// Type is what the help shows as the value.
func (onceJSON) Type() string { return "bool" }

// Set reads true or false.
func (j onceJSON) Set(text string) error {
	yes, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return andon.Errorf(andon.Invalid, "it is neither true nor false")
	case yes:
		j.Value = FormatJSON
	}
	return nil
}
