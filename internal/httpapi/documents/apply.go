package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// kindOf returns the kind whose documents are called so, in their singular; absent: there is none.
func kindOf(one string) people.DocumentKind {
	for _, kind := range people.Kinds() {
		if kind.One() == one {
			return kind
		}
	}
	return ""
}

// Apply puts documents, or says what putting them would change. A schedule that lists no overrides
// keeps those that are stored: people make them in between.
func Apply(
	ctx context.Context, kept *records.Documents, tenant andon.TenantID, sent client.DocumentsSent,
	dry bool,
) (applied client.DocumentsApplied, err error) {
	all := make([]records.Change, len(sent.Documents))
	there := map[client.DocumentApplied]bool{}
	for i, d := range sent.Documents {
		place := fmt.Sprintf("body.documents[%d]", i)
		all[i] = records.Change{
			Kind: kindOf(d.Kind), Document: records.Document{Name: d.Name, Data: d.Content},
			KeepsOverrides: !listsOverrides(d.Content),
		}
		is := client.DocumentApplied{Kind: d.Kind, Name: d.Name}
		switch {
		case all[i].Kind == "":
			return applied, andon.AtField(place+".kind", "%q is none of policy, schedule, rule, "+
				"person and maintenance", d.Kind)
		case there[is]:
			return applied, andon.AtField(place+".name", "%s %q is there twice", d.Kind, d.Name)
		}
		there[is] = true
	}
	if all, err = kept.PutAll(ctx, tenant, all, dry); err != nil {
		return applied, placed(err)
	}
	applied.Documents = make([]client.DocumentApplied, len(all))
	for i := range all {
		change := "changed"
		switch {
		case dry && all[i].Version == 0, !dry && all[i].Before == 0:
			change = "created"
		case !all[i].Changes():
			change = "unchanged"
		}
		applied.Documents[i] = client.DocumentApplied{
			Kind: all[i].Kind.One(), Name: all[i].Name, Change: change,
		}
	}
	return applied, nil
}

// listsOverrides reports whether a document has a field of overrides, even if it lists none. What
// is wrong with the document is reported elsewhere.
func listsOverrides(content andon.JSON) bool {
	var is struct {
		Overrides json.RawMessage `json:"overrides"`
	}
	return json.Unmarshal([]byte(content), &is) == nil && is.Overrides != nil
}

// placed says in which of several documents a fault is.
func placed(err error) error {
	fault, ok := errors.AsType[*records.Faulty](err)
	if !ok {
		return err
	}
	return moved(fault.Err, func(place string) string {
		rest, ofPath := strings.CutPrefix(place, "path.")
		if !ofPath {
			rest = "content" + strings.TrimPrefix(rest, "body")
		}
		return fmt.Sprintf("body.documents[%d].%s", fault.Index, rest)
	})
}

// moved changes the places of faults.
func moved(err error, place func(string) string) error {
	e, ok := errors.AsType[*andon.Error](err)
	if !ok {
		return err
	}
	is := *e
	is.Fields = slices.Clone(e.Fields)
	for i := range is.Fields {
		is.Fields[i].Location = place(is.Fields[i].Location)
	}
	return &is
}

// Place is a place in the list of all documents.
type Place struct{ Kind, Name string }

// PlaceOf is that of a document.
func PlaceOf(d *client.Document) Place { return Place{d.Kind, d.Name} }

// All reads up to n documents of all kinds after a place, those that others refer to first.
func All(
	ctx context.Context, kept *records.Documents, tenant andon.TenantID, after Place, n int,
) iter.Seq2[client.Document, error] {
	return func(yield func(client.Document, error) bool) {
		for _, kind := range people.Kinds() {
			if after.Kind != "" && kind.One() != after.Kind {
				continue
			}
			for d, err := range kept.List(ctx, tenant, kind, after.Name, n) {
				is := client.Document{Kind: kind.One(), Name: d.Name, Content: d.Data}
				if !yield(is, err) || err != nil {
					return
				}
				if n--; n == 0 {
					return
				}
			}
			after = Place{}
		}
	}
}
