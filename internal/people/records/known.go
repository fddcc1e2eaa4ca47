package records

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/rules"
)

// Known is all documents of a tenant.
type Known = people.Known

// known is what was read of a tenant, and when.
type known struct {
	Known
	at     andon.Time
	stored map[key]stored
}

type key struct {
	kind people.DocumentKind
	name string
}

func (k key) compare(to key) int {
	if k.kind != to.kind {
		return cmp.Compare(k.kind, to.kind)
	}
	return cmp.Compare(k.name, to.name)
}

type stored struct {
	Document
	content people.Content
}

// Known returns all documents of a tenant, at most a second old.
func (d *Documents) Known(ctx context.Context, id andon.TenantID) (*Known, error) {
	t, err := d.store.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	k, err := d.kept.Get(ctx, id, t.Version, func(ctx context.Context, _ *known) (*known, error) {
		return d.read(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return &k.Known, nil
}

// read reads all documents of a tenant. One that can't be decoded is Damaged: nobody must believe
// that it is not there.
func (d *Documents) read(ctx context.Context, id andon.TenantID) (*known, error) {
	k := &known{at: d.now(), stored: map[key]stored{}}
	k.Schedules, k.Rosters = map[string]*people.Schedule{}, map[string]*people.Roster{}
	k.Begun = map[string]andon.Time{}
	k.People = map[andon.PersonID]*people.Person{}
	for _, kind := range people.Kinds() {
		for n, after := andon.MaxLimit, ""; n == andon.MaxLimit; {
			n = 0
			for doc, err := range d.List(ctx, id, kind, after, andon.MaxLimit) {
				if err == nil {
					err = k.add(kind, doc)
				}
				if err != nil {
					return nil, err
				}
				after, n = doc.Name, n+1
			}
		}
	}
	return k, nil
}

// add decodes a document. It was checked when it was put.
func (k *known) add(kind people.DocumentKind, doc Document) (err error) {
	var content people.Content
	switch kind {
	case people.Policies:
		p := people.Policy{}
		err, content = json.Unmarshal([]byte(doc.Data), &p), &p
		k.Policies = append(k.Policies, p)
	case people.Schedules:
		s := &people.Schedule{}
		if err, content = json.Unmarshal([]byte(doc.Data), s), s; err == nil {
			k.Schedules[doc.Name] = s
			k.Rosters[doc.Name], err = s.Roster()
		}
	case people.Rules:
		r := &people.Rule{}
		err, content = json.Unmarshal([]byte(doc.Data), r), r
		k.Rules = append(k.Rules, (*rules.Rule)(r))
		k.Begun[doc.Name] = doc.Begun
	case people.Persons:
		p := &people.Person{}
		err, content = json.Unmarshal([]byte(doc.Data), p), p
		k.People[andon.PersonID(doc.Name)] = p
	case people.Maintenances:
		m := people.Maintenance{}
		err, content = json.Unmarshal([]byte(doc.Data), &m), &m
		k.Maintenance = append(k.Maintenance, m)
	}
	if err != nil {
		return andon.Errorf(andon.Damaged, "read %s %q: %w", kind.One(), doc.Name, err)
	}
	k.stored[key{kind, doc.Name}] = stored{doc, content}
	return nil
}
