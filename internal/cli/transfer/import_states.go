package transfer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
)

const (
	keptStrange  = 1000 // a column that is no state at all must not fill the memory
	shownStrange = 5
)

// strangeStates are states that were imported and are not in the tenant's set. The zero value knows
// no set yet.
type strangeStates struct {
	known map[andon.State]bool

	mu    sync.Mutex
	names map[andon.State]bool
}

func (s *strangeStates) learn(set []andon.StateDef) {
	s.known, s.names = map[andon.State]bool{}, map[andon.State]bool{}
	for _, d := range set {
		s.known[d.Name] = true
	}
}

// addAll takes the events of a request, of which some were rejected.
func (s *strangeStates) addAll(events []andon.Event, result client.Result) {
	rejected := map[int]bool{}
	for _, r := range result.Rejected {
		rejected[r.Index] = true
	}
	for i := range events {
		if !rejected[i] {
			s.add(events[i].State)
		}
	}
}

func (s *strangeStates) add(name andon.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[name] && !s.names[name] && len(s.names) < keptStrange {
		s.names[andon.State(strings.Clone(string(name)))] = true
	}
}

// refuse makes events of states that are not in the set wrong rows.
func (s *strangeStates) refuse(events table.Entries[andon.Event]) table.Entries[andon.Event] {
	return func(yield func(ingest.Item[andon.Event], error) bool) {
		for item, err := range events {
			if state := item.Value.State; err == nil && !s.known[state] {
				err = rowError(item, "the tenant does not know state "+ingest.Clip(string(state)))
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (s *strangeStates) all() []andon.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.names))
}

// note says which states they are; nothing where there are none.
func (s *strangeStates) note(tenant string) string {
	names := s.all()
	number, has := fmt.Sprintf("%d states are", len(names)), "have"
	switch len(names) {
	case 0:
		return ""
	case 1:
		number, has = "1 state is", "has"
	case keptStrange:
		number = fmt.Sprintf("%d states or more are", keptStrange)
	}
	return fmt.Sprintf("%s not in tenant %s's set and %s severity %d: %s; "+
		"see andon tenant set --help\n",
		number, tenant, has, andon.UnknownSeverity, command.Few(names, shownStrange))
}
