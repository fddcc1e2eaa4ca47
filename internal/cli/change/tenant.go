// Package change has the commands that change one thing on a server: "send", "escalate",
// "withdraw", "retire", "tenant" and "sweep".
package change

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Tenant is "andon tenant".
func Tenant(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "tenant",
		Short: "List, create, change and delete tenants",
		Long: `List, create, change and delete tenants. A tenant owns devices and people. Its
settings say how long history is kept, how far ahead a clock may be, when a device counts as silent,
and which states there are. The tenant default always exists.`,
		Example: `  andon tenant list
  andon tenant set metro --events-retention 90d --silent-after 10m
  andon tenant delete metro`,
	}, tenantList(p), tenantSet(p), tenantDelete(p))
}

func tenantList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [TENANT...]",
		Short: "List tenants with their settings: all of them, or those named",
		Example: `  andon tenant list
  andon tenant list metro --output json`,
	}
	t := p.NewServer(cmd)
	o := p.NewOutput(cmd)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		tenants := c.Tenants(ctx)
		if len(args) > 0 {
			tenants = func(yield func(client.Tenant, error) bool) {
				for _, arg := range args {
					if t, err := c.Tenant(ctx, andon.TenantID(arg)); !yield(t, err) {
						return
					}
				}
			}
		}
		return command.Show(p, o, tenantColumns(), tenants)
	})
}

func tenantColumns() []command.Column[client.Tenant] {
	columns := command.Fields[client.Tenant]("tenant", "retention.events", "retention.readings",
		"max_future", "silent_after", "longest_shelf", "unknown_states", "states").
		OrElse("longest_shelf", andon.DefaultShelf.String())
	columns[len(columns)-1].Cell = func(_ command.Looks, t *client.Tenant) draw.Cell {
		return draw.Cell{Text: statesShown(t.States)}
	}
	return columns
}

// statesShown formats a set of states as --state takes it.
func statesShown(defs []andon.StateDef) string {
	parts := make([]string, len(defs))
	for i, d := range defs {
		parts[i] = draw.Legible(string(d.Name)) + "=" + strconv.Itoa(int(d.Severity))
	}
	return strings.Join(parts, " ")
}

func tenantDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with all its data",
		Long: `Delete a tenant with all its data: devices, history, readings, assignments. On a
terminal it asks first, elsewhere it needs --yes. The tenant default can't be deleted.`,
		Example: `  andon tenant delete metro
  andon tenant delete metro --yes`,
	}
	t := p.NewServer(cmd)
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	form := command.SentenceFlag(cmd, command.FormatText)
	return t.Asks(func(ctx context.Context, c *client.Client, args []string) error {
		id, name := andon.TenantID(args[0]), draw.Legible(args[0])
		_, err := c.Tenant(ctx, id) // before the user is asked
		if err == nil && !*yes {
			err = p.Confirm(ctx, args[0],
				"This deletes tenant "+name+" with all its data, for good.")
		}
		if err == nil {
			err = c.DeleteTenant(ctx, id)
		}
		if err != nil {
			return err
		}
		return p.Report(form, struct {
			Tenant  andon.TenantID `json:"tenant"`
			Deleted bool           `json:"deleted"`
		}{id, true}, "tenant %s is deleted", name)
	})
}
