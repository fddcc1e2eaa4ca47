package dynamostore

import (
	"context"

	"github.com/andonhq/andon"
)

// AdmitStates is of andon.Tenants.
func (s *Store) AdmitStates(
	ctx context.Context, id andon.TenantID, states []andon.State, most int,
) ([]andon.State, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	read := func() ([]andon.State, error) { return s.seenStates(ctx, t) }
	return s.admission.Admit(t.key, t.record.States, states, most, s.now(), every, read)
}
