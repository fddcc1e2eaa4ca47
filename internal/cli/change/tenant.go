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
	cmd := command.Group(&cobra.Command{
		Use:   "tenant",
		Short: "List, create, change and delete tenants",
		Long: `List, create, change and delete tenants. A tenant owns devices and people. Its
settings say how long history is kept, how far ahead a clock may be, when a device counts as silent,
and which states there are. The tenant default always exists.`,
		Example: `  andon tenant list
  andon tenant set metro --events-retention 90d --silent-after 10m
  andon tenant delete metro`,
	})
	cmd.AddCommand(tenantList(p), tenantSet(p), tenantDelete(p))
	return cmd
}

func tenantList(p *command.Program) *cobra.Command {
	t := p.NewTarget()
	o := command.Output{All: true}
	cmd := &cobra.Command{
		Use:   "list [TENANT...]",
		Short: "List tenants with their settings: all of them, or those named",
		Example: `  andon tenant list
  andon tenant list metro --output json`,
	}
	t.ServerFlags(cmd)
	o.FormatFlag(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		if err := o.Complete(p); err != nil {
			return err
		}
		return t.Ask(ctx, func(c *client.Client) error {
			if len(args) == 0 {
				return command.Show(p, &o, tenantColumns(), c.Tenants(ctx))
			}
			named, err := tenantsNamed(ctx, c, args)
			if err != nil {
				return err
			}
			return command.Show(p, &o, tenantColumns(), command.Each(named))
		})
	})
	return cmd
}

func tenantsNamed(
	ctx context.Context, c *client.Client, args []string,
) (named []client.Tenant, err error) {
	for _, arg := range args {
		id, err := command.TenantArg(arg)
		if err != nil {
			return nil, err
		}
		t, err := c.Tenant(ctx, id)
		if err != nil {
			return nil, err
		}
		named = append(named, t)
	}
	return named, nil
}

func tenantColumns() []command.Column[client.Tenant] {
	columns := command.Fields[client.Tenant]("tenant", "retention.events", "retention.readings",
		"max_future", "silent_after", "unknown_states", "states")
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
	t := p.NewTarget()
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with all its data",
		Long: `Delete a tenant with all its data: devices, history, readings, assignments. On a
terminal it asks first, elsewhere it needs --yes. The tenant default can't be deleted.`,
		Example: `  andon tenant delete metro
  andon tenant delete metro --yes`,
	}
	t.ServerFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	form := command.SentenceFlag(cmd, command.FormatText)
	cmd.RunE = p.Does(func(ctx context.Context, args []string) error {
		id, err := command.TenantArg(args[0])
		if err != nil {
			return err
		}
		return t.Ask(ctx, func(c *client.Client) error {
			return deleteTenant(ctx, p, c, id, yes, form)
		})
	})
	return cmd
}

func deleteTenant(
	ctx context.Context, p *command.Program, c *client.Client, id andon.TenantID, yes bool,
	form *command.Choice,
) error {
	if _, err := c.Tenant(ctx, id); err != nil { // before the user is asked
		return err
	}
	if !yes {
		if err := p.Confirm(ctx, string(id), "This deletes tenant "+
			draw.Legible(string(id))+" with all its data, for good."); err != nil {
			return err
		}
	}
	if err := c.DeleteTenant(ctx, id); err != nil {
		return err
	}
	return p.Report(form, struct {
		Tenant  andon.TenantID `json:"tenant"`
		Deleted bool           `json:"deleted"`
	}{id, true}, "tenant %s is deleted", draw.Legible(string(id)))
}
