package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Tenant is a tenant with its settings.
type Tenant struct {
	Tenant      andon.TenantID `json:"tenant"`
	Retention   Retention      `json:"retention" doc:"how long entries are kept"`
	MaxFuture   andon.Duration `json:"max_future" doc:"how far ahead of the clock a time may be"`
	SilentAfter andon.Duration `json:"silent_after" doc:"how long a device may send nothing"`
	// LongestShelf is for how long an incident may be shelved at once; 0: a day.
	LongestShelf andon.Duration `json:"longest_shelf,omitempty" doc:"of incidents; 24h unless set"`
	// UnknownStates says what becomes of events whose state is not in States.
	UnknownStates andon.UnknownStates `json:"unknown_states" doc:"refuse or accept others"`
	States        []andon.StateDef    `json:"states" doc:"by severity, then by name"`
	// Reordering says that severities were changed, and that not all that is shown is by them yet.
	Reordering bool `json:"reordering,omitempty" doc:"not all is by the new severities yet"`
}

// TenantOf returns a tenant as it is answered.
func TenantOf(t *andon.Tenant) Tenant {
	return Tenant{
		Tenant:    t.ID,
		Retention: Retention{Events: t.Events, Readings: t.Readings},
		MaxFuture: t.MaxFuture, SilentAfter: t.SilentAfter, LongestShelf: t.LongestShelf,
		States: t.States.Defs(), UnknownStates: t.Unknown, Reordering: t.Reordering,
	}
}

// Retention is how long a tenant keeps what it has.
type Retention struct {
	Events   andon.Retention `json:"events" doc:"a duration, or forever"`
	Readings andon.Retention `json:"readings" doc:"a duration, or forever"`
}

// TenantChange is what PutTenant changes; what is nil stays as it is.
type TenantChange struct {
	Retention   RetentionChange `json:"retention"`
	MaxFuture   *andon.Duration `json:"max_future,omitempty"`
	SilentAfter *andon.Duration `json:"silent_after,omitempty"`
	// LongestShelf is for how long an incident may be shelved at once; 0: a day.
	LongestShelf *andon.Duration `json:"longest_shelf,omitempty"`
	// UnknownStates says what becomes of events whose state is not in the set. Where it is nil and
	// the tenant never said it, a tenant that declares States refuses them from then on.
	UnknownStates *andon.UnknownStates `json:"unknown_states,omitempty"`
	// States is the whole set. What a state leaves out follows from its severity. Where the
	// severity of a state that has entries changes, the answer comes once all that is shown is by
	// the new one, or Reordering where a shared store needs longer; an Error of status 409 where
	// the store can't do that.
	States []andon.StateDef `json:"states,omitempty"`
}

// RetentionChange is what PutTenant changes of a Retention.
type RetentionChange struct {
	Events   *andon.Retention `json:"events,omitempty"`
	Readings *andon.Retention `json:"readings,omitempty"`
}

// Tenants returns all tenants by id. Like the other requests about tenants it does not depend on
// the Client's own.
func (c *Client) Tenants(ctx context.Context) iter.Seq2[Tenant, error] {
	return list[Tenant](ctx, c, Query{}, "tenants")
}

// Tenant returns one tenant; an Error of status 404 when it does not exist.
func (c *Client) Tenant(ctx context.Context, id andon.TenantID) (Tenant, error) {
	return get[Tenant](ctx, c, "tenants", string(id))
}

// PutTenant makes a tenant or changes what is named of it, and returns it as it is now.
func (c *Client) PutTenant(
	ctx context.Context, id andon.TenantID, change TenantChange,
) (Tenant, error) {
	return submit[Tenant](ctx, c, http.MethodPut, change, "tenants", string(id))
}

// DeleteTenant deletes a tenant with all that it has. The default tenant can't be deleted: an Error
// of status 409; 404 when it does not exist, so an answer that is lost is not asked for again.
func (c *Client) DeleteTenant(ctx context.Context, id andon.TenantID) error {
	return c.do(ctx, request{
		method: http.MethodDelete, path: path("tenants", string(id)), once: true,
	}, nil)
}
