// Package workbench reads and writes the models of NoSQL Workbench for Amazon DynamoDB, as far as
// their tables are logs of device states or hold readings: items become events and readings, and
// these items.
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
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// MaxBytes is how long the text of a model may be.
const MaxBytes = 64 << 20

// Model is a model that was read. Its items are counted from 0 over all tables and facets.
type Model struct {
	ingest.Batch[andon.Event]
	// Readings are those of the tables that hold readings. Index is among all items.
	Readings []ingest.Item[andon.Reading]
	// Notes say for people what the tables lack.
	Notes []string

	text   string
	tables []table
	items  int // that were read
}

// The parts of a model that are decoded.
type (
	table struct {
		TableName              string
		KeyAttributes          keyDefs
		NonKeyAttributes       []attributeDef
		GlobalSecondaryIndexes []struct{ KeyAttributes keyDefs }
		TableData              []json.RawMessage
		TableFacets            []facet
	}

	facet struct {
		FacetName         string
		KeyAttributeAlias struct{ PartitionKeyAlias, SortKeyAlias string }
		TableData         []json.RawMessage
	}

	keyDefs struct{ PartitionKey, SortKey attributeDef }

	attributeDef struct{ AttributeName, AttributeType string }
)

// String names the keys.
func (k keyDefs) String() string {
	if k.SortKey.AttributeName == "" {
		return k.PartitionKey.AttributeName
	}
	return k.PartitionKey.AttributeName + ", " + k.SortKey.AttributeName
}

// Parse reads a model. An item that is no entry is rejected, with its place and the reason, and the
// rest goes on. The error is about the model as a whole, of which nothing is returned then.
func Parse(text string) (*Model, error) {
	var document struct{ DataModel []table }
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, noModel(text, err)
	}
	if len(document.DataModel) == 0 {
		return nil, andon.Errorf(andon.Invalid, "nothing can be imported: the model has no table")
	}
	m := &Model{text: text, tables: document.DataModel}
	for i := range m.tables {
		t := &m.tables[i]
		place := "table " + ingest.Clip(t.TableName)
		m.describe(t)
		m.read(t, t.TableData, place, nil)
		for _, f := range t.TableFacets {
			m.read(t, f.TableData, place+", facet "+ingest.Clip(f.FacetName), f.aliases(t))
		}
	}
	if m.items == 0 && m.find((*table).isLog) < 0 && m.find((*table).holdsReadings) < 0 {
		return nil, andon.Errorf(andon.Invalid, "nothing can be imported: %s",
			strings.Join(m.Notes, "; "))
	}
	return m, nil
}

func noModel(text string, err error) error {
	at, reason := int64(len(text)), err.Error()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, reason = e.Offset, "it has a part of the wrong type: "+e.Value
		if e.Field != "" {
			reason = e.Field + " has the wrong type: " + e.Value
		}
	}
	return andon.Errorf(andon.Invalid, "line %d: it is no model of NoSQL Workbench: %s",
		1+strings.Count(text[:at], "\n"), reason)
}

// read makes entries or readings of the items of a table or of a facet.
func (m *Model) read(
	t *table, items []json.RawMessage, place string, alias map[string]string,
) {
	if t.holdsReadings() {
		m.Readings = readItems(m, m.Readings, items, place, alias, (*Item).Reading)
		return
	}
	m.Items = readItems(m, m.Items, items, place, alias, (*Item).Event)
}

// readItems appends what the items of a table or of a facet mean. What means nothing is rejected.
func readItems[T any](
	m *Model, all []ingest.Item[T], items []json.RawMessage, place string, alias map[string]string,
	meaning func(*Item) (T, error),
) []ingest.Item[T] {
	for n, text := range items {
		index := m.items
		m.items++
		item, err := readItem(string(text), alias)
		var value T
		if err == nil {
			value, err = meaning(&item)
		}
		if err != nil {
			m.Rejected = append(m.Rejected, andon.Rejection{
				Index: index, Error: fmt.Sprintf("%s, item %d: %s", place, n, err),
			})
			continue
		}
		all = append(all, ingest.Item[T]{Value: value, Index: index})
	}
	return all
}

// aliases are what the keys of a table mean in a facet, as far as that is a field of an entry: a
// table of many kinds of items calls its keys PK and SK.
func (f *facet) aliases(t *table) map[string]string {
	alias := map[string]string{}
	if isField(f.KeyAttributeAlias.PartitionKeyAlias) {
		alias[t.KeyAttributes.PartitionKey.AttributeName] = f.KeyAttributeAlias.PartitionKeyAlias
	}
	if isField(f.KeyAttributeAlias.SortKeyAlias) {
		alias[t.KeyAttributes.SortKey.AttributeName] = f.KeyAttributeAlias.SortKeyAlias
	}
	return alias
}

func (f *facet) hasKeysOf(t *table) bool {
	return f.KeyAttributeAlias.PartitionKeyAlias == t.KeyAttributes.PartitionKey.AttributeName &&
		f.KeyAttributeAlias.SortKeyAlias == t.KeyAttributes.SortKey.AttributeName
}

// find returns which of the tables is the first of a kind; -1 where none is.
func (m *Model) find(isOne func(*table) bool) int {
	return slices.IndexFunc(m.tables, func(t table) bool { return isOne(&t) })
}

func (t *table) isLog() bool { return isLog(t.declares) }

// holdsReadings reports whether a table is that of the time-series guide.
func (t *table) holdsReadings() bool {
	return t.KeyAttributes.PartitionKey.AttributeName == jsonfeed.FlatDevice &&
		t.KeyAttributes.SortKey.AttributeName == jsonfeed.FlatTime
}

// wantedAttributes is what a table must have to be a log.
const wantedAttributes = "DeviceID and State#Date, or DeviceID, State and Date"

// isLog reports whether a table that has certain attributes can have entries.
func isLog(has func(string) bool) bool {
	return has(attrDevice) && (has(attrStateDate) || has(attrState) && has(attrDate))
}

func (t *table) attributes() []attributeDef {
	return append(slices.Clone(t.NonKeyAttributes),
		t.KeyAttributes.PartitionKey, t.KeyAttributes.SortKey)
}

// declares reports whether a table declares an attribute; what a facet calls its keys counts.
func (t *table) declares(name string) bool {
	is := func(a attributeDef) bool { return a.AttributeName == name }
	means := func(f facet) bool {
		alias := f.KeyAttributeAlias
		return alias.PartitionKeyAlias == name || alias.SortKeyAlias == name
	}
	return slices.ContainsFunc(t.attributes(), is) || slices.ContainsFunc(t.TableFacets, means)
}

// describe notes what a table lacks of the reference's last step.
func (m *Model) describe(t *table) {
	switch {
	case t.holdsReadings():
		return
	case !t.isLog():
		m.Notes = append(m.Notes, fmt.Sprintf(
			"table %s is no log of device states: want %s; its keys are %s",
			t.TableName, wantedAttributes, t.KeyAttributes))
		return
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
		has := false
		for _, index := range t.GlobalSecondaryIndexes {
			has = has || index.KeyAttributes.String() == keys
		}
		if !has {
			lacks = append(lacks, fmt.Sprintf("index GSI%d (%s)", i+1, keys))
		}
	}
	if len(lacks) > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf(
			"table %s lacks %s: DeviceStateLog_7, the last step, has them",
			t.TableName, strings.Join(lacks, ", ")))
	}
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
