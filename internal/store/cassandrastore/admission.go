package cassandrastore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// admission knows which states each tenant has had, as far as this process has read, and those that
// it admitted itself.
type admission struct {
	mu      sync.Mutex
	tenants map[string]*admitted // by the tenant's key
}

type admitted struct {
	states map[andon.State]bool
	read   time.Time
}

// of returns what is known of a tenant. The caller holds a.mu.
func (a *admission) of(key string) *admitted {
	if a.tenants == nil {
		a.tenants = map[string]*admitted{}
	}
	t := a.tenants[key]
	if t == nil {
		t = &admitted{states: map[andon.State]bool{}}
		a.tenants[key] = t
	}
	return t
}

// AdmitStates is of andon.Tenants. Other processes are read before one is admitted that is new to
// this one, but what several admit at the same moment may be more than the limit together.
func (s *Store) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	s.admission.mu.Lock()
	defer s.admission.mu.Unlock()
	a := s.admission.of(t.key)
	isNew := func(state andon.State) bool { return !a.states[state] }
	if !slices.ContainsFunc(states, isNew) {
		return nil, nil
	}
	// Where the limit is reached ever new states would else read ever again.
	if s.now().Sub(a.read).Abs() >= every {
		seen, err := s.seenStates(ctx, t.key)
		if err != nil {
			return nil, err
		}
		for _, state := range seen {
			a.states[state] = true
		}
		a.read = s.now()
	}
	return t.record.States.Admit(states, a.states, most), nil
}
