package workbench

import (
	"bytes"
	_ "embed" // the empty model
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

// empty is a model without items: the table of the reference's last step, with both indexes. An
// item without an operator is not in GSI1, and only an item that was escalated is in GSI2.
//
//go:embed model.json
var empty string

// Writer makes a model of entries: the design of another model, with these as its items.
//
// Workbench wants each attribute declared with one type. So an attribute of an event becomes an
// attribute of the item if it has the type that the first of its name has, and its name is free.
// Those that are not are together in the text Attributes, and so is what is NULL.
type Writer struct {
	base     *Model
	now      string // when the model is written, as Workbench writes it
	declared []attributeDef
	types    map[string]string // of the declared ones, by name
	items    []json.RawMessage
	size     int // of the items, in bytes
}

// NewWriter returns a model without entries.
func NewWriter(d Design) (*Writer, error) {
	quoted := func(text string) string { return string(appendText(nil, text)) }
	table := valueOf(empty, "DataModel")
	table = with(table[1:len(table)-1], part{"TableName", quoted(d.Table)})
	m, err := Parse(with(empty, part{"ModelName", quoted(d.Name)},
		part{"ModelMetadata", with(valueOf(empty, "ModelMetadata"),
			part{"Author", quoted(d.Author)}, part{"DateCreated", quoted(written(d.Now))},
			part{"Description", quoted(d.Description)})},
		part{"DataModel", "[" + table + "]"}))
	if err != nil {
		return nil, err
	}
	return m.Refill(d.Now)
}

// written is a time as Workbench writes it.
func written(t andon.Time) string { return t.Std().Format("Jan 02, 2006, 03:04 PM") }

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

// addAttributes appends the attributes of an event: each by itself, and those that can't be so as
// one text. All are in it where they are no object whose names differ.
func (w *Writer) addAttributes(b []byte, attributes string) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(attributes)) != nil || repeats(compact.String()) {
		return w.addText(b, attributes)
	}
	rest, single := []byte{'{'}, 0
	for name, plain := range jsonscan.Members(compact.String()) {
		value, kind, fits := appendTyped(nil, plain, 0)
		taken := isField(name) || w.types[name] != "" && w.types[name] != kind
		if !fits || name == "" || taken || kind == kindNull {
			rest = append(append(appendName(rest, name), ':'), plain...)
			continue
		}
		w.declare(name, kind)
		b = append(append(appendName(b, name), ':'), value...)
		single++
	}
	switch {
	case single == 0:
		return w.addText(b, attributes)
	case len(rest) > 1:
		return w.addText(b, string(append(rest, '}')))
	}
	return b
}

func (w *Writer) addText(b []byte, text string) []byte {
	w.declare(attrAttributes, kindText)
	return wrapText(append(appendName(b, attrAttributes), ':'), text)
}

// repeats reports whether an object has a name twice.
func repeats(object string) bool {
	seen := map[string]bool{}
	for name := range jsonscan.Members(object) {
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// Write writes the model.
func (w *Writer) Write(out io.Writer) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(json.RawMessage(w.refilled())); err != nil {
		return err
	}
	if text.Len() > MaxBytes {
		return tooLong()
	}
	_, err := out.Write(text.Bytes())
	return err
}
