package transfer

import (
	"context"
	"fmt"
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

// decideStates decides about states of the files that the tenant does not know, before anything is
// sent: as --new-states says, or else they are refused. In a dry run, refusal is the error with
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
	err = o.Ask(ctx, func(c *client.Client) error {
		tenant, err := c.Tenant(ctx, andon.TenantID(o.Tenant))
		if err != nil {
			return err
		}
		names, err := newStates(ctx, p, o, files, tenant.States)
		if err != nil || len(names) == 0 {
			return err
		}
		text := newStatesText(&o, names, tenant.States)
		switch {
		case severity == nil && o.dryRun:
			refusal = refused(&o, text, tenant.UnknownStates)
			return nil
		case severity == nil:
			return refused(&o, text, tenant.UnknownStates)
		case o.dryRun:
			_, err = fmt.Fprintf(p.Stderr,
				"%s\nThe import adds them to the set with severity %d\n", text, *severity)
			return err
		}
		for _, name := range names {
			tenant.States = append(tenant.States, andon.StateDef{Name: name, Severity: *severity})
		}
		_, err = c.PutTenant(ctx, tenant.Tenant, client.TenantChange{
			States: tenant.States, UnknownStates: &tenant.UnknownStates,
		})
		return err
	})
	return refusal, err
}

// newStates reads the files for states that are not in a set.
func newStates(
	ctx context.Context, p *command.Program, o importOptions, files []string, set []andon.StateDef,
) ([]andon.State, error) {
	strange := strangeTo(set)
	for _, o.file = range files {
		s, err := openQuietly(p, o)
		if err != nil {
			return nil, err
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
	return strange.sorted(), ctx.Err()
}

func refused(o *importOptions, text string, unknown andon.UnknownStates) error {
	keep := fmt.Sprintf("--new-states %s to keep them with severity %d, ", allowStates,
		andon.UnknownSeverity)
	if unknown == andon.RefuseUnknown {
		keep = ""
	}
	return andon.Errorf(andon.Invalid, "%s\nNothing was sent. Say %s--new-states SEVERITY to add "+
		"them to the set,\nor name the set first: andon tenant set %s --state NAME=SEVERITY ...",
		text, keep, o.Tenant)
}

// newStatesText says which states the tenant does not know.
func newStatesText(o *importOptions, names []andon.State, set []andon.StateDef) string {
	var known, named []string
	for _, d := range set {
		known = append(known, string(d.Name))
	}
	for _, state := range names {
		named = append(named, string(state)+spell.DidYouMean(string(state), known))
	}
	return fmt.Sprintf("tenant %s does not know %s: %s", o.Tenant,
		draw.Count(len(names), "state"), command.Few(named, shownStrange))
}
