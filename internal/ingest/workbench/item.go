package workbench

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// The attributes of a log of device states, as the reference's model names them. The first steps of
// the reference have State and Date alone, the later ones both joined in the sort key. Message and
// Attributes are those of the store's layout reference: Attributes is a text that is JSON.
const (
	attrDevice     = "DeviceID"
	attrStateDate  = "State#Date"
	attrDate       = "Date"
	attrState      = "State"
	attrOperator   = "Operator"
	attrEscalated  = "EscalatedTo"
	attrMessage    = "Message"
	attrAttributes = "Attributes"
)

// isField reports whether an attribute is a field of an entry. All others are kept beside it.
func isField(name string) bool {
	switch name {
	case attrDevice, attrStateDate, attrDate, attrState, attrOperator, attrEscalated, attrMessage,
		attrAttributes:
		return true
	}
	return false
}

// Item is one item of a table: its attributes in their order, each with its type.
type Item struct{ attributes []attribute }

type attribute struct {
	name  string
	value string // JSON with its type: {"S": "text"}
}

// AddText adds an attribute that is text, as all are in a file of sample data.
func (i *Item) AddText(name, text string) {
	i.attributes = append(i.attributes, attribute{name, string(wrapText(nil, text))})
}

// readItem reads an item. Attributes that have an alias are called by it.
func readItem(text string, alias map[string]string) (Item, error) {
	var i Item
	s := jsonscan.Scanner{Text: text}
	if f := s.Skip(0); f != nil {
		return i, &wrong{reason: f.Reason}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return i, &wrong{reason: err.Error()}
	}
	s = jsonscan.Scanner{Text: compact.String()}
	seen, twice := map[string]bool{}, ""
	f := object(&s, func(name string) *jsonscan.Fault {
		value, f := skipped(&s)
		if other := alias[name]; other != "" {
			name = other
		}
		if seen[name] {
			twice = name
		}
		seen[name] = true
		i.attributes = append(i.attributes, attribute{name, value})
		return f
	})
	if f != nil {
		return i, &wrong{reason: f.Reason}
	}
	if twice != "" {
		return i, &wrong{twice, "it stands twice"}
	}
	return i, nil
}

func (i *Item) get(name string) string {
	for _, a := range i.attributes {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// text returns an attribute that is a text or a number; "" where the item has none, or NULL.
func (i *Item) text(name string) (string, error) {
	value := i.get(name)
	if value == "" {
		return "", nil
	}
	kind, content, ok := split(value)
	if kind == kindNull {
		return "", nil
	}
	if !ok || kind != kindText && kind != kindNumber {
		return "", &wrong{name, `want {"S": "text"}, found ` + ingest.Clip(value)}
	}
	if why := mismatch(kind, content); why != "" {
		return "", &wrong{name, why + ", found " + ingest.Clip(content)}
	}
	return unquoted(content), nil
}

// Event makes an event of an item. Its error names the attribute and the reason.
func (i *Item) Event() (andon.Event, error) {
	var device, operator, escalated, message string
	for _, f := range []struct {
		name string
		into *string
	}{
		{attrDevice, &device}, {attrOperator, &operator}, {attrEscalated, &escalated},
		{attrMessage, &message},
	} {
		text, err := i.text(f.name)
		if err != nil {
			return andon.Event{}, err
		}
		*f.into = text
	}
	if device == "" {
		return andon.Event{}, &wrong{attrDevice, "it is missing, so the item is of no device"}
	}
	e := andon.Event{
		Device: andon.DeviceID(device), Operator: andon.PersonID(operator),
		EscalatedTo: andon.PersonID(escalated), Message: message,
	}
	if err := i.key(&e); err != nil {
		return e, err
	}
	if err := i.beside(&e); err != nil {
		return e, err
	}
	return e, e.Validate()
}

// key takes the state and the time from the sort key, or from the two attributes that make it.
// Where an item has both, they must agree.
func (i *Item) key(e *andon.Event) error {
	joined, err := i.text(attrStateDate)
	if err != nil {
		return err
	}
	state, err := i.text(attrState)
	if err != nil {
		return err
	}
	date, err := i.text(attrDate)
	if err != nil {
		return err
	}
	if joined != "" {
		return splitKey(e, joined, state, date)
	}
	switch {
	case state == "" && date == "":
		return &wrong{attrStateDate, "it is missing, and so are State and Date"}
	case state == "":
		return &wrong{attrState, "it is missing"}
	case date == "":
		return &wrong{attrDate, "it is missing"}
	}
	e.State = andon.State(state)
	if e.Time, err = andon.ParseTime(date); err != nil {
		return &wrong{attrDate, err.Error()}
	}
	return nil
}

// splitKey splits a sort key. A date has no #, and a state may have one.
func splitKey(e *andon.Event, joined, state, date string) error {
	n := strings.LastIndexByte(joined, '#')
	if n < 1 {
		return &wrong{attrStateDate, "want a state, # and a date, found " + ingest.Clip(joined)}
	}
	at, err := andon.ParseTime(joined[n+1:])
	if err != nil {
		return &wrong{attrStateDate, err.Error()}
	}
	e.State, e.Time = andon.State(joined[:n]), at
	if state != "" && state != joined[:n] {
		return &wrong{attrState, ingest.Clip(state) + " is not the state of State#Date, " +
			ingest.Clip(joined)}
	}
	if date == "" {
		return nil
	}
	if at, err = andon.ParseTime(date); err != nil {
		return &wrong{attrDate, err.Error()}
	}
	if at != e.Time {
		return &wrong{attrDate, ingest.Clip(date) + " is not the date of State#Date, " +
			ingest.Clip(joined)}
	}
	return nil
}

// beside keeps all other attributes beside the entry. What stands in Attributes alone stays as it
// was written.
func (i *Item) beside(e *andon.Event) error {
	own, isObject := objectWithin(i.get(attrAttributes))
	alone := func(a attribute) bool { return !isField(a.name) }
	if isObject && !slices.ContainsFunc(i.attributes, alone) {
		e.Attributes = andon.JSON(own)
		return nil
	}
	b := []byte{'{'}
	seen := map[string]bool{}
	add := func(name string, value func([]byte) ([]byte, error)) (err error) {
		if seen[name] {
			return &wrong{name, "it stands twice, in the item or within Attributes"}
		}
		seen[name] = true
		b, err = value(append(appendName(b, name), ':'))
		return err
	}
	for _, a := range i.attributes {
		var err error
		switch plain := func(b []byte) ([]byte, error) {
			return appendPlain(b, a.value, a.name)
		}; {
		case a.name == attrAttributes && isObject:
			err = within(own, add)
		case a.name == attrAttributes, !isField(a.name):
			err = add(a.name, plain)
		}
		if err != nil {
			return err
		}
	}
	if len(b) > 1 {
		e.Attributes = andon.JSON(append(b, '}'))
	}
	return nil
}

// objectWithin returns the text of the attribute Attributes, if that is an object of JSON. If it is
// anything else, it is an attribute as others are.
func objectWithin(value string) (text string, ok bool) {
	if value == "" {
		return "", false
	}
	_, content, _ := split(value)
	text = unquoted(content)
	s := jsonscan.Scanner{Text: text}
	return text, s.Next() == '{' && s.Skip(0) == nil && s.End() == nil
}

// within adds the members of an object.
func within(text string, add func(string, func([]byte) ([]byte, error)) error) (err error) {
	s := jsonscan.Scanner{Text: text}
	object(&s, func(name string) *jsonscan.Fault {
		member, f := skipped(&s)
		if err == nil {
			err = add(name, func(b []byte) ([]byte, error) { return append(b, member...), nil })
		}
		return f
	})
	return err
}

// wrapText appends a text as a value of DynamoDB.
func wrapText(b []byte, text string) []byte {
	return wrap(b, kindText, string(appendText(nil, text)))
}

// appendText appends a string of JSON.
func appendText(b []byte, text string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be written
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
