// Package sent has the bodies that change a tenant or restore what people did: what each may name,
// and what it means in the domain.
//
// The package knows no route and no store.
package sent

import (
	"cmp"

	"github.com/andonhq/andon"
)

// TenantBody is what a PUT names; what is nil stays as it is.
type TenantBody struct {
	Tenant      andon.TenantID       `json:"tenant,omitempty" doc:"if it is sent, that of the path"`
	Retention   *RetentionBody       `json:"retention,omitempty"`
	MaxFuture   *andon.Duration      `json:"max_future,omitempty"`
	SilentAfter *andon.Duration      `json:"silent_after,omitempty"`
	Shelf       *andon.Duration      `json:"longest_shelf,omitempty" doc:"24h unless set"`
	States      []StateBody          `json:"states,omitempty"`
	Unknown     *andon.UnknownStates `json:"unknown_states,omitempty" doc:"accept or refuse others"`
	// What was read can be sent back.
	Reordering bool `json:"reordering,omitempty" doc:"only said by answers"`
}

// RetentionBody names how long events and readings are kept.
type RetentionBody struct {
	Events   *andon.Retention `json:"events,omitempty"`
	Readings *andon.Retention `json:"readings,omitempty"`
}

// StateBody is a state of a set. What is left out follows from the severity.
type StateBody struct {
	Name     andon.State `json:"name"`
	Severity uint8       `json:"severity" doc:"0 is normal; higher is worse"`
	Letter   string      `json:"letter,omitempty"`
	Colour   string      `json:"colour,omitempty" doc:"#rrggbb"`
	Symbol   string      `json:"symbol,omitempty"`
	Reset    bool        `json:"reset,omitempty" doc:"its incidents stay until they are reset"`
}

// Apply changes the settings that the body names.
func (b *TenantBody) Apply(t *andon.Tenant) error {
	if b.Retention != nil {
		replace(&t.Events, b.Retention.Events)
		replace(&t.Readings, b.Retention.Readings)
	}
	replace(&t.MaxFuture, b.MaxFuture)
	replace(&t.SilentAfter, b.SilentAfter)
	replace(&t.LongestShelf, b.Shelf)
	replace(&t.Unknown, b.Unknown)
	if b.States == nil {
		return nil
	}
	defs := make([]andon.StateDef, len(b.States))
	for i, s := range b.States {
		defs[i] = andon.StateDef(s)
	}
	set, err := andon.NewStateSet(defs)
	if err != nil {
		return err
	}
	t.States = set
	t.Unknown = cmp.Or(t.Unknown, andon.RefuseUnknown)
	return nil
}

func replace[T any](setting *T, with *T) {
	if with != nil {
		*setting = *with
	}
}
