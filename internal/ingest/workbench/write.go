package workbench

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Design is what a model has apart from its items.
type Design struct {
	Name        string // of the model
	Table       string
	Author      string
	Description string
	Now         andon.Time
}

// Writer makes a model of entries: the table of the reference's last step, with both indexes.
//
// Workbench wants each attribute declared with one type. So the attributes of an event become
// attributes of the item if they have the type that the first of their name has, and their names
// are free. If not, they are together in the text Attributes.
type Writer struct {
	design   Design
	base     *Model // whose design is kept; nil: the design is new
	declared []attributeDef
	types    map[string]string // of the declared ones, by name
	items    []json.RawMessage
	size     int // of the items, in bytes
}

// NewWriter returns a model without entries.
func NewWriter(d Design) *Writer {
	w := &Writer{design: d, items: []json.RawMessage{}, types: map[string]string{
		attrDevice: kindText, attrStateDate: kindText,
	}}
	for _, name := range []string{attrOperator, attrDate, attrState, attrEscalated} {
		w.declare(name, kindText)
	}
	return w
}

func (w *Writer) declare(name, kind string) {
	if w.types[name] == "" {
		w.types[name] = kind
		w.declared = append(w.declared, attributeDef{name, kind})
	}
}

// Add adds an entry. Its error is that the model would be too long.
func (w *Writer) Add(e *andon.Event) error {
	date := dateOf(e.Time)
	b := []byte{'{'}
	for _, a := range []struct{ name, text string }{
		{attrDevice, string(e.Device)}, {attrStateDate, string(e.State) + "#" + date},
		{attrOperator, string(e.Operator)}, {attrDate, date}, {attrState, string(e.State)},
		{attrEscalated, string(e.EscalatedTo)}, {attrMessage, e.Message},
	} {
		isKey := a.name == attrStateDate || a.name == attrDate || a.name == attrState
		if a.text == "" || isKey && w.types[a.name] == "" {
			continue
		}
		w.declare(a.name, kindText)
		b = wrapText(append(appendName(b, a.name), ':'), a.text)
	}
	if e.Attributes != "" {
		b = w.addAttributes(b, string(e.Attributes))
	}
	b = append(b, '}')
	if w.size += len(b); w.size > MaxBytes/2 { // the other half is the indentation
		return tooLong()
	}
	w.items = append(w.items, b)
	return nil
}

func tooLong() error {
	return andon.Errorf(andon.Invalid, "the model would be longer than %d MiB, which is the most "+
		"that andon import workbench reads: take fewer entries with --device, --from and --to",
		MaxBytes>>20)
}

// dateOf writes a time as the reference does: UTC, without a zone, and no zeros at the end of a
// fraction.
func dateOf(t andon.Time) string { return t.Std().Format("2006-01-02T15:04:05.999999") }

// addAttributes appends the attributes of an event: each by itself, or all as one text.
func (w *Writer) addAttributes(b []byte, attributes string) []byte {
	if members, ok := w.members(attributes); ok {
		for _, m := range members {
			w.declare(m.name, m.kind)
			b = append(append(appendName(b, m.name), ':'), m.value...)
		}
		return b
	}
	w.declare(attrAttributes, kindText)
	return wrapText(append(appendName(b, attrAttributes), ':'), attributes)
}

// member is a member of the attributes of an event, as an attribute of an item.
type member struct{ name, kind, value string }

// members returns the attributes of an event one by one. ok is false where they can't all be
// attributes of an item.
func (w *Writer) members(attributes string) (all []member, ok bool) {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(attributes)) != nil {
		return nil, false
	}
	seen := map[string]bool{}
	for name, plain := range jsonscan.Members(compact.String()) {
		value, kind, fits := appendTyped(nil, plain, 0)
		taken := seen[name] || isField(name) || w.types[name] != "" && w.types[name] != kind
		if !fits || name == "" || taken || kind == kindNull {
			return nil, false
		}
		seen[name] = true
		all = append(all, member{name, kind, string(value)})
	}
	return all, len(all) > 0
}

// written is a model as it is written: the parts of version 3.0, in the order in which Workbench
// has them.
type written struct {
	ModelName     string
	ModelMetadata metadata
	DataModel     []writtenTable
}

type metadata struct {
	Author, DateCreated, DateLastModified, Description, AWSService, Version string
}

type writtenTable struct {
	TableName              string
	KeyAttributes          keyDefs
	NonKeyAttributes       []attributeDef
	TableFacets            []struct{} // Workbench keeps items in the table or in facets
	GlobalSecondaryIndexes []indexDef
	TableData              []json.RawMessage
	DataAccess             struct {
		MySQL struct{} `json:"MySql"`
	}
	BillingMode string
}

func textKeys(partition, sort string) keyDefs {
	return keyDefs{
		PartitionKey: attributeDef{partition, kindText}, SortKey: &attributeDef{sort, kindText},
	}
}

// logIndexes are the indexes of the reference. An item without an operator is not in GSI1, and only
// an item that was escalated is in GSI2.
func logIndexes() []indexDef {
	all := projection{ProjectionType: "ALL"}
	return []indexDef{
		{"GSI1", textKeys(attrOperator, attrDate), all},
		{"GSI2", textKeys(attrEscalated, attrStateDate), all},
	}
}

// Write writes the model.
func (w *Writer) Write(out io.Writer) error {
	var model any = w.whole()
	if w.base != nil {
		model = json.RawMessage(w.refilled())
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(model); err != nil {
		return err
	}
	if text.Len() > MaxBytes {
		return tooLong()
	}
	_, err := out.Write(text.Bytes())
	return err
}

// modified is when the model was written, as Workbench writes it.
func (d *Design) modified() string { return d.Now.Std().Format("Jan 02, 2006, 03:04 PM") }

// whole is a model of the Writer's own design.
func (w *Writer) whole() written {
	now := w.design.modified()
	return written{
		ModelName: w.design.Name,
		ModelMetadata: metadata{
			Author: w.design.Author, DateCreated: now, DateLastModified: now,
			Description: w.design.Description, AWSService: "Amazon DynamoDB", Version: "3.0",
		},
		DataModel: []writtenTable{{
			TableName: w.design.Table, KeyAttributes: textKeys(attrDevice, attrStateDate),
			NonKeyAttributes: w.declared, TableFacets: []struct{}{},
			GlobalSecondaryIndexes: logIndexes(), BillingMode: "PAY_PER_REQUEST",
			TableData: w.items,
		}},
	}
}
