package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func (p *program) tenantCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "tenant",
		Short: "List, make, change and delete tenants",
		Long: `List, make, change and delete tenants. A tenant owns devices and people; its
settings say how long history is kept, how far ahead a clock may be, when a device counts as
silent, and which states there are. The tenant default always exists.`,
		Example: `  andon tenant list
  andon tenant set metro --events-retention 90d --silent-after 10m
  andon tenant delete metro`,
	})
	cmd.AddCommand(p.tenantList(), p.tenantSet(), p.tenantDelete())
	return cmd
}

func (p *program) tenantList() *cobra.Command {
	t := p.newTarget()
	o := output{all: true}
	cmd := &cobra.Command{
		Use:   "list [TENANT...]",
		Short: "List tenants with their settings: all of them, or those named",
		Example: `  andon tenant list
  andon tenant list metro --output json`,
	}
	cmd.Flags().SortFlags = false
	t.serverFlags(cmd)
	o.formatFlag(cmd)
	cmd.RunE = p.does(func(ctx context.Context, args []string) error {
		if err := o.settle(p); err != nil {
			return err
		}
		return t.ask(ctx, func(c *client.Client) error {
			if len(args) == 0 {
				return show(p, &o, tenantColumns(), c.Tenants(ctx))
			}
			named, err := tenantsNamed(ctx, c, args)
			if err != nil {
				return err
			}
			return show(p, &o, tenantColumns(), each(named))
		})
	})
	return cmd
}

func tenantsNamed(
	ctx context.Context, c *client.Client, args []string,
) (named []client.Tenant, err error) {
	for _, arg := range args {
		id, err := tenantArg(arg)
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

func tenantArg(text string) (andon.TenantID, error) {
	id := andon.TenantID(text)
	return id, misnamed("", id.Validate())
}

func tenantColumns() []column[client.Tenant] {
	type tenant = client.Tenant
	return []column[tenant]{
		textColumn("tenant", func(t *tenant) string { return string(t.Tenant) }),
		textColumn("events", func(t *tenant) string { return t.Retention.Events.String() }),
		textColumn("readings", func(t *tenant) string { return t.Retention.Readings.String() }),
		textColumn("max_future", func(t *tenant) string { return t.MaxFuture.String() }),
		textColumn("silent_after", func(t *tenant) string { return t.SilentAfter.String() }),
		{
			name: "states",
			text: func(t *tenant) string { return statesText(t.States) },
			cell: func(_ looks, t *tenant) cell { return cell{text: statesShown(t.States)} },
		},
	}
}

// statesText is a set of states as JSON.
func statesText(defs []andon.StateDef) string {
	text, err := json.Marshal(defs)
	if err != nil {
		return ""
	}
	return string(text)
}

// statesShown is a set of states as --state takes it.
func statesShown(defs []andon.StateDef) string {
	parts := make([]string, len(defs))
	for i, d := range defs {
		parts[i] = legible(string(d.Name)) + "=" + strconv.Itoa(int(d.Severity))
	}
	return strings.Join(parts, " ")
}

func (p *program) tenantDelete() *cobra.Command {
	t := p.newTarget()
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with all that it has",
		Long: `Delete a tenant with all that it has: devices, history, readings, assignments. On a
terminal it asks first; elsewhere --yes must say that it is meant. The tenant default can't be
deleted.`,
		Example: `  andon tenant delete metro
  andon tenant delete metro --yes`,
	}
	cmd.Flags().SortFlags = false
	t.serverFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = p.does(func(ctx context.Context, args []string) error {
		id, err := tenantArg(args[0])
		if err != nil {
			return err
		}
		return t.ask(ctx, func(c *client.Client) error { return p.deleteTenant(ctx, c, id, yes) })
	})
	return cmd
}

func (p *program) deleteTenant(
	ctx context.Context, c *client.Client, id andon.TenantID, yes bool,
) error {
	if _, err := c.Tenant(ctx, id); err != nil { // before a person is asked about it
		return err
	}
	if !yes {
		if err := p.confirm(ctx, "tenant", string(id)); err != nil {
			return err
		}
	}
	if err := c.DeleteTenant(ctx, id); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "tenant %s is deleted\n", legible(string(id)))
	return err
}

// confirm asks whether something is to be deleted with all that it has.
func (p *program) confirm(ctx context.Context, what, name string) error {
	return p.confirmThat(ctx, name,
		fmt.Sprintf("This deletes %s %s with all that it has, for good.", what, legible(name)))
}

// confirmThat asks whether something that can't be undone is meant. To type a name takes more
// thought than a y.
func (p *program) confirmThat(ctx context.Context, name, what string) error {
	in, ok := p.stdin.(io.Writer)
	if !ok || !isTerminal(in) {
		return andon.Errorf(andon.Invalid,
			"%s\nThat can't be undone, and there is no terminal to ask at: say --yes", what)
	}
	fmt.Fprintf(p.stderr, "%s\nType its name to confirm: ", what)
	answer, err := p.readLine(ctx)
	if err != nil {
		fmt.Fprintln(p.stderr)
		return err
	}
	if answer != name {
		return fmt.Errorf("%q is not its name: nothing was deleted", legible(answer))
	}
	return nil
}

// readLine reads a line of standard input. It does not wait for it when the context ends: a read
// from a terminal can't be called back, and ends with the program.
func (p *program) readLine(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(p.stdin).ReadString('\n')
		lines <- line{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-lines:
		if l.err == io.EOF {
			return l.text, nil
		}
		return l.text, l.err
	}
}
