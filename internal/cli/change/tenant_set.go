package change

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

// tenantChange has the flags of the command.
type tenantChange struct {
	client.TenantChange
	states      []string
	statesFile  string
	dryRun, yes bool
	form        *command.Choice
}

func tenantSet(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	var change tenantChange
	cmd := &cobra.Command{
		Use:   "set TENANT",
		Short: "Create a tenant, or change its settings",
		Long: `Create a tenant, or change the settings that flags name. A longer retention does not
bring back what has expired.

--state (repeated) or --states is the whole set of states: NAME=SEVERITY, where 0 is normal and
higher is worse, up to 255; then letter, colour (#rrggbb) and symbol, which are optional. A severity
may change at any time, and at least one state must be normal (0). Events of other states are
refused from then on, unless --unknown-states is accept; then they have severity 16. The file is
JSON:
  [{"name": "NORMAL", "severity": 0},
   {"name": "DOWN", "severity": 80, "colour": "#b71c1c"}]`,
		Example: `  andon tenant set metro
  andon tenant set metro --events-retention 90d --readings-retention forever
  andon tenant set metro --state OK=0 --state SLOW=32,S,#f9a825 --state DOWN=80,D,#b71c1c,x`,
	}
	t.ServerFlags(cmd)
	change.flags(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		id, err := command.TenantArg(args[0])
		if err != nil {
			return err
		}
		wanted, err := change.wanted(cmd)
		if err != nil {
			return err
		}
		return t.Ask(ctx, func(c *client.Client) error {
			is, err := c.Tenant(ctx, id)
			exists := err == nil
			if command.IsStatus(err, http.StatusNotFound) {
				is.Tenant, err = id, nil
			}
			var lost []string
			if exists {
				lost = losses(p.Now(), is, wanted)
			}
			if err == nil && change.dryRun {
				return showChange(p, is, exists, wanted, lost, change.form)
			}
			if err == nil && !change.yes {
				err = confirmLosses(ctx, p, id, lost)
			}
			if err != nil {
				return err
			}
			return setTenant(ctx, p, c, id, wanted, change.form)
		})
	})
	return cmd
}

func (tc *tenantChange) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	command.OptionalFlag(cmd, &tc.EventsRetention, "events-retention",
		"how long events are kept: a `duration` such as 90d, or forever")
	command.OptionalFlag(cmd, &tc.ReadingsRetention, "readings-retention",
		"the same `duration` for readings, after their own time")
	command.OptionalFlag(cmd, &tc.MaxFuture, "max-future",
		"how far ahead of the clock a time may be: a `duration` such as 10m")
	command.OptionalFlag(cmd, &tc.SilentAfter, "silent-after",
		"how long a device may send nothing: a `duration` such as 15m")
	command.OptionalFlag(cmd, &tc.UnknownStates, "unknown-states",
		"`refuse|accept`: what to do with events of other states")
	flags.StringArrayVar(&tc.states, "state", nil,
		"a `state` of the set, NAME=SEVERITY, and letter, colour and symbol joined by "+
			"commas; repeat for more")
	flags.StringVar(&tc.statesFile, "states", "", "`file` with the set as JSON")
	flags.BoolVar(&tc.dryRun, "dry-run", false, "only print what would be changed and deleted")
	flags.BoolVar(&tc.yes, "yes", false, "do not ask before a shorter retention deletes entries")
	tc.form = command.ReportFlag(cmd, command.FormatCSV)
	cmd.MarkFlagsMutuallyExclusive("state", "states")
}

// wanted is the change with the set of states that the flags name.
func (tc *tenantChange) wanted(cmd *cobra.Command) (w client.TenantChange, err error) {
	w = tc.TenantChange
	switch {
	case cmd.Flags().Changed("state"):
		w.States, err = parseStates(tc.states)
	case cmd.Flags().Changed("states"):
		w.States, err = readStates(tc.statesFile)
	}
	return w, err
}

func setTenant(
	ctx context.Context, p *command.Program, c *client.Client,
	id andon.TenantID, wanted client.TenantChange, form *command.Choice,
) error {
	t, err := c.PutTenant(ctx, id, wanted)
	if err != nil {
		return err
	}
	if t.Reordering {
		fmt.Fprintln(p.Stderr, "Devices are still being sorted by the new severities: "+
			"lists may lag until the tenant no longer says \"reordering\" (-o json).")
	}
	return command.ShowOne(p, &command.Output{Format: form}, tenantColumns(), t)
}

// parseStates parses a set of states, each NAME=SEVERITY[,letter,colour,symbol].
func parseStates(texts []string) ([]andon.StateDef, error) {
	var defs []andon.StateDef
	for _, text := range texts {
		d, err := parseState(text)
		if err != nil {
			return nil, err
		}
		defs = append(defs, d)
	}
	return checkedStates(defs)
}

func parseState(text string) (andon.StateDef, error) {
	parts := strings.Split(text, ",") // no name of a state holds a comma
	equals := strings.LastIndexByte(parts[0], '=')
	if equals < 0 || len(parts) > 4 {
		return andon.StateDef{}, andon.Errorf(andon.Invalid,
			"--state %q is not of the form NAME=SEVERITY[,letter,colour,symbol]", text)
	}
	severity, err := strconv.ParseUint(parts[0][equals+1:], 10, 8)
	if err != nil {
		return andon.StateDef{}, andon.Errorf(andon.Invalid,
			"--state %q: the severity is a number from 0 to 255", text)
	}
	d := andon.StateDef{Name: andon.State(parts[0][:equals]), Severity: uint8(severity)}
	for i, field := range []*string{&d.Letter, &d.Colour, &d.Symbol} {
		if i+1 < len(parts) {
			*field = parts[i+1]
		}
	}
	return d, nil
}

func readStates(path string) ([]andon.StateDef, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "read --states: %w", err)
	}
	defer f.Close()
	decoder := json.NewDecoder(f)
	decoder.DisallowUnknownFields()
	var defs []andon.StateDef
	if err := decoder.Decode(&defs); err != nil {
		return nil, andon.Errorf(andon.Invalid,
			"%s: %w\nIt must be an array: [{\"name\":\"NORMAL\",\"severity\":0}, …]", path, err)
	}
	return checkedStates(defs)
}

// checkedStates returns the set with defaults for what was left out.
func checkedStates(defs []andon.StateDef) ([]andon.StateDef, error) {
	set, err := andon.NewStateSet(defs)
	if err != nil {
		return nil, fmt.Errorf("the set of states: %w", err)
	}
	return set.Defs(), nil
}
