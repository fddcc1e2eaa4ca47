package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// The output formats. Each command has some of them.
const (
	FormatTable  = "table"  // for people
	FormatText   = "text"   // a sentence
	FormatJSON   = "json"   // a list is one object a line
	FormatNDJSON = "ndjson" // one object a line
	FormatCSV    = "csv"    // RFC 4180 with a header
	FormatYAML   = "yaml"
)

// OutputFlag adds -o, --output, which chooses the output format.
func OutputFlag(cmd *cobra.Command, initial, help string, words ...string) *Choice {
	return choiceFlag(cmd, "output", "o", initial, help, words)
}

// ReportFlag is OutputFlag for a report, which is a table unless the user asks for JSON.
func ReportFlag(cmd *cobra.Command, more ...string) *Choice {
	return OutputFlag(cmd, FormatTable, "format of the report",
		append([]string{FormatTable, FormatJSON}, more...)...)
}

// SentenceFlag is OutputFlag for a command that reports what it did in one sentence or as JSON.
func SentenceFlag(cmd *cobra.Command, initial string) *Choice {
	return OutputFlag(cmd, initial, "print the result as a sentence, or as JSON",
		FormatText, FormatJSON)
}

// Report prints the result of a command that has a SentenceFlag.
func (p *Program) Report(form *Choice, kept any, format string, args ...any) error {
	if form.Value == FormatJSON {
		return json.NewEncoder(p.Stdout).Encode(kept)
	}
	_, err := fmt.Fprintf(p.Stdout, format+"\n", args...)
	return err
}
