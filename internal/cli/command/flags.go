package command

import (
	"encoding"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// CompleteWords adds completion to a flag whose type is a few words ("table|json").
func CompleteWords(cmd *cobra.Command, flag, form string) {
	if words := strings.Split(form, "|"); len(words) > 1 {
		// The only error is a second registration.
		_ = cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// StateHelp is the help of a --state that selects.
const StateHelp = "only this `state`, several joined by commas, or a prefix: 'WARNING*'"

// DeviceFlags adds the flags that select devices, except --state.
func DeviceFlags(cmd *cobra.Command, q *client.DeviceQuery) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&q.Operator), "operator", "", "only devices with this `operator`")
	flags.StringVar((*string)(&q.EscalatedTo), "escalated-to", "",
		"only devices escalated to this `supervisor`")
	flags.BoolFunc("silent", "only devices that sent nothing for longer than the tenant's "+
		"silent_after; --silent=false: only the others", func(text string) error {
		is, err := strconv.ParseBool(text)
		q.Silent = &is
		return err
	})
	flags.StringVar(&q.Device, "device", "", "only this `device`, or a prefix: 'press*'")
}

// EntryArgs parses the three arguments that identify an entry.
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

// MetricsFlag adds --metrics to a command.
func MetricsFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVar(names, "metrics", nil,
		"only these `names`; in CSV each is a column of its own")
}

// MetricArgs parses names of metrics.
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

// OptionalFlag adds a flag whose value unmarshals itself; without the flag, into stays nil. help
// has the name of the value in backquotes.
func OptionalFlag[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](
	cmd *cobra.Command, into **T, name, help string,
) {
	cmd.Flags().Func(name, help, func(text string) error {
		*into = new(T)
		return P(*into).UnmarshalText([]byte(text))
	})
}
