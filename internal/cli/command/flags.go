package command

import (
	"encoding"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// CompleteWords lets a flag whose type is a few words ("table|json") complete them.
func CompleteWords(cmd *cobra.Command, flag, form string) {
	if words := strings.Split(form, "|"); len(words) > 1 {
		// It can only be an error to register a second one.
		_ = cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// StateHelp is what --state takes where it selects.
const StateHelp = "only this `state`, several joined by commas, or a prefix: 'WARNING*'"

// DeviceFlags select devices, beside --state.
func DeviceFlags(cmd *cobra.Command, of *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&of.Operator), "operator", "", "only devices with this `operator`")
	flags.StringVar((*string)(&of.EscalatedTo), "escalated-to", "",
		"only devices escalated to this `supervisor`")
	flags.Var(&either{&of.Silent}, "silent",
		"only devices that sent nothing for longer than the tenant's silent_after; "+
			"--silent=false: only the others")
	flags.Lookup("silent").NoOptDefVal = "true"
	flags.StringVar(&of.Device, "device", "", "only this `device`, or a prefix: 'press*'")
}

// EntryArgs reads the three arguments that name an entry.
func EntryArgs(device, at, state string) (andon.DeviceID, andon.Time, andon.State, error) {
	id, err := DeviceArg(device)
	if err != nil {
		return "", 0, "", err
	}
	t, err := andon.ParseTime(at)
	if err != nil {
		return "", 0, "", err
	}
	return id, t, andon.State(state), andon.State(state).Validate()
}

// MetricsFlag gives a command --metrics.
func MetricsFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVar(names, "metrics", nil,
		"only these `names`; in CSV each is a column of its own")
}

// MetricArgs reads names of metrics.
func MetricArgs(names []string) ([]andon.MetricName, error) {
	var metrics []andon.MetricName
	for _, name := range names {
		m := andon.MetricName(name)
		if err := m.Validate(); err != nil {
			return nil, err
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}

// Unmarshaled is a flag that is read as its type reads text.
type Unmarshaled struct {
	Into encoding.TextUnmarshaler
	text string
	Kind string
}

// String is of pflag.Value.
func (u *Unmarshaled) String() string { return u.text }

// Type is of pflag.Value.
func (u *Unmarshaled) Type() string { return u.Kind }

// Set reads the text.
func (u *Unmarshaled) Set(text string) error {
	u.text = text
	return u.Into.UnmarshalText([]byte(text))
}
