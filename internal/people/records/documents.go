// Package records keeps incidents and the documents of people as records of a store.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/recent"
	"github.com/andonhq/andon/internal/rules"
	"github.com/andonhq/andon/internal/seq"
)

// Documents keeps policies, schedules, rules, people and maintenance. What it read is known for a
// second, so another process sees a change within that time; a change by this process is known at
// once. All methods may be called concurrently.
//
// A document is a record: its kind is that of the document, its id the name, its data the JSON of a
// type of package people. What documents say of each other is checked when one is changed. Of two
// processes that change two documents at the same time, one may delete what the other begins to
// refer to: who follows a reference must expect that nothing is there.
type Documents struct {
	store   Store
	now     func() andon.Time
	writing sync.Mutex // held while documents are changed
	kept    recent.Values[*known]

	// CheckContact reports why a contact can't be told anything, at a place of a request. Contacts
	// that a person has already are not checked again. It is set before the first call, or nil.
	CheckContact func(place string, c people.Contact) error
	// Changed is called after each document that was stored or deleted, or may have been, with how
	// that ended. Version is that of the document now, 0 where it is deleted, and Before the one
	// before. It is set before the first call, or nil.
	Changed func(context.Context, andon.TenantID, people.DocumentKind, Document, error)
}

// Store keeps documents, and knows the states of the tenants that rules say.
type Store interface {
	andon.Records
	Tenant(context.Context, andon.TenantID) (andon.Tenant, error)
}

// NewDocuments makes Documents on a store.
func NewDocuments(store Store, now func() andon.Time) *Documents {
	return &Documents{store: store, now: now, kept: recent.Values[*known]{Now: now}}
}

// Document is a document as it is stored: Data is the JSON of a type of package people.
type Document struct {
	Name    string
	Version uint64
	Data    andon.JSON
	// Before is the version that a Put replaced: 0 for a new document, Version for one that was
	// equal.
	Before uint64
	// Begun is when it was made, or, of a rule, switched on last. In its record it comes before
	// Data.
	Begun andon.Time
}

// Get returns a document; NotFound when there is none.
func (d *Documents) Get(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
) (Document, error) {
	r, err := d.store.Record(ctx, tenant, andon.RecordKind(kind), name)
	if err != nil && andon.KindOf(err) == andon.NotFound {
		return Document{}, missing(kind, name)
	}
	return documentOf(r), err
}

// begun is how a record begins. The time and a comma follow, and then what the document says.
const begun = `{"begun":`

func documentOf(r andon.Record) Document {
	d := Document{Name: r.ID, Version: r.Version, Data: r.Data}
	if rest, is := strings.CutPrefix(string(r.Data), begun); is {
		at, rest, _ := strings.Cut(rest, ",")
		n, _ := strconv.ParseInt(at, 10, 64)
		d.Begun, d.Data = andon.Time(n), andon.JSON("{"+rest)
	}
	return d
}

func missing(kind people.DocumentKind, name string) error {
	return andon.Errorf(andon.NotFound, "there is no %s %q", kind.One(), name)
}

// List returns the documents of a kind by name, after one.
func (d *Documents) List(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, after string, limit int,
) iter.Seq2[Document, error] {
	q := andon.RecordQuery{After: after, Limit: limit}
	return seq.Map(d.store.Records(ctx, tenant, andon.RecordKind(kind), q), documentOf)
}

// Versions are those of which a document must have one to be changed; 0: there is none yet;
// Existing: there is one; nil: whatever is there.
type Versions []uint64

// Existing is every version that a document can have.
const Existing = 1<<64 - 1

// Conflict says why a document of a version is not changed, if it is not; 0: there is none.
func (v Versions) Conflict(kind people.DocumentKind, name string, stored uint64) error {
	switch {
	case v == nil, slices.Contains(v, stored), stored != 0 && slices.Contains(v, Existing):
		return nil
	case stored == 0:
		return andon.Errorf(andon.Conflict, "there is no %s %q", kind.One(), name)
	case v[0] == 0:
		return andon.Errorf(andon.Conflict, "there is a %s %q already", kind.One(), name)
	}
	return andon.Errorf(andon.Conflict, "%s %q was changed meanwhile: read it again and repeat",
		kind.One(), name)
}

// Put checks a document, also against what it refers to, and stores it over some versions. What is
// equal to what is stored changes nothing.
func (d *Documents) Put(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, is Document,
	over Versions,
) (Document, error) {
	all, err := d.PutAll(ctx, tenant, []Change{{Kind: kind, Document: is, Over: over}}, false)
	if err != nil {
		return Document{}, err
	}
	return all[0].Document, nil
}

// Change is a document that is to be put.
type Change struct {
	Kind people.DocumentKind
	Document
	Over Versions
	// KeepsOverrides says that a schedule has the overrides that are stored, whatever it says.
	KeepsOverrides bool
	content        people.Content
}

// Faulty is which of several changes is wrong.
type Faulty struct {
	Index int
	Err   error
}

// Error returns what is wrong with it.
func (f *Faulty) Error() string { return f.Err.Error() }

// Unwrap returns what is wrong with it.
func (f *Faulty) Unwrap() error { return f.Err }

// PutAll puts documents that may refer to each other, in any order. If one is wrong, nothing is
// stored, and the error is a Faulty. They are stored one after the other, what others refer to
// first; after another error some may be, and putting all again completes them. A dry run stores
// nothing. It returns them in the given order; those of a dry run have the version before.
func (d *Documents) PutAll(
	ctx context.Context, tenant andon.TenantID, all []Change, dry bool,
) ([]Change, error) {
	all = slices.Clone(all)
	d.writing.Lock()
	defer d.writing.Unlock()
	known, err := d.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer d.kept.Forget(tenant)
	for i := range all {
		err := all[i].check(known)
		if err == nil {
			err = d.checkContacts(known, &all[i])
		}
		if err != nil {
			return nil, &Faulty{i, err}
		}
	}
	for i := range all {
		if err := d.checkReferences(ctx, tenant, &all[i], known, all); err != nil {
			return nil, &Faulty{i, err}
		}
	}
	if dry {
		return all, nil
	}
	for _, kind := range people.Kinds() {
		for i := range all {
			if all[i].Kind != kind {
				continue
			}
			if err := d.put(ctx, tenant, &all[i], all); err != nil {
				return nil, &Faulty{i, err}
			}
		}
	}
	return all, nil
}

// check decodes a document, and compares it with what is stored.
func (c *Change) check(known *known) (err error) {
	if c.content, err = people.Decode(c.Kind, c.Name, c.Data); err != nil {
		return err
	}
	stored := known.stored[key{c.Kind, c.Name}]
	if is, schedule := c.content.(*people.Schedule); schedule && c.KeepsOverrides {
		is.Overrides = nil
		if was, there := stored.content.(*people.Schedule); there {
			is.Overrides = was.Overrides
		}
	}
	text, err := json.Marshal(c.content)
	if err != nil {
		return err
	}
	if c.Data = andon.JSON(text); len(text) > andon.MaxRecordBytes {
		return andon.AtField("body", "it is %d bytes long, more than %d", len(text),
			andon.MaxRecordBytes)
	}
	if err := c.Over.Conflict(c.Kind, c.Name, stored.Version); err != nil {
		return err
	}
	c.Version, c.Before = stored.Version, 0
	if stored.Data == c.Data {
		c.Before = stored.Version
	}
	is, rule := c.content.(*people.Rule)
	if c.Begun = stored.Begun; stored.Version == 0 ||
		rule && is.Disabled == "" && stored.content.(*people.Rule).Disabled != "" {
		c.Begun = known.at
	}
	return nil
}

// checkContacts reports a contact of a person that is new, and can't be told anything.
func (d *Documents) checkContacts(known *known, c *Change) error {
	is, ok := c.content.(*people.Person)
	if !ok || d.CheckContact == nil {
		return nil
	}
	var had []people.Contact
	if was := known.People[is.Name]; was != nil {
		had = was.Contacts
	}
	for i, contact := range is.Contacts {
		if slices.Contains(had, contact) {
			continue
		}
		if err := d.CheckContact(fmt.Sprintf("body.contacts[%d]", i), contact); err != nil {
			return err
		}
	}
	return nil
}

// Changes reports whether a change of a dry run would change anything, and Creates whether it would
// make a document.
func (c *Change) Changes() bool { return c.Version == 0 || c.Before != c.Version }

// checkReferences reports a document that is neither known nor among those that are put as well,
// and a state that the tenant does not have.
func (d *Documents) checkReferences(
	ctx context.Context, tenant andon.TenantID, c *Change, known *known, all []Change,
) error {
	t, err := d.store.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	switch is := c.content.(type) {
	case *people.Rule:
		if is.Disabled != "" {
			break
		}
		if err := (*rules.Rule)(is).CheckStates(t.States); err != nil {
			return err
		}
	case *people.Policy:
		for i, state := range is.Match.States { // another one would never match
			if t.Unknown == andon.RefuseUnknown && !t.States.Contains(state) {
				return andon.AtField(fmt.Sprintf("body.match.states[%d]", i),
					"the tenant has no state %q", state)
			}
		}
	}
	for _, r := range c.content.References() {
		_, there := known.stored[key{r.Kind, r.Name}]
		there = there || slices.ContainsFunc(all, func(other Change) bool {
			return other.Kind == r.Kind && other.Name == r.Name
		})
		if !there {
			return andon.AtField(r.Place, "there is no %s %q", r.Kind.One(), r.Name)
		}
	}
	return nil
}

// put stores a document that was checked, and is checked again where another process was faster.
func (d *Documents) put(
	ctx context.Context, tenant andon.TenantID, c *Change, all []Change,
) error {
	for c.Changes() {
		before := c.Version
		data := andon.JSON(fmt.Sprintf("%s%d,%s", begun, c.Begun, c.Data[1:]))
		r, err := d.store.PutRecord(ctx, andon.Record{
			Tenant: tenant, Kind: andon.RecordKind(c.Kind), ID: c.Name, Version: before, Data: data,
		})
		if err == nil {
			c.Document = documentOf(r)
		}
		if c.Before = before; err == nil || andon.KindOf(err) != andon.Conflict {
			d.changed(ctx, tenant, c.Kind, c.Document, err)
			return err
		}
		known, err := d.read(ctx, tenant)
		if err == nil {
			err = c.check(known)
		}
		if err == nil {
			err = d.checkReferences(ctx, tenant, c, known, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Documents) changed(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, is Document, err error,
) {
	if d.Changed != nil {
		d.Changed(ctx, tenant, kind, is, err)
	}
}

// Delete removes a document of some versions. Conflict when another document refers to it.
func (d *Documents) Delete(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
	over Versions,
) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	defer d.kept.Forget(tenant)
	for {
		known, err := d.read(ctx, tenant)
		if err != nil {
			return err
		}
		stored, there := known.stored[key{kind, name}]
		if !there {
			return missing(kind, name)
		}
		if err := over.Conflict(kind, name, stored.Version); err != nil {
			return err
		}
		for _, by := range slices.SortedFunc(maps.Keys(known.stored), key.compare) {
			for _, r := range known.stored[by].content.References() {
				if r.Kind == kind && r.Name == name {
					return andon.Errorf(andon.Conflict, "%s %q is needed by %s %q: %s",
						kind.One(), name, by.kind.One(), by.name, r.Place)
				}
			}
		}
		err = d.store.DeleteRecord(ctx, andon.Record{
			Tenant: tenant, Kind: andon.RecordKind(kind), ID: name, Version: stored.Version,
		})
		if err == nil || andon.KindOf(err) != andon.Conflict { // else another process was faster
			gone := Document{Name: name, Before: stored.Version}
			d.changed(ctx, tenant, kind, gone, err)
			return err
		}
	}
}
