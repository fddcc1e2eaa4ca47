package shared

import (
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// Admission knows which states each tenant has had, as far as this process has read, and those that
// it admitted itself. The zero value works.
type Admission struct {
	mu      sync.Mutex
	tenants map[string]*admitted // by the tenant's key
}

type admitted struct {
	states map[andon.State]bool
	read   time.Time
}

// Admit returns those of states that a tenant may not have in addition to those it has had. most is
// how many it may have outside its set. read returns those it has had. It is called before a state
// is admitted that is new to this process, but at most once in the given time: once the limit is
// reached, each new state would otherwise read again. What several processes admit at the same
// moment may be more than the limit together.
func (a *Admission) Admit(
	key string, set *andon.StateSet, states []andon.State, most int,
	now time.Time, every time.Duration, read func() ([]andon.State, error),
) ([]andon.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tenants == nil {
		a.tenants = map[string]*admitted{}
	}
	t := a.tenants[key]
	if t == nil {
		t = &admitted{states: map[andon.State]bool{}}
		a.tenants[key] = t
	}
	if !slices.ContainsFunc(states, func(s andon.State) bool { return !t.states[s] }) {
		return nil, nil
	}
	if now.Sub(t.read).Abs() >= every {
		seen, err := read()
		if err != nil {
			return nil, err
		}
		for _, state := range seen {
			t.states[state] = true
		}
		t.read = now
	}
	return set.Admit(states, t.states, most), nil
}
