package transfer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/draw"
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

// learn takes the tenant's set.
func (s *strangeStates) learn(set []andon.StateDef) {
	s.known, s.names = map[andon.State]bool{}, map[andon.State]bool{}
	for _, d := range set {
		s.known[d.Name] = true
	}
}

// add takes the events of a request, of which some were rejected.
func (s *strangeStates) add(events []andon.Event, result client.Result) {
	rejected := map[int]bool{}
	for _, r := range result.Rejected {
		rejected[r.Index] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		name := events[i].State
		if !s.known[name] && !rejected[i] && len(s.names) < keptStrange {
			s.names[name] = true
		}
	}
}

// note says which states they are; nothing where there are none.
func (s *strangeStates) note(tenant string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := fmt.Sprintf("%d states are", len(s.names))
	switch len(s.names) {
	case 0:
		return ""
	case 1:
		number = "1 state is"
	case keptStrange:
		number = fmt.Sprintf("%d states or more are", keptStrange)
	}
	var shown []string
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if len(shown) == shownStrange {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, draw.Legible(string(name)))
	}
	has := "have"
	if len(s.names) == 1 {
		has = "has"
	}
	return fmt.Sprintf("%s not in tenant %s's set and %s severity %d: %s; "+
		"see andon tenant set --help\n",
		number, tenant, has, andon.UnknownSeverity, strings.Join(shown, ", "))
}
