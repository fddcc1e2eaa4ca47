package records

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/rules"
)

// known is what was read of a tenant, and when.
type known struct {
	people.Known
	at     andon.Time
	stored map[key]stored
}

type key struct {
	kind people.DocumentKind
	name string
}

func (k key) compare(to key) int {
	return cmp.Or(cmp.Compare(k.kind, to.kind), cmp.Compare(k.name, to.name))
}

type stored struct {
	Document
	content people.Content
}

// Known returns all documents of a tenant, at most a second old.
func (d *Documents) Known(ctx context.Context, id andon.TenantID) (*people.Known, error) {
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

// Forget has Known read the documents of a tenant again.
func (d *Documents) Forget(id andon.TenantID) { d.kept.Forget(id) }

// read reads all documents of a tenant. One that can't be decoded is Damaged: nobody must believe
// that it is not there.
func (d *Documents) read(ctx context.Context, id andon.TenantID) (*known, error) {
	k := &known{at: d.now(), stored: map[key]stored{}}
	k.Rosters, k.Begun = map[string]*people.Roster{}, map[string]andon.Time{}
	k.People = map[andon.PersonID]*people.Person{}
	for _, kind := range people.Kinds() {
		for doc, err := range d.List(ctx, id, kind, "", math.MaxInt) {
			if err == nil {
				err = k.add(kind, doc)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return k, nil
}

// add decodes a document. It was checked when it was put.
func (k *known) add(kind people.DocumentKind, doc Document) error {
	content := people.New(kind)
	err := json.Unmarshal([]byte(doc.Data), content)
	switch is := content.(type) {
	case *people.Policy:
		k.Policies = append(k.Policies, *is)
	case *people.Schedule:
		if err == nil {
			k.Rosters[doc.Name], err = is.Roster()
		}
	case *people.Rule:
		k.Rules = append(k.Rules, (*rules.Rule)(is))
		k.Begun[doc.Name] = doc.Begun
	case *people.Person:
		k.People[andon.PersonID(doc.Name)] = is
	case *people.Maintenance:
		k.Maintenance = append(k.Maintenance, *is)
	}
	if err != nil {
		return andon.Errorf(andon.Damaged, "read %s %q: %w", kind.One(), doc.Name, err)
	}
	k.stored[key{kind, doc.Name}] = stored{doc, content}
	return nil
}
