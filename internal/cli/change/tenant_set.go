package change

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

type tenantChange struct {
	client.TenantChange
	dryRun, yes bool
	form        *command.Choice
	done        string // what became of the tenant
}

func tenantSet(p *command.Program) *cobra.Command {
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
	t := p.NewServer(cmd)
	change.flags(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		if change.States != nil { // with defaults for what was left out
			set, err := andon.NewStateSet(change.States)
			if err != nil {
				return fmt.Errorf("the set of states: %w", err)
			}
			change.States = set.Defs()
		}
		is, err := c.Tenant(ctx, andon.TenantID(args[0]))
		var lost []string
		switch {
		case command.IsStatus(err, http.StatusNotFound):
			is = client.TenantOf(new(andon.NewTenant(andon.TenantID(args[0]))))
			change.done = "was created"
			if change.dryRun {
				fmt.Fprintf(p.Stderr, "Tenant %s would be created.\n", draw.Legible(args[0]))
			}
		case err != nil:
			return err
		default:
			change.done = "was changed"
			lost = losses(p.Now(), is, change.TenantChange)
		}
		if change.dryRun {
			return change.show(p, is, lost)
		}
		if len(lost) > 0 && !change.yes {
			err := p.Confirm(ctx, args[0], fmt.Sprintf("The shorter retention deletes of tenant "+
				"%s, at once and for good:\n  %s", draw.Legible(args[0]),
				strings.Join(lost, "\n  ")))
			if err != nil {
				return err
			}
		}
		return change.set(ctx, p, c, andon.TenantID(args[0]))
	})
}

func (tc *tenantChange) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	command.OptionalFlag(cmd, &tc.Retention.Events, "events-retention",
		"how long events are kept: a `duration` such as 90d, or forever")
	command.OptionalFlag(cmd, &tc.Retention.Readings, "readings-retention",
		"the same `duration` for readings, after their own time")
	command.OptionalFlag(cmd, &tc.MaxFuture, "max-future",
		"how far ahead of the clock a time may be: a `duration` such as 10m")
	command.OptionalFlag(cmd, &tc.SilentAfter, "silent-after",
		"how long a device may send nothing: a `duration` such as 15m")
	command.OptionalFlag(cmd, &tc.LongestShelf, "longest-shelf",
		"for how long an incident may be shelved at once: a `duration` such as 24h")
	command.OptionalFlag(cmd, &tc.UnknownStates, "unknown-states",
		"`refuse|accept`: what to do with events of other states")
	flags.Func("state", "a `state` of the set, NAME=SEVERITY, and letter, colour and symbol "+
		"joined by commas; repeat for more", func(text string) error {
		d, err := parseState(text)
		tc.States = append(tc.States, d)
		return err
	})
	command.ParsedFlag(cmd, &tc.States, "states", "`file` with the set as JSON", readStates)
	flags.BoolVar(&tc.dryRun, "dry-run", false, "only print what would be changed and deleted")
	flags.BoolVar(&tc.yes, "yes", false, "do not ask before a shorter retention deletes entries")
	tc.form = command.ReportFlag(cmd, command.FormatCSV)
	cmd.MarkFlagsMutuallyExclusive("state", "states")
}

func (tc *tenantChange) set(
	ctx context.Context, p *command.Program, c *client.Client, id andon.TenantID,
) error {
	t, err := c.PutTenant(ctx, id, tc.TenantChange)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "Tenant %s %s.\n", draw.Legible(string(id)), tc.done)
	if t.Reordering {
		fmt.Fprintln(p.Stderr, "Devices are still being sorted by the new severities: "+
			"lists may lag until the tenant no longer says \"reordering\" (-o json).")
	}
	return command.ShowOne(p, &command.Output{Format: tc.form}, tenantColumns(), t)
}

// parseState parses a state of a set: NAME=SEVERITY[,letter,colour,symbol].
func parseState(text string) (d andon.StateDef, err error) {
	parts := strings.Split(text, ",") // no name of a state holds a comma
	equals := strings.LastIndexByte(parts[0], '=')
	if equals < 0 || len(parts) > 4 {
		return d, errors.New("it is not of the form NAME=SEVERITY[,letter,colour,symbol]")
	}
	severity, err := strconv.ParseUint(parts[0][equals+1:], 10, 8)
	if err != nil {
		return d, errors.New("the severity is not a number from 0 to 255")
	}
	d.Name, d.Severity = andon.State(parts[0][:equals]), uint8(severity)
	for i, field := range []*string{&d.Letter, &d.Colour, &d.Symbol} {
		if i+1 < len(parts) {
			*field = parts[i+1]
		}
	}
	return d, nil
}

func readStates(path string) (defs []andon.StateDef, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	decoder := json.NewDecoder(f)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&defs); err != nil {
		return nil, fmt.Errorf("%w\nIt must be an array: "+
			"[{\"name\":\"NORMAL\",\"severity\":0}, …]", err)
	}
	return defs, nil
}

// losses says what a change of the retention deletes of a tenant.
func losses(now andon.Time, is client.Tenant, change client.TenantChange) (all []string) {
	for _, r := range []struct {
		kind       string
		is, wanted *andon.Retention
	}{
		{"events", &is.Retention.Events, change.Retention.Events},
		{"readings", &is.Retention.Readings, change.Retention.Readings},
	} {
		if r.wanted != nil && shorter(*r.wanted, *r.is) {
			all = append(all, fmt.Sprintf("%s before %s", r.kind, now-andon.Time(*r.wanted)))
		}
	}
	return all
}

// shorter reports whether a retention keeps less than another; forever keeps the most.
func shorter(a, b andon.Retention) bool {
	return a != andon.Forever && (b == andon.Forever || cmp.Less(a, b))
}

func (tc *tenantChange) show(p *command.Program, t client.Tenant, losses []string) error {
	set(&t.Retention.Events, tc.Retention.Events)
	set(&t.Retention.Readings, tc.Retention.Readings)
	set(&t.MaxFuture, tc.MaxFuture)
	set(&t.SilentAfter, tc.SilentAfter)
	set(&t.LongestShelf, tc.LongestShelf)
	set(&t.UnknownStates, tc.UnknownStates)
	if tc.States != nil {
		t.States = tc.States
	}
	for _, l := range losses {
		fmt.Fprintf(p.Stderr, "It would delete %s.\n", l)
	}
	return command.ShowOne(p, &command.Output{Format: tc.form}, tenantColumns(), t)
}

func set[T any](field *T, wanted *T) {
	if wanted != nil {
		*field = *wanted
	}
}
