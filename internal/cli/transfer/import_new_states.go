package transfer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/spell"
)

// What --new-states takes beside a severity.
const (
	refuseStates = "refuse"
	allowStates  = "allow"
)

// decideStates decides, before anything is sent, about the states of the files that the tenant does
// not know: as --new-states says; else a person at a terminal is asked, and a program is refused.
// Where nothing is to be sent, it says what would be decided, and refusal is the error with which
// the import would end. Standard input can be read only once: its states are kept, or their rows
// are refused.
func decideStates(
	ctx context.Context, p *command.Program, o importOptions, files []string,
) (refusal, err error) {
	severity, err := parseNewStates(o.newStates)
	isArchive := func(file string) bool { return isArchive(p, file) } // that brings its states
	files = slices.DeleteFunc(slices.Clone(files), isArchive)
	switch {
	case err != nil || len(files) == 0 || o.kind() == kindReadings:
		return nil, err
	case slices.Contains(files, "-") && severity != nil:
		return nil, andon.Errorf(andon.Invalid, "standard input is read only once, so its states "+
			"can't be added to the set beforehand\nImport a file, or name the set first: "+
			"andon tenant set %s --state NAME=%d ...", o.Tenant, *severity)
	case slices.Contains(files, "-"), o.newStates == allowStates:
		return nil, nil // what was kept is told at the end
	}
	err = o.Ask(ctx, func(c *client.Client) error {
		tenant, err := c.Tenant(ctx, andon.TenantID(o.Tenant))
		if err != nil {
			return err
		}
		states, err := statesOf(ctx, p, o, files, tenant.States)
		if err != nil || len(states) == 0 {
			return err
		}
		if o.dryRun {
			refusal = foretell(p, o, &tenant, states)
			return nil
		}
		if o.newStates == "" {
			if severity, err = askAboutStates(ctx, p, o, &tenant, states); err != nil {
				return err
			}
		} else if o.newStates == refuseStates {
			return refusedStates(o, &tenant, states)
		}
		if severity == nil {
			return nil
		}
		for _, name := range states {
			def := andon.StateDef{Name: name, Severity: *severity}
			tenant.States = append(tenant.States, def)
		}
		_, err = c.PutTenant(ctx, tenant.Tenant, client.TenantChange{
			States: tenant.States, UnknownStates: &tenant.UnknownStates,
		})
		return err
	})
	return refusal, err
}

// foretell says what an import would do about states that the tenant does not know, or returns the
// error with which it would end.
func foretell(
	p *command.Program, o importOptions, t *client.Tenant, states []andon.State,
) error {
	would := "asks for their severity before it sends anything"
	switch {
	case o.newStates == refuseStates, o.newStates == "" && !asks(p):
		return refusedStates(o, t, states)
	case o.newStates != "":
		would = "adds them to the set with severity " + o.newStates
	}
	fmt.Fprintf(p.Stderr, "%s\nThe import %s\n", unknownStates(o, t, states), would)
	return nil
}

// asks reports whether there is a person at a terminal.
func asks(p *command.Program) bool {
	in, ok := p.Stdin.(io.Writer)
	return ok && draw.IsTerminal(in)
}

// parseNewStates reads --new-states; severity is nil where it names none.
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

// statesOf returns the states of the files that are not in a set. It reads the files once more.
func statesOf(
	ctx context.Context, p *command.Program, o importOptions, files []string, set []andon.StateDef,
) ([]andon.State, error) {
	var strange strangeStates
	strange.learn(set)
	quiet := *p
	quiet.Stderr = io.Discard
	for _, o.file = range files {
		s, err := openSource(&quiet, o)
		if err != nil {
			return nil, err
		}
		for item, err := range s.events {
			if ctx.Err() != nil {
				break
			}
			if state := item.Value.State; err == nil && state != "" {
				strange.add(state)
			}
		}
		s.progress.End()
		s.Close()
	}
	return strange.all(), ctx.Err()
}

func refusedStates(o importOptions, t *client.Tenant, states []andon.State) error {
	keep := fmt.Sprintf("--new-states %s to keep them with severity %d, ", allowStates,
		andon.UnknownSeverity)
	if t.UnknownStates == andon.RefuseUnknown {
		keep = ""
	}
	return andon.Errorf(andon.Invalid, "%s\nNothing was sent. Say %s--new-states SEVERITY to add "+
		"them to the set,\nor name the set first: andon tenant set %s --state NAME=SEVERITY ...",
		unknownStates(o, t, states), keep, o.Tenant)
}

func unknownStates(o importOptions, t *client.Tenant, states []andon.State) string {
	var known, named []string
	for _, d := range t.States {
		known = append(known, string(d.Name))
	}
	for _, state := range states {
		named = append(named, string(state)+spell.DidYouMean(string(state), known))
	}
	return fmt.Sprintf("tenant %s does not know %s: %s", o.Tenant,
		draw.GroupedCount(len(states), "state"), command.Few(named, 2*shownStrange))
}

// askAboutStates asks a person; elsewhere it refuses.
func askAboutStates(
	ctx context.Context, p *command.Program, o importOptions, t *client.Tenant,
	states []andon.State,
) (*uint8, error) {
	if !asks(p) {
		return nil, refusedStates(o, t, states)
	}
	enter := fmt.Sprintf("enter for %d outside the set", andon.UnknownSeverity)
	if t.UnknownStates == andon.RefuseUnknown {
		enter = "enter to have them rejected"
	}
	fmt.Fprintf(p.Stderr, "%s\nTheir severity (0 is normal), %s, or Ctrl-C: ",
		unknownStates(o, t, states), enter)
	answer, err := p.ReadLine(ctx)
	if err != nil || answer == "" {
		return nil, err
	}
	return parseNewStates(answer)
}
