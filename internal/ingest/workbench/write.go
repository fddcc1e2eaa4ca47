package workbench

import (
	"bytes"
	_ "embed" // the empty model
	"encoding/json"
	"io"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// empty is a model without items: the table of the reference's last step, with both indexes. An
// item without an operator is not in GSI1, and only an item that was escalated is in GSI2. NOW
// is replaced.
//
//go:embed model.json
var empty string

// Writer makes a model of entries: the design of another model, with these as its items.
//
// Workbench wants each attribute declared with one type. So an attribute of an event becomes an
// attribute of the item if it has the type that the first of its name has, and its name is free.
// Those that are not are together in the text Attributes, and so is what is NULL.
type Writer struct {
	base  *Model
	log   int    // which of the tables is written
	now   string // when the model is written, as Workbench writes it
	added []string
	types map[string]string // of the declared ones, by name
	items []string
	size  int // of the items, in bytes
}

// NewWriter returns a model without entries, made now.
func NewWriter(now andon.Time) (*Writer, error) {
	m, err := Parse(strings.Replace(empty, "NOW", written(now), 1))
	if err != nil {
		return nil, err
	}
	return m.Refill(now)
}

// Refill returns a Writer of the same model with other entries: all of its design stays, also what
// is not known here. The items of its log are replaced, and what attributes they need are declared.
func (m *Model) Refill(now andon.Time) (*Writer, error) {
	n := m.log()
	if n < 0 {
		return nil, andon.Errorf(andon.Invalid, "no table of the model is a log of device states")
	}
	t := &m.tables[n]
	for _, f := range t.TableFacets {
		if len(f.TableData) > 0 {
			return nil, andon.Errorf(andon.Invalid, "the items of table %s are in its facet %s, "+
				"and there is no telling which entry is of which facet",
				ingest.Clip(t.TableName), ingest.Clip(f.FacetName))
		}
	}
	w := &Writer{base: m, log: n, now: written(now), types: map[string]string{}}
	for _, a := range t.attributes() {
		if isField(a.AttributeName) && a.AttributeType != kindText {
			return nil, andon.Errorf(andon.Invalid, "table %s: attribute %s has the type %s, "+
				"want S", ingest.Clip(t.TableName), a.AttributeName, ingest.Clip(a.AttributeType))
		}
		w.types[a.AttributeName] = a.AttributeType
	}
	return w, nil
}

// written is a time as Workbench writes it.
func written(t andon.Time) string { return t.Std().Format("Jan 02, 2006, 03:04 PM") }

// put adds an attribute to an item, and declares it.
func (w *Writer) put(item *object, name, kind string, v value) {
	if w.types[name] == "" {
		w.types[name] = kind
		w.added = append(w.added, encode(attributeDef{name, kind}))
	}
	item.add(name, encode(v))
}

// Add adds an entry. Its error is that the model would be too long.
func (w *Writer) Add(e *andon.Event) error {
	// As the reference writes it: UTC, without a zone, and no zeros at the end of a fraction.
	date := e.Time.Std().Format("2006-01-02T15:04:05.999999")
	var item object
	for _, a := range []member{
		{attrDevice, string(e.Device)}, {attrStateDate, string(e.State) + "#" + date},
		{attrOperator, string(e.Operator)}, {attrDate, date}, {attrState, string(e.State)},
		{attrEscalated, string(e.EscalatedTo)}, {attrMessage, e.Message},
	} {
		isKey := a.name == attrStateDate || a.name == attrDate || a.name == attrState
		if a.value != "" && (!isKey || w.types[a.name] != "") {
			w.put(&item, a.name, kindText, value{kindText: a.value})
		}
	}
	if rest := w.addAttributes(&item, string(e.Attributes)); rest != "" {
		w.put(&item, attrAttributes, kindText, value{kindText: rest})
	}
	text := item.String()
	if w.size += len(text); w.size > MaxBytes/2 { // the other half is the indentation
		return tooLong()
	}
	w.items = append(w.items, text)
	return nil
}

func tooLong() error {
	return andon.Errorf(andon.Invalid, "the model would be longer than %d MiB, which is the most "+
		"that andon import workbench reads: take fewer entries with --device, --from and --to",
		MaxBytes>>20)
}

// addAttributes adds the attributes of an event, each by itself, and returns those that can't be
// so as one text. All are in it where their names do not differ.
func (w *Writer) addAttributes(item *object, attributes string) string {
	var rest object
	before, seen := len(*item), map[string]bool{}
	for name := range jsonscan.Members(attributes) {
		if seen[name] {
			return attributes
		}
		seen[name] = true
	}
	for name, text := range jsonscan.Members(attributes) {
		v, kind, fits := typed(decode(text), 0)
		taken := isField(name) || w.types[name] != "" && w.types[name] != kind
		if !fits || name == "" || taken || kind == kindNull {
			rest.add(name, text)
			continue
		}
		w.put(item, name, kind, v)
	}
	switch {
	case len(*item) == before:
		return attributes
	case len(rest) > 0:
		return rest.String()
	}
	return ""
}

// Write writes the model.
func (w *Writer) Write(out io.Writer) error {
	model := objectOf(w.base.text)
	meta := objectOf(model.get("ModelMetadata"))
	meta.set("DateLastModified", encode(w.now))
	tables := elements(model.get("DataModel"))
	t := objectOf(tables[w.log])
	t.set("NonKeyAttributes", array(append(elements(t.get("NonKeyAttributes")), w.added...)))
	t.set("TableData", array(w.items))
	tables[w.log] = t.String()
	model.set("ModelMetadata", meta.String())
	model.set("DataModel", array(tables))
	var text bytes.Buffer
	if err := json.Indent(&text, []byte(model.String()), "", "  "); err != nil {
		return err
	}
	if text.WriteByte('\n'); text.Len() > MaxBytes {
		return tooLong()
	}
	_, err := out.Write(text.Bytes())
	return err
}
