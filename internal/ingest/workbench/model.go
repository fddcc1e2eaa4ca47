// Package workbench reads and writes the models of NoSQL Workbench for Amazon DynamoDB, as far as
// they are logs of device states: items become events, and events items.
//
//	ModelName, ModelMetadata
//	DataModel ── table ─┬─ TableName, KeyAttributes, NonKeyAttributes, GlobalSecondaryIndexes, …
//	                    ├─ TableData ── items
//	                    └─ TableFacets ── facet ── TableData ── items
//
// A model is one document, so it is held in memory, up to MaxBytes. The package knows no server, no
// tenant and no file.
package workbench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// MaxBytes is how long the text of a model may be.
const MaxBytes = 64 << 20

// Model is a model that was read.
type Model struct {
	ingest.Batch[andon.Event]
	// Notes say for people what the tables lack, and what of the model is not in its entries.
	Notes []string

	text   string
	tables []*table
}

// The parts of a table that are decoded.
type (
	attributeDef struct{ AttributeName, AttributeType string }

	keyDefs struct {
		PartitionKey attributeDef
		SortKey      *attributeDef
	}

	indexDef struct{ KeyAttributes keyDefs }
)

// sort is the name of the sort key; "" for none.
func (k *keyDefs) sort() string {
	if k.SortKey == nil {
		return ""
	}
	return k.SortKey.AttributeName
}

// table is a table that was read.
type table struct {
	name    string
	keys    keyDefs
	others  []attributeDef
	indexes []indexDef
	data    []items
	unkept  []string // names of parts that have no place in a log
}

// items is the place of the items of a table or of a facet.
type items struct {
	facet string
	alias facetAlias
	at    int // of the array, in bytes
}

type facetAlias struct{ PartitionKeyAlias, SortKeyAlias string }

// reader reads a model.
type reader struct {
	s      jsonscan.Scanner
	model  Model
	unkept []string // names of parts of the model, as of a table
	line   int      // of the place up to, counted from 1
	upTo   int
}

// Parse reads a model. An item that is no entry is rejected, with its place and the reason, and the
// rest goes on. The error is about the model as a whole, of which nothing is returned then.
func Parse(text string) (*Model, error) {
	// Tolerant: what an item holds is for the item to account for.
	r := &reader{s: jsonscan.Scanner{Text: text, Tolerant: true}, line: 1}
	tables, f := r.read()
	if f != nil {
		cut := ""
		if f.At >= len(text) || text[0] == '{' && !strings.HasSuffix(strings.TrimSpace(text), "}") {
			cut = ": the file seems to be cut off"
		}
		return nil, andon.Errorf(andon.Invalid, "line %d: it is no model of NoSQL Workbench: %s%s",
			r.lineOf(f.At), f.Reason, cut)
	}
	if len(tables) == 0 {
		return nil, andon.Errorf(andon.Invalid, "nothing can be imported: the model has no table")
	}
	r.model.text, r.model.tables = text, tables
	hasLog := r.model.log() >= 0
	if len(r.model.Items)+len(r.model.Rejected) == 0 && !hasLog {
		return nil, andon.Errorf(andon.Invalid, "nothing can be imported: %s",
			strings.Join(r.model.Notes, "; "))
	}
	if len(r.unkept) > 0 && hasLog {
		r.note("not in the log, which has no place for it: %s", strings.Join(r.unkept, ", "))
	}
	return &r.model, nil
}

// log returns which of the tables is the first log; -1 where none is.
func (m *Model) log() int {
	return slices.IndexFunc(m.tables, func(t *table) bool { return isLog(t.declares) })
}

func (r *reader) note(format string, args ...any) {
	r.model.Notes = append(r.model.Notes, fmt.Sprintf(format, args...))
}

// read reads the whole document.
func (r *reader) read() (tables []*table, f *jsonscan.Fault) {
	found := false
	f = r.s.Object(func(name string) *jsonscan.Fault {
		switch name {
		case "ModelMetadata":
			return r.s.Object(func(name string) *jsonscan.Fault {
				return r.skip(&r.unkept, name)
			})
		case "DataModel":
			found = true
			return r.s.Array(func(int) *jsonscan.Fault {
				t, f := r.table()
				tables = append(tables, t)
				return f
			})
		}
		return r.skip(&r.unkept, name)
	})
	if f == nil {
		f = r.s.End()
	}
	if f == nil && !found {
		f = r.s.Fault(0, "it has no DataModel")
	}
	return tables, f
}

// skip skips a part that is not kept.
func (r *reader) skip(unkept *[]string, name string) *jsonscan.Fault {
	*unkept = append(*unkept, name)
	return r.s.Skip(0)
}

// table reads a table, and then its items: its keys may come after them.
func (r *reader) table() (*table, *jsonscan.Fault) {
	t := &table{}
	r.s.Next()
	begin := r.s.At
	f := r.s.Object(func(name string) *jsonscan.Fault {
		switch name {
		case "TableName":
			return r.decode(name, &t.name)
		case "KeyAttributes":
			return r.decode(name, &t.keys)
		case "NonKeyAttributes":
			return r.decode(name, &t.others)
		case "GlobalSecondaryIndexes":
			return r.decode(name, &t.indexes)
		case "TableData":
			t.data = append(t.data, items{at: r.s.At})
			return r.s.Skip(0)
		case "TableFacets":
			return r.s.Array(func(int) *jsonscan.Fault { return r.facet(t) })
		}
		return r.skip(&t.unkept, name)
	})
	if f == nil && t.name == "" {
		f = r.s.Fault(begin, "a table has no TableName")
	}
	if f != nil {
		return t, f
	}
	end := r.s.At
	r.describe(t)
	for _, data := range t.data {
		if f := r.items(t, data); f != nil {
			return t, f
		}
	}
	r.s.At = end
	return t, nil
}

// facet notes the place of the items of a facet.
func (r *reader) facet(t *table) *jsonscan.Fault {
	data := items{at: -1}
	f := r.s.Object(func(name string) *jsonscan.Fault {
		switch name {
		case "FacetName":
			return r.decode(name, &data.facet)
		case "KeyAttributeAlias":
			return r.decode(name, &data.alias)
		case "TableData":
			data.at = r.s.At
		}
		return r.s.Skip(0)
	})
	if f == nil && data.at >= 0 {
		t.data = append(t.data, data)
	}
	t.unkept = append(t.unkept, "facet "+data.facet)
	return f
}

// decode reads a part of the design.
func (r *reader) decode(name string, into any) *jsonscan.Fault {
	at := r.s.At
	text, f := r.s.Value()
	if f != nil {
		return f
	}
	err := json.Unmarshal([]byte(text), into)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return r.s.Fault(at, "%s has a part of the wrong type: %s", name, e.Value)
	}
	if err != nil {
		return r.s.Fault(at, "%s: %s", name, err)
	}
	return nil
}

// items reads the items of a table or of a facet.
func (r *reader) items(t *table, data items) *jsonscan.Fault {
	place := "table " + ingest.Clip(t.name)
	if data.facet != "" {
		place += ", facet " + ingest.Clip(data.facet)
	}
	alias := data.aliases(t)
	r.s.At = data.at
	return r.s.Array(func(n int) *jsonscan.Fault {
		index := len(r.model.Items) + len(r.model.Rejected)
		line := r.lineOf(r.s.At)
		text, f := r.s.Value()
		if f != nil {
			return f
		}
		event, err := readEvent(text, alias)
		if err != nil {
			r.model.Rejected = append(r.model.Rejected, andon.Rejection{
				Index: index, Line: line, Error: fmt.Sprintf("%s, item %d: %s", place, n, err),
			})
			return nil
		}
		r.model.Items = append(r.model.Items, ingest.Item[andon.Event]{
			Value: event, Index: index, Line: line,
		})
		return nil
	})
}

func readEvent(text string, alias map[string]string) (andon.Event, error) {
	item, err := readItem(text, alias)
	if err != nil {
		return andon.Event{}, err
	}
	return item.Event()
}

// aliases are what the keys of a table mean in a facet, as far as that is a field of an entry: a
// table of many kinds of items calls its keys PK and SK.
func (i *items) aliases(t *table) map[string]string {
	alias := map[string]string{}
	if isField(i.alias.PartitionKeyAlias) {
		alias[t.keys.PartitionKey.AttributeName] = i.alias.PartitionKeyAlias
	}
	if isField(i.alias.SortKeyAlias) {
		alias[t.keys.sort()] = i.alias.SortKeyAlias
	}
	return alias
}

// lineOf returns the line of a place. It is called in the order of the places.
func (r *reader) lineOf(at int) int {
	at = min(max(at, r.upTo), len(r.s.Text))
	r.line += strings.Count(r.s.Text[r.upTo:at], "\n")
	r.upTo = at
	return r.line
}

// wantedAttributes is what a table must have to be a log.
const wantedAttributes = "DeviceID and State#Date, or DeviceID, State and Date"

// isLog reports whether a table that has certain attributes can have entries.
func isLog(has func(string) bool) bool {
	return has(attrDevice) && (has(attrStateDate) || has(attrState) && has(attrDate))
}

// declares reports whether a table declares an attribute; what a facet calls its keys counts.
func (t *table) declares(name string) bool {
	is := func(a attributeDef) bool { return a.AttributeName == name }
	means := func(i items) bool {
		return i.alias.PartitionKeyAlias == name || i.alias.SortKeyAlias == name
	}
	return is(t.keys.PartitionKey) || t.keys.sort() == name ||
		slices.ContainsFunc(t.others, is) || slices.ContainsFunc(t.data, means)
}

// describe notes what a table lacks of the reference's last step, and what of it is not kept.
func (r *reader) describe(t *table) {
	if !isLog(t.declares) {
		r.note("table %s is no log of device states: want %s; its keys are %s",
			t.name, wantedAttributes, t.keys)
		return
	}
	if len(t.unkept) > 0 {
		r.unkept = append(r.unkept, fmt.Sprintf("%s of table %s",
			strings.Join(t.unkept, ", "), t.name))
	}
	var lacks []string
	for _, name := range []string{attrStateDate, attrState, attrDate, attrOperator, attrEscalated} {
		if !t.declares(name) {
			lacks = append(lacks, name)
		}
	}
	for i, keys := range []string{
		attrOperator + ", " + attrDate, attrEscalated + ", " + attrStateDate,
	} {
		same := func(i indexDef) bool { return i.KeyAttributes.String() == keys }
		if !slices.ContainsFunc(t.indexes, same) {
			lacks = append(lacks, fmt.Sprintf("index GSI%d (%s)", i+1, keys))
		}
	}
	if len(lacks) > 0 {
		r.note("table %s lacks %s: DeviceStateLog_7, the last step, has them",
			t.name, strings.Join(lacks, ", "))
	}
}

// String names the keys.
func (k keyDefs) String() string {
	if k.SortKey == nil {
		return k.PartitionKey.AttributeName
	}
	return k.PartitionKey.AttributeName + ", " + k.SortKey.AttributeName
}

// Begins reports whether a text that begins so is a model. Workbench writes ModelName first.
func Begins(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\uFEFF")), " \t\r\n")
	name, isObject := bytes.CutPrefix(text, []byte("{"))
	name = bytes.TrimLeft(name, " \t\r\n")
	begins := func(part string) bool { return bytes.HasPrefix(name, []byte(part)) }
	return isObject && slices.ContainsFunc([]string{
		`"ModelName"`, `"ModelMetadata"`, `"DataModel"`,
	}, begins)
}

// CheckColumns reports columns of sample data that can't make entries.
func CheckColumns(names []string) error {
	has := func(name string) bool { return slices.Contains(names, name) }
	if isLog(has) {
		return nil
	}
	return andon.Errorf(andon.Invalid, "want %s; there are the columns %s", wantedAttributes,
		strings.Join(names, ", "))
}
