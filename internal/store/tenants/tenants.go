// Package tenants stores the tenants of every store: as documents of andon.TenantKind in
// andon.Records that belong to no tenant. It knows no engine.
package tenants

import (
	"encoding/json"

	"github.com/andonhq/andon"
)

// document is what is stored. New fields work at their zero value.
type document struct {
	Events      andon.Retention  `json:"events"`
	Readings    andon.Retention  `json:"readings"`
	MaxFuture   andon.Duration   `json:"max_future"`
	SilentAfter andon.Duration   `json:"silent_after"`
	Shelf       andon.Duration   `json:"longest_shelf,omitempty"`
	States      []andon.StateDef `json:"states"`
	// Unknown is text, since an empty one is not the same as accept.
	Unknown    string          `json:"unknown_states,omitempty"`
	Floor      andon.Horizon   `json:"floor"`
	Reordering bool            `json:"reordering,omitempty"`
	Clock      andon.ClockMark `json:"clock,omitzero"`
	Own
}

// Own is what a store keeps next to the settings.
type Own struct {
	// Place is what the tenant's rows are found by, next to its id.
	Place uint32 `json:"place,omitempty"`
	// Generation counts how often states that had entries changed their severities, where what is
	// stored depends on that. Former are those that devices may still be found by.
	Generation int32        `json:"generation,omitempty"`
	Former     []Severities `json:"former,omitempty"`
	// LoggedFrom says where to look for the newest change of the record in a feed that several
	// processes write: from the number before it on. 0: the record has not changed.
	LoggedFrom uint64 `json:"logged_from,omitempty"`
	// Divided says in how many parts keys are that would otherwise be hot, by what they are of.
	Divided map[string]Divided `json:"divided,omitempty"`
}

// Divided is in how many parts readers look for what is of a key, and in how many writers put it.
// Writers follow once all readers do.
type Divided struct {
	Read  int `json:"read"`
	Write int `json:"write"`
}

// Severities are the states of a former generation.
type Severities struct {
	Generation int32            `json:"generation"`
	States     []andon.StateDef `json:"states"`
}

// Encode returns the document of a tenant.
func Encode(t *andon.Tenant, own Own) (andon.Record, error) {
	data, err := json.Marshal(document{
		Events: t.Events, Readings: t.Readings, MaxFuture: t.MaxFuture,
		SilentAfter: t.SilentAfter, Shelf: t.LongestShelf, States: t.States.Defs(),
		Unknown: string(t.Unknown), Floor: t.Floor,
		Reordering: t.Reordering, Clock: t.Clock, Own: own,
	})
	r := andon.Record{Kind: andon.TenantKind, ID: string(t.ID), Version: t.Version}
	r.Data = andon.JSON(data)
	return r, err
}

// Decode reads what Encode wrote.
func Decode(r andon.Record) (t andon.Tenant, own Own, err error) {
	var d document
	var states *andon.StateSet
	if err = json.Unmarshal([]byte(r.Data), &d); err == nil {
		states, err = andon.NewStateSet(d.States)
	}
	if err != nil {
		return t, own, andon.Errorf(andon.Damaged, "the record of tenant %q is damaged: %w",
			r.ID, err)
	}
	return andon.Tenant{
		ID: andon.TenantID(r.ID), Version: r.Version, Events: d.Events, Readings: d.Readings,
		MaxFuture: d.MaxFuture, SilentAfter: d.SilentAfter, LongestShelf: d.Shelf,
		States:  states,
		Unknown: andon.UnknownStates(d.Unknown), Floor: d.Floor,
		Reordering: d.Reordering, Clock: d.Clock,
	}, d.Own, nil
}
