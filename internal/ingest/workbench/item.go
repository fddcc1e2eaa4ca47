package workbench

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
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
	return slices.Contains([]string{
		attrDevice, attrStateDate, attrDate, attrState, attrOperator, attrEscalated, attrMessage,
		attrAttributes,
	}, name)
}

// Item is one item of a table: its attributes in their order, each with its type: {"S": "text"}.
type Item struct{ attributes object }

// AddText adds an attribute that is text, as all are in a file of sample data.
func (i *Item) AddText(name, text string) {
	i.attributes.add(name, encode(value{kindText: text}))
}

// readItem reads an item. Attributes that have an alias are called by it.
func readItem(text string, alias map[string]string) (i Item, err error) {
	if f := jsonscan.Object(text); f != nil {
		return i, &wrong{reason: f.Reason}
	}
	for name, value := range jsonscan.Members(text) {
		if other := alias[name]; other != "" {
			name = other
		}
		if i.attributes.get(name) != "" {
			return i, &wrong{name, "it occurs twice"}
		}
		i.attributes.add(name, value)
	}
	return i, nil
}

// texts returns attributes that are a text or a number; "" where the item has none, or NULL.
func (i *Item) texts(names ...string) (all []string, err error) {
	for _, name := range names {
		value := decode(i.attributes.get(name))
		kind, content, _ := split(value)
		text, isText := content.(string)
		switch {
		case value == nil || kind == kindNull:
		case kind != kindText && kind != kindNumber:
			return nil, &wrong{name, `want {"S": "text"}, found ` + ingest.Clip(encode(value))}
		case !isText:
			return nil, &wrong{name, kind + " is a string, found " + ingest.Clip(encode(content))}
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
	if e.Attributes, err = i.others(); err != nil { // it says more about an item of something else
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

// Reading makes a reading of an item of the time-series guide.
func (i *Item) Reading() (r andon.Reading, err error) {
	var flat object
	for _, a := range i.attributes {
		v, err := plain(decode(a.value), a.name)
		if err != nil {
			return r, err
		}
		flat.add(a.name, encode(v))
	}
	return jsonfeed.FlatReading(flat.String(), andon.Assumed)
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
	case joined == "" && state == "" && date == "":
		return &wrong{attrStateDate, "it is missing, and so are State and Date"}
	case joined == "" && state == "":
		return &wrong{attrState, "it is missing"}
	case joined == "" && date == "":
		return &wrong{attrDate, "it is missing"}
	}
	e.State = andon.State(state)
	if date != "" {
		if e.Time, err = andon.ParseTime(date); err != nil {
			return &wrong{attrDate, err.Error()}
		}
	}
	if joined == "" {
		return nil
	}
	n := strings.LastIndexByte(joined, '#') // a date has no #, and a state may have one
	if n < 1 {
		return &wrong{attrStateDate, "want a state, # and a date, found " + ingest.Clip(joined)}
	}
	at, err := andon.ParseTime(joined[n+1:])
	switch {
	case err != nil:
		return &wrong{attrStateDate, err.Error()}
	case state != "" && state != joined[:n]:
		return &wrong{attrState, ingest.Clip(state) + " is not the state of State#Date, " +
			ingest.Clip(joined)}
	case date != "" && e.Time != at:
		return &wrong{attrDate, ingest.Clip(date) + " is not the date of State#Date, " +
			ingest.Clip(joined)}
	}
	e.State, e.Time = andon.State(joined[:n]), at
	return nil
}

// others returns all other attributes, to be kept with the entry, and those in the text Attributes,
// if that is an object of JSON. What is there alone stays as it was written.
func (i *Item) others() (andon.JSON, error) {
	own := objectWithin(decode(i.attributes.get(attrAttributes)))
	var all object
	for _, a := range i.attributes {
		if isField(a.name) && (a.name != attrAttributes || own != "") {
			continue
		}
		v, err := plain(decode(a.value), a.name)
		if err != nil {
			return "", err
		}
		all.add(a.name, encode(v))
	}
	if own != "" && len(all) == 0 {
		return andon.JSON(own), nil
	}
	for name, value := range jsonscan.Members(own) {
		if all.get(name) != "" {
			return "", &wrong{name, "it occurs twice, in the item or within Attributes"}
		}
		all.add(name, value)
	}
	if len(all) == 0 {
		return "", nil
	}
	return andon.JSON(all.String()), nil
}

// objectWithin returns the text of the attribute Attributes, if that is an object of JSON. If it is
// anything else, it is an attribute as others are.
func objectWithin(v any) string {
	_, content, _ := split(v)
	text, _ := content.(string)
	if jsonscan.Object(text) != nil {
		return ""
	}
	return text
}
