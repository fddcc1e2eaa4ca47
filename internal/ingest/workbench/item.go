package workbench

import (
	"bytes"
	"encoding/json"
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

// isField reports whether an attribute is a field of an entry. All others are kept with it.
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
	if compact.Bytes()[0] != '{' {
		s.At = 0
		return i, &wrong{reason: s.Want("an object").Reason}
	}
	seen := map[string]bool{}
	for name, value := range jsonscan.Members(compact.String()) {
		if other := alias[name]; other != "" {
			name = other
		}
		if seen[name] {
			return i, &wrong{name, "it occurs twice"}
		}
		seen[name] = true
		i.attributes = append(i.attributes, attribute{name, value})
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

// texts is text for several attributes.
func (i *Item) texts(names ...string) (all []string, err error) {
	for _, name := range names {
		text, err := i.text(name)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// Event makes an event of an item. Its error names the attribute and the reason.
func (i *Item) Event() (e andon.Event, err error) {
	fields, err := i.texts(attrDevice, attrOperator, attrEscalated, attrMessage)
	if err != nil {
		return e, err
	}
	e = andon.Event{
		Device: andon.DeviceID(fields[0]), Operator: andon.PersonID(fields[1]),
		EscalatedTo: andon.PersonID(fields[2]), Message: fields[3],
	}
	if err := i.keepOthers(&e); err != nil { // it says more about an item of something else
		return e, err
	}
	if e.Device == "" {
		return e, &wrong{attrDevice, "it is missing, so the item is of no device"}
	}
	if err := i.key(&e); err != nil {
		return e, err
	}
	return e, e.Validate()
}

// key takes the state and the time from the sort key, or from the two attributes that make it.
// Where an item has both, they must agree.
func (i *Item) key(e *andon.Event) error {
	fields, err := i.texts(attrStateDate, attrState, attrDate)
	if err != nil {
		return err
	}
	joined, state, date := fields[0], fields[1], fields[2]
	switch {
	case joined != "":
		return splitKey(e, joined, state, date)
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

// keepOthers keeps all other attributes with the entry. What is in Attributes alone stays as it was
// written.
func (i *Item) keepOthers(e *andon.Event) (err error) {
	own, isObject := objectWithin(i.get(attrAttributes))
	b, seen, others := []byte{'{'}, map[string]bool{}, 0
	for _, a := range i.attributes {
		if isField(a.name) && (a.name != attrAttributes || isObject) {
			continue
		}
		if b, err = appendPlain(append(appendName(b, a.name), ':'), a.value, a.name); err != nil {
			return err
		}
		seen[a.name] = true
		others++
	}
	if isObject && others == 0 {
		e.Attributes = andon.JSON(own)
		return nil
	}
	for name, value := range jsonscan.Members(own) {
		if seen[name] {
			return &wrong{name, "it occurs twice, in the item or within Attributes"}
		}
		seen[name] = true
		b = append(append(appendName(b, name), ':'), value...)
	}
	if len(b) > 1 {
		e.Attributes = andon.JSON(append(b, '}'))
	}
	return nil
}

// objectWithin returns the text of the attribute Attributes, if that is an object of JSON. If it is
// anything else, it is an attribute as others are.
func objectWithin(value string) (text string, ok bool) {
	_, content, _ := split(value)
	text = unquoted(content)
	s := jsonscan.Scanner{Text: text}
	if s.Next() != '{' || s.Skip(0) != nil || s.End() != nil {
		return "", false
	}
	return text, true
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
