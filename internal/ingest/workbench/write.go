package workbench

import (
	"bytes"
	_ "embed" // the empty models
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Models without items. NOW is replaced. A facet is an access pattern: the first one has all items,
// and each index has one.
var (
	// emptyLog is the table of the reference's last step, with both indexes. An item without an
	// operator is not in GSI1, and only an item that was escalated is in GSI2.
	//
	//go:embed log.json
	emptyLog string

	// emptyReadings is the table of the time-series guide, with both indexes.
	//
	//go:embed readings.json
	emptyReadings string
)

// Writer makes a model of entries, or of readings: the design of another model, with these as its
// items.
//
// Workbench wants each attribute declared with one type. So an attribute of an event becomes an
// attribute of the item if it has the type that the first of its name has, and its name is free.
// Those that are not are together in the text Attributes, and so is what is NULL.
type Writer struct {
	base  *Model
	table int    // which of the tables is written
	facet int    // which of its facets has the items; -1: the table has them
	now   string // when the model is written, as Workbench writes it
	added []attributeDef
	types map[string]string // of the declared ones, by name
	items []object
	size  int // of the items, in bytes
}

// New returns a model without items, made now: of entries, or of readings.
func New(ofReadings bool, now andon.Time) (*Model, error) {
	empty := emptyLog
	if ofReadings {
		empty = emptyReadings
	}
	return Parse(strings.Replace(empty, "NOW", written(now), 1))
}

// Refill returns a Writer of the same model with other entries, or readings: all of its design
// stays, also what is not known here. The items of its log, or of its table of the time-series
// guide, are replaced, and what attributes they need are declared.
func (m *Model) Refill(ofReadings bool, now andon.Time) (*Writer, error) {
	holds, isText := (*table).isLog, isField
	if ofReadings {
		holds, isText = (*table).holdsReadings, func(name string) bool {
			return isFlatField(name) && name != jsonfeed.FlatExpiry
		}
	}
	n := m.find(holds)
	switch {
	case n < 0 && ofReadings:
		return nil, andon.Errorf(andon.Invalid, "no table of the model has the keys %s and %s",
			jsonfeed.FlatDevice, jsonfeed.FlatTime)
	case n < 0:
		return nil, andon.Errorf(andon.Invalid, "no table of the model is a log of device states")
	}
	t := &m.tables[n]
	w := &Writer{base: m, table: n, facet: -1, now: written(now), types: map[string]string{}}
	for i, f := range t.TableFacets {
		if len(f.TableData) == 0 {
			continue
		}
		if w.facet >= 0 {
			return nil, andon.Errorf(andon.Invalid, "the items of table %s are in its facets %s "+
				"and %s, and there is no telling which entry is of which facet",
				ingest.Clip(t.TableName), ingest.Clip(t.TableFacets[w.facet].FacetName),
				ingest.Clip(f.FacetName))
		}
		w.facet = i
	}
	if w.facet < 0 && len(t.TableData) == 0 && len(t.TableFacets) > 0 &&
		t.TableFacets[0].hasKeysOf(t) {
		w.facet = 0
	}
	for _, a := range t.attributes() {
		if isText(a.AttributeName) && a.AttributeType != kindText {
			return nil, andon.Errorf(andon.Invalid, "table %s: attribute %s has the type %s, "+
				"want S", ingest.Clip(t.TableName), a.AttributeName, ingest.Clip(a.AttributeType))
		}
		w.types[a.AttributeName] = a.AttributeType
	}
	return w, nil
}

func written(t andon.Time) string { return t.Std().Format("Jan 02, 2006, 03:04 PM") }

func (w *Writer) put(item *object, name, kind string, v value) {
	if w.types[name] == "" {
		w.types[name] = kind
		w.added = append(w.added, attributeDef{name, kind})
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
	return w.keep(item)
}

// AddReading adds a reading. Its error is that the model would be too long, or that a metric has a
// name that the table has for something else.
func (w *Writer) AddReading(r *andon.Reading) error {
	var item object
	w.put(&item, jsonfeed.FlatDevice, kindText, value{kindText: string(r.Device)})
	w.put(&item, jsonfeed.FlatTime, kindText, value{kindText: r.Time.String()})
	for _, m := range r.Metrics {
		name := string(m.Name)
		if kind := w.types[name]; isFlatField(name) || kind != "" && kind != kindNumber {
			return andon.Errorf(andon.Invalid, "the metric %s of device %q at %s has the name of "+
				"another attribute of the table: export the others with --metrics",
				ingest.Clip(name), r.Device, r.Time)
		}
		number := strconv.FormatFloat(m.Value, 'g', -1, 64)
		w.put(&item, name, kindNumber, value{kindNumber: number})
	}
	if r.Metadata != "" {
		w.put(&item, jsonfeed.FlatMetadata, kindText, value{kindText: string(r.Metadata)})
	}
	return w.keep(item)
}

// isFlatField reports whether an attribute of the time-series guide's table is no metric.
func isFlatField(name string) bool {
	return slices.Contains([]string{
		jsonfeed.FlatDevice, jsonfeed.FlatTime, jsonfeed.FlatMetadata, jsonfeed.FlatExpiry,
	}, name)
}

func (w *Writer) keep(item object) error {
	if w.size += len(item.String()); w.size > MaxBytes/2 { // the other half is the indentation
		return tooLong()
	}
	w.items = append(w.items, item)
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
	t := objectOf(tables[w.table])
	declared := elements(t.get("NonKeyAttributes"))
	for _, a := range w.added {
		declared = append(declared, encode(a))
	}
	t.set("NonKeyAttributes", array(declared))
	items := make([]string, len(w.items))
	for i := range w.items {
		items[i] = w.items[i].String()
	}
	if w.facet < 0 {
		t.set("TableData", array(items))
	} else {
		t.set("TableFacets", array(w.refilled(elements(t.get("TableFacets")), items)))
	}
	tables[w.table] = t.String()
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

func (w *Writer) refilled(facets, items []string) []string {
	f := objectOf(facets[w.facet])
	names := elements(f.get("NonKeyAttributes"))
	for _, a := range w.added {
		names = append(names, encode(a.AttributeName))
	}
	f.set("NonKeyAttributes", array(names))
	f.set("TableData", array(items))
	facets[w.facet] = f.String()
	return facets
}

// WriteSample writes the items as the sample data that Workbench imports into a table: CSV whose
// header has the names of the attributes. What is no text, number or truth value is JSON as
// DynamoDB has it.
func (w *Writer) WriteSample(out io.Writer) error {
	t := &w.base.tables[w.table]
	var names []string
	for _, a := range slices.Concat([]attributeDef{t.KeyAttributes.PartitionKey,
		t.KeyAttributes.SortKey}, t.NonKeyAttributes, w.added) {
		if a.AttributeName != "" {
			names = append(names, a.AttributeName)
		}
	}
	lines := csv.NewWriter(out)
	_ = lines.Write(names) // Error says it
	row := make([]string, len(names))
	for _, item := range w.items {
		for i, name := range names {
			row[i] = cell(item.get(name))
		}
		_ = lines.Write(row)
	}
	lines.Flush()
	return lines.Error()
}

// cell is a value with its type as a cell of sample data.
func cell(text string) string {
	kind, content, _ := split(decode(text))
	switch kind {
	case "":
		return ""
	case kindText, kindNumber:
		return content.(string)
	case kindBool:
		return encode(content)
	}
	return text
}
