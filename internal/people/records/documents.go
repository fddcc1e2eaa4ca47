// Package records keeps incidents and the documents of people as records of a store.
package records

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Documents keeps policies, schedules, rules, people and maintenance. What it read is known for a
// second, so another process sees a change within that time; a change by this process is known at
// once. All methods may be called concurrently.
type Documents struct {
	store andon.Records
	now   func() andon.Time
}

// NewDocuments makes Documents on a store.
func NewDocuments(store andon.Records, now func() andon.Time) *Documents {
	return &Documents{store: store, now: now}
}

// Document is a document as it is stored: Data is the JSON of a type of package people.
type Document struct {
	Name    string
	Version uint64
	Data    andon.JSON
}

// Get returns a document; NotFound when there is none.
func (d *Documents) Get(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
) (Document, error) {
	return Document{}, andon.Errorf(andon.Unsupported, "documents")
}

// List returns the documents of a kind by name, after one.
func (d *Documents) List(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, after string, limit int,
) iter.Seq2[Document, error] {
	return func(func(Document, error) bool) {}
}

// Put checks a document, also against what it refers to, and stores it over a version; 0: there is
// none yet; AnyVersion: whatever is there. What is equal to what is stored changes nothing.
func (d *Documents) Put(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, is Document,
) (Document, error) {
	return Document{}, andon.Errorf(andon.Unsupported, "documents")
}

// Delete removes a document of a version. Conflict when another document refers to it.
func (d *Documents) Delete(
	ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
	version uint64,
) error {
	return andon.Errorf(andon.Unsupported, "documents")
}

// AnyVersion is that of a Put or Delete without If-Match.
const AnyVersion = 1<<64 - 1

// Known is all documents of a tenant.
type Known = people.Known

// Known returns all documents of a tenant, at most a second old.
func (d *Documents) Known(ctx context.Context, tenant andon.TenantID) (*Known, error) {
	return &Known{}, nil
}
