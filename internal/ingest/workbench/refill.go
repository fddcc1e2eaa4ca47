package workbench

import (
	"encoding/json"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// Refill returns a Writer of the same model with other entries: all of its design stays, also what
// is not known here. The items of its log are replaced, and what attributes they need are declared.
func (m *Model) Refill(now andon.Time) (*Writer, error) {
	n := m.log()
	if n < 0 {
		return nil, andon.Errorf(andon.Invalid, "no table of the model is a log of device states")
	}
	t := m.tables[n]
	for _, i := range t.data {
		if i.facet != "" {
			return nil, andon.Errorf(andon.Invalid, "the items of table %s are in its facet %s, "+
				"and there is no telling which entry is of which facet",
				ingest.Clip(t.name), ingest.Clip(i.facet))
		}
	}
	w := &Writer{base: m, now: written(now), declared: t.others, types: map[string]string{}}
	attributes := append(slices.Clone(t.others), t.keys.PartitionKey)
	if t.keys.SortKey != nil {
		attributes = append(attributes, *t.keys.SortKey)
	}
	for _, a := range attributes {
		if isField(a.AttributeName) && a.AttributeType != kindText {
			return nil, andon.Errorf(andon.Invalid, "table %s: attribute %s has the type %s, "+
				"want S", ingest.Clip(t.name), a.AttributeName, ingest.Clip(a.AttributeType))
		}
		w.types[a.AttributeName] = a.AttributeType
	}
	return w, nil
}

// refilled is the text of the model with the new items.
func (w *Writer) refilled() string {
	model := w.base.text
	var tables []byte
	n := 0
	for table := range jsonscan.Elements(valueOf(model, "DataModel")) {
		if n == w.base.log() {
			table = w.refilledTable(table)
		}
		tables = append(append(tables, ","[:min(n, 1)]...), table...)
		n++
	}
	now := string(appendText(nil, w.now))
	return with(model,
		part{"ModelMetadata", with(valueOf(model, "ModelMetadata"), part{"DateLastModified", now})},
		part{"DataModel", "[" + string(tables) + "]"})
}

func (w *Writer) refilledTable(table string) string {
	declared := []byte{'['}
	for a := range jsonscan.Elements(valueOf(table, "NonKeyAttributes")) {
		declared = append(comma(declared), a...)
	}
	for _, a := range w.declared[len(w.base.tables[w.base.log()].others):] {
		text, _ := json.Marshal(a) // two strings
		declared = append(comma(declared), text...)
	}
	data := []byte{'['}
	for _, item := range w.items {
		data = append(comma(data), item...)
	}
	return with(table, part{"NonKeyAttributes", string(append(declared, ']'))},
		part{"TableData", string(append(data, ']'))})
}

// part is a member of an object, as text.
type part struct{ name, value string }

// valueOf returns a member of an object that is known to be JSON; "" where it has none.
func valueOf(object, name string) string {
	for member, value := range jsonscan.Members(object) {
		if member == name {
			return value
		}
	}
	return ""
}

// with returns an object with other values of some members, which come last where it had none.
func with(object string, parts ...part) string {
	b := []byte{'{'}
	for name, value := range jsonscan.Members(object) {
		for i, p := range parts {
			if p.name == name {
				value = p.value
				parts = slices.Delete(parts, i, i+1)
				break
			}
		}
		b = append(append(appendName(b, name), ':'), value...)
	}
	for _, p := range parts {
		b = append(append(appendName(b, p.name), ':'), p.value...)
	}
	return string(append(b, '}'))
}
