// Package documents reads and writes the documents of people as requests ask for it: policies,
// schedules, rules, people and maintenance. It knows no route.
package documents

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// Content decodes a document that is kept.
func Content[T any](d *records.Document) (is T, err error) {
	if err = json.Unmarshal([]byte(d.Data), &is); err != nil {
		err = andon.Errorf(andon.Damaged, "read document %q: %w", d.Name, err)
	}
	return is, err
}

// Over reads over which versions of a document a request changes it: RFC 9110, section 13.1.1. A
// weak ETag counts like the strong one, which the RFC does not do: Andon gives no weak ones, and a
// proxy that compresses an answer makes its ETag weak.
func Over(r *params.Reader) (over records.Versions) {
	match := strings.Join(r.Request.Header.Values("If-Match"), ",")
	switch {
	case match == "*":
		return records.Versions{records.Existing}
	case match == "" && r.Request.Header.Get("If-None-Match") == "*":
		return records.Versions{0}
	case match == "":
		return nil
	}
	between := func(c rune) bool { return c == ',' || c == ' ' || c == '\t' }
	for tag := range strings.FieldsFuncSeq(match, between) {
		version, _ := strconv.ParseUint(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`), 10, 64)
		over = append(over, version)
	}
	none := func(version uint64) bool { return version == 0 || version == records.Existing }
	if len(over) == 0 || slices.ContainsFunc(over, none) {
		r.Mark("header.If-Match", "If-Match is * or the ETags of answers, not %s", match)
	}
	return over
}

// ETag is the header that names a version of a document.
func ETag(d *records.Document) string { return `"` + strconv.FormatUint(d.Version, 10) + `"` }

// OnCall says who is on call by a schedule at a time.
func OnCall(
	ctx context.Context, kept *records.Documents, tenant andon.TenantID, name string, at andon.Time,
) (client.Shift, error) {
	d, err := kept.Get(ctx, tenant, people.Schedules, name)
	if err != nil {
		return client.Shift{}, err
	}
	roster, err := rosterOf(&d)
	if err != nil {
		return client.Shift{}, err
	}
	return client.Shift(roster.OnCall(at)), nil
}

func rosterOf(d *records.Document) (*people.Roster, error) {
	s, err := Content[people.Schedule](d)
	if err != nil {
		return nil, err
	}
	roster, err := s.Roster()
	if err != nil {
		return nil, andon.Errorf(andon.Damaged, "read schedule %q: %w", d.Name, err)
	}
	return roster, nil
}
