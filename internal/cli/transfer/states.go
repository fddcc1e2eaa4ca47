package transfer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/spell"
)

const (
	keptStrange  = 1000 // a column that is no state at all must not fill the memory
	shownStrange = 10
)

// strangeStates are states that are not in the tenant's set. The zero value knows no set.
type strangeStates struct{ known, names map[andon.State]bool }

func strangeTo(set []andon.StateDef) strangeStates {
	s := strangeStates{map[andon.State]bool{}, map[andon.State]bool{}}
	for _, d := range set {
		s.known[d.Name] = true
	}
	return s
}

func (s *strangeStates) add(name andon.State) {
	if s.known != nil && !s.known[name] && !s.names[name] && len(s.names) < keptStrange {
		s.names[andon.State(strings.Clone(string(name)))] = true
	}
}

func (s *strangeStates) sorted() []andon.State { return slices.Sorted(maps.Keys(s.names)) }

// refuse makes events of states that are not in the set wrong rows.
func (s *strangeStates) refuse(entries placedEntries) placedEntries {
	return func(yield func(placed, error) bool) {
		for e, err := range entries {
			if err == nil && !s.known[e.Value.Event.State] {
				err = &table.RowError{Index: e.Index, Line: e.Line, Reason: "the tenant does not " +
					"know state " + ingest.Clip(string(e.Value.Event.State))}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// note says which states they are; nothing where there are none.
func (s *strangeStates) note(tenant string) string {
	names := s.sorted()
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) == keptStrange {
		more = " or more"
	}
	return fmt.Sprintf("%s%s not in the set of tenant %s, kept with severity %d: %s; "+
		"see andon tenant set --help\n", draw.Count(len(names), "state"), more, tenant,
		andon.UnknownSeverity, command.Few(names, shownStrange))
}

// What --new-states takes, other than a severity.
const (
	refuseStates = "refuse"
	allowStates  = "allow"
)

// parseNewStates reads --new-states. The severity is nil where it names none.
func parseNewStates(text string) (severity *uint8, err error) {
	if text == "" || text == refuseStates || text == allowStates {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "--new-states %s is none of %s, %s, or a severity "+
			"from 0 to 255", text, refuseStates, allowStates)
	}
	return new(uint8(n)), nil
}

// newStates are states of the files that the tenant does not know.
type newStates struct {
	*command.Program
	options *importOptions
	tenant  client.Tenant
	names   []andon.State
}

// decideStates decides about new states before anything is sent: as --new-states says; else a
// person at a terminal is asked, and a program is refused. In a dry run, refusal is the error with
// which the import would end. Standard input can be read only once, so its states are kept, or its
// rows refused.
func decideStates(
	ctx context.Context, p *command.Program, o importOptions, files []string,
) (refusal, err error) {
	severity, err := parseNewStates(o.newStates)
	isStdin := slices.Contains(files, "-")
	switch {
	case err != nil || o.kind() == kindReadings || len(files) == 0:
		return nil, err
	case isStdin && severity != nil:
		return nil, andon.Errorf(andon.Invalid, "standard input is read only once, so its states "+
			"can't be added to the set first\nImport a file, or name the set first: "+
			"andon tenant set %s --state NAME=%d ...", o.Tenant, *severity)
	case isStdin, o.newStates == allowStates:
		return nil, nil // the report says what was kept
	}
	err = o.Ask(ctx, func(c *client.Client) (err error) {
		n := newStates{Program: p, options: &o}
		if n.tenant, err = n.find(ctx, c, files); err != nil || len(n.names) == 0 {
			return err
		}
		switch {
		case o.newStates == refuseStates, severity == nil && !isPerson(p):
			err = n.refused()
		case o.dryRun && severity == nil:
			fmt.Fprintf(p.Stderr, "%s\nThe import asks for their severity before it sends "+
				"anything\n", n.text())
		case o.dryRun:
			fmt.Fprintf(p.Stderr, "%s\nThe import adds them to the set with severity %d\n",
				n.text(), *severity)
		default:
			return n.addToSet(ctx, c, severity)
		}
		if o.dryRun {
			refusal, err = err, nil
		}
		return err
	})
	return refusal, err
}

// isPerson reports whether there is a person at a terminal.
func isPerson(p *command.Program) bool {
	in, ok := p.Stdin.(io.Writer)
	return ok && draw.IsTerminal(in)
}

// find reads the files for states that are not in the tenant's set.
func (n *newStates) find(
	ctx context.Context, c *client.Client, files []string,
) (tenant client.Tenant, err error) {
	tenant, err = c.Tenant(ctx, andon.TenantID(n.options.Tenant))
	if err != nil {
		return tenant, err
	}
	strange := strangeTo(tenant.States)
	for _, n.options.file = range files {
		s, err := openQuietly(n.Program, *n.options)
		if err != nil {
			return tenant, err
		}
		for e, err := range s.entries {
			if ctx.Err() != nil {
				break
			}
			if err == nil && e.Value.Event.State != "" {
				strange.add(e.Value.Event.State)
			}
		}
		s.close()
	}
	n.names = strange.sorted()
	return tenant, ctx.Err()
}

// addToSet adds the states to the set. Without a severity it asks for one.
func (n *newStates) addToSet(ctx context.Context, c *client.Client, severity *uint8) error {
	if severity == nil {
		enter := fmt.Sprintf("enter for %d outside the set", andon.UnknownSeverity)
		if n.tenant.UnknownStates == andon.RefuseUnknown {
			enter = "enter to have them rejected"
		}
		fmt.Fprintf(n.Stderr, "%s\nTheir severity (0 is normal), %s, or Ctrl-C: ", n.text(), enter)
		answer, err := n.ReadLine(ctx)
		if err != nil {
			return err
		}
		if severity, err = parseNewStates(answer); severity == nil {
			return err
		}
	}
	for _, name := range n.names {
		n.tenant.States = append(n.tenant.States, andon.StateDef{Name: name, Severity: *severity})
	}
	_, err := c.PutTenant(ctx, n.tenant.Tenant, client.TenantChange{
		States: n.tenant.States, UnknownStates: &n.tenant.UnknownStates,
	})
	return err
}

func (n *newStates) refused() error {
	keep := fmt.Sprintf("--new-states %s to keep them with severity %d, ", allowStates,
		andon.UnknownSeverity)
	if n.tenant.UnknownStates == andon.RefuseUnknown {
		keep = ""
	}
	return andon.Errorf(andon.Invalid, "%s\nNothing was sent. Say %s--new-states SEVERITY to add "+
		"them to the set,\nor name the set first: andon tenant set %s --state NAME=SEVERITY ...",
		n.text(), keep, n.options.Tenant)
}

// text says which states the tenant does not know.
func (n *newStates) text() string {
	var known, named []string
	for _, d := range n.tenant.States {
		known = append(known, string(d.Name))
	}
	for _, state := range n.names {
		named = append(named, string(state)+spell.DidYouMean(string(state), known))
	}
	return fmt.Sprintf("tenant %s does not know %s: %s", n.options.Tenant,
		draw.GroupedCount(len(n.names), "state"), command.Few(named, shownStrange))
}
