// Package documents reads and writes the documents of people as requests ask for it: policies,
// schedules, rules, people and maintenance. It knows no route.
package documents

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Kept keeps documents, as package records has it.
type Kept interface {
	Get(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
	) (records.Document, error)
	List(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, after string,
		limit int,
	) iter.Seq2[records.Document, error]
	Put(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, is records.Document,
	) (records.Document, error)
	PutAll(
		ctx context.Context, tenant andon.TenantID, all []records.Change, dry bool,
	) ([]records.Change, error)
	// Known returns all documents of a tenant, at most a second old.
	Known(ctx context.Context, tenant andon.TenantID) (*records.Known, error)
	Delete(
		ctx context.Context, tenant andon.TenantID, kind people.DocumentKind, name string,
		version uint64,
	) error
}

// Content decodes a document that is kept.
func Content[T any](d *records.Document) (is T, err error) {
	if err = json.Unmarshal([]byte(d.Data), &is); err != nil {
		err = andon.Errorf(andon.Damaged, "read document %q: %w", d.Name, err)
	}
	return is, err
}

// Name reads that of the path.
func Name(r *params.Reader) string { return string(params.PathID[andon.PersonID](r, "name")) }

// Version reads which version of a document a condition of the request is about.
func Version(r *params.Reader) uint64 {
	match := r.Request.Header.Get("If-Match")
	switch {
	case match == "" && r.Request.Header.Get("If-None-Match") == "*":
		return 0
	case match == "":
		return records.AnyVersion
	}
	strong := strings.TrimPrefix(match, "W/") // a proxy that compresses makes it weak
	version, err := strconv.ParseUint(strings.Trim(strong, `"`), 10, 64)
	if err != nil || version == 0 {
		r.Mark("header.If-Match", "If-Match is %q, not the ETag of an answer", match)
	}
	return version
}

// ETag is the header that names a version of a document.
func ETag(d *records.Document) string { return `"` + strconv.FormatUint(d.Version, 10) + `"` }

// OnCall says who is on call by a schedule at a time.
func OnCall(
	ctx context.Context, kept Kept, tenant andon.TenantID, name string, at andon.Time,
) (client.Shift, error) {
	roster, err := rosterOf(ctx, kept, tenant, name)
	if err != nil {
		return client.Shift{}, err
	}
	return client.Shift(roster.OnCall(at)), nil
}

func rosterOf(
	ctx context.Context, kept Kept, tenant andon.TenantID, name string,
) (*people.Roster, error) {
	d, err := kept.Get(ctx, tenant, people.Schedules, name)
	if err != nil {
		return nil, err
	}
	s, err := Content[people.Schedule](&d)
	if err != nil {
		return nil, err
	}
	roster, err := s.Roster()
	if err != nil {
		return nil, andon.Errorf(andon.Damaged, "read schedule %q: %w", name, err)
	}
	return roster, nil
}
