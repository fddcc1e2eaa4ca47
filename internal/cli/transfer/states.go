package transfer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/spell"
)

// What --new-states takes, other than a severity.
const (
	refuseStates = "refuse"
	allowStates  = "allow"
)

// newStates is what --new-states says. The zero value refuses.
type newStates struct {
	text     string
	severity *uint8 // nil: they are not added
}

func parseNewStates(text string) (n newStates, err error) {
	n.text = text
	if text == refuseStates || text == allowStates {
		return n, nil
	}
	severity, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return n, andon.Errorf(andon.Invalid, "it is none of %s, %s, or a severity from 0 to 255",
			refuseStates, allowStates)
	}
	n.severity = new(uint8(severity))
	return n, nil
}

// decideStates decides about states of the files that the tenant does not know, before anything is
// sent: as --new-states says, or else they are refused. refusal is the error with which the import
// ends then.
func (im *importer) decideStates(ctx context.Context, files []string) (refusal, err error) {
	err = im.Ask(ctx, func(c *client.Client) error {
		tenant, err := c.Tenant(ctx, andon.TenantID(im.Tenant))
		if err != nil {
			return err
		}
		names, err := im.unknownStates(ctx, files, tenant.States)
		if err != nil || len(names) == 0 {
			return err
		}
		text, severity := unknownText(&tenant, names), im.newStates.severity
		keeps := tenant.UnknownStates != andon.RefuseUnknown
		switch {
		case severity == nil && !(keeps && im.newStates.text == allowStates):
			allow := ""
			if keeps {
				allow = fmt.Sprintf("--new-states %s to keep them with severity %d, ",
					allowStates, andon.UnknownSeverity)
			}
			refusal = andon.Errorf(andon.Invalid, "%s\nNothing was sent. Say %s--new-states "+
				"SEVERITY to add them to the set,\nor name the set first: "+
				"andon tenant set %s --state NAME=SEVERITY ...", text, allow, im.Tenant)
		case im.dryRun && severity == nil:
			fmt.Fprintf(im.Stderr, "%s\nThe import keeps them with severity %d\n", text,
				andon.UnknownSeverity)
		case im.dryRun:
			fmt.Fprintf(im.Stderr, "%s\nThe import adds them to the set with severity %d\n",
				text, *severity)
		case severity != nil:
			for _, name := range names {
				tenant.States = append(tenant.States,
					andon.StateDef{Name: name, Severity: *severity})
			}
			_, err = c.PutTenant(ctx, tenant.Tenant, client.TenantChange{
				States: tenant.States, UnknownStates: &tenant.UnknownStates,
			})
		}
		return err
	})
	return refusal, err
}

// unknownStates reads the files for states that are not in a set.
func (im *importer) unknownStates(
	ctx context.Context, files []string, set []andon.StateDef,
) ([]andon.State, error) {
	const most = 1000 // a column that is no state at all must not fill the memory
	known, unknown := map[andon.State]bool{}, map[andon.State]bool{}
	for _, d := range set {
		known[d.Name] = true
	}
	for _, name := range files {
		s, err := im.open(name, io.Discard)
		if err != nil {
			return nil, err
		}
		if s.states, err = andon.NewStateSet(set); err != nil {
			return nil, err
		}
		for e, err := range s.entries {
			if err != nil || ctx.Err() != nil {
				break // the import itself says so
			}
			event := e.Value.Event // nil: a model has readings, too
			if e.Bad == nil && event != nil && !known[event.State] && len(unknown) < most {
				unknown[event.State] = true
			}
		}
		s.close()
	}
	return slices.Sorted(maps.Keys(unknown)), ctx.Err()
}

// unknownText says which states the tenant does not know.
func unknownText(tenant *client.Tenant, names []andon.State) string {
	var known, named []string
	for _, d := range tenant.States {
		known = append(known, string(d.Name))
	}
	for _, state := range names {
		named = append(named, string(state)+spell.DidYouMean(string(state), known))
	}
	return fmt.Sprintf("tenant %s does not know %s: %s", tenant.Tenant,
		draw.Count(len(names), "state"), command.Few(named, shownStates))
}
