package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
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
