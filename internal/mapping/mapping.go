// Package mapping turns a message of a foreign system into entries: events and readings. It is
// pure: it knows no broker, no store and no clock, so a mapping can be tried on files.
package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
	"github.com/andonhq/andon/internal/ingest/table"
)

// Message is what a foreign system sent, and what is known of how it came.
type Message struct {
	Place   string // where it is in its source, unique there: topic, partition and offset
	Topic   string // or stream
	Key     string
	Headers map[string]string
	Value   []byte
	// Time is that of an entry that names none. The same message has the same time whenever it is
	// read, and two messages of one key have different ones.
	Time andon.Time
}

// Entry is an event or a reading of a tenant.
type Entry struct {
	Index   int            // of what it is made of, in its message, from 0
	Line    int            // in its message, from 1; 0 where that has no lines
	Tenant  andon.TenantID // "" where the mapping names none: that of the source
	Event   *andon.Event
	Reading *andon.Reading
}

// Mapping says what messages become. Its methods may be called concurrently.
type Mapping struct {
	row     table.Mapping // its columns are templates
	each    string        // path to the parts that become entries; "" for the message itself
	when    []condition
	tenant  string                 // template
	state   string                 // template
	names   map[string]andon.State // of states, in lower case; nil: they are called as they come
	unnamed andon.State            // "" refuses states without a name
}

// Map returns the entries of a message, and why parts of it are none. Without a mapping the message
// is Andon's own JSON. An entry without a time has that of the message.
func (m *Mapping) Map(message *Message) (entries []Entry, refused []andon.Rejection) {
	if m == nil {
		entries, refused = own(message)
	} else {
		entries, refused = m.foreign(message)
	}
	for _, e := range entries {
		switch {
		case e.Event != nil && e.Event.Time == 0:
			e.Event.Time = message.Time
		case e.Reading != nil && e.Reading.Time == 0:
			e.Reading.Time = message.Time
		}
	}
	return entries, refused
}

func (m *Mapping) foreign(message *Message) (entries []Entry, refused []andon.Rejection) {
	all, err := parts(string(message.Value), m.each)
	if err != nil {
		return nil, []andon.Rejection{{Error: err.Error()}}
	}
	s := scope{Message: message, once: map[string]string{}}
	for i, part := range all {
		s.part = part
		if slices.ContainsFunc(m.when, func(c condition) bool {
			return jsonscan.Text(s.value(c.reference)) != c.text
		}) {
			continue
		}
		found, err := m.entries(&s)
		for _, e := range found {
			e.Index = i
			entries = append(entries, e)
		}
		if err != nil {
			refused = append(refused, andon.Rejection{Index: i, Error: reasonOf(err)})
		}
		if s.again > andon.MaxRequestBytes {
			return entries, append(refused, andon.Rejection{Index: i + 1, Error: fmt.Sprintf(
				"the entries have more than %d MB of what is in the message once; nothing is "+
					"read from here on", andon.MaxRequestBytes>>20)})
		}
	}
	return entries, refused
}

// reasonOf has package table speak of mappings. It knows columns, and flags that fill them in.
func reasonOf(err error) string {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "column "), "; if that is a decimal")
	return strings.NewReplacer("--date-order", "times.dates", "precision=", "times.unit: ").
		Replace(text)
}

// entries maps a part: to an event where it has a state, and to a reading where it has metrics.
func (m *Mapping) entries(s *scope) (entries []Entry, err error) {
	row := table.NewRow(s.find)
	for _, column := range []string{m.tenant, m.row.Device[0]} {
		if _, ok := row.Value(column); !ok && column != "" {
			return nil, fmt.Errorf("there is no %s", column)
		}
	}
	tenant, _ := row.Value(m.tenant)
	state, isEvent := row.Value(m.state)
	isReading := slices.ContainsFunc(m.row.Metrics, func(column string) bool {
		_, ok := row.Value(strings.TrimSuffix(column, ".*"))
		return ok
	})
	if isEvent || !isReading && m.state != "" {
		if s.state, err = m.stateOf(state); err != nil {
			return nil, err
		}
		e, err := m.row.Event(row)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Tenant: andon.TenantID(tenant), Event: &e})
	}
	if isReading || m.state == "" {
		r, err := m.row.Reading(row)
		if err != nil {
			return entries, err
		}
		entries = append(entries, Entry{Tenant: andon.TenantID(tenant), Reading: &r})
	}
	return entries, nil
}

// stateOf returns what a state is called here.
func (m *Mapping) stateOf(foreign string) (andon.State, error) {
	state := m.names[strings.ToLower(foreign)]
	switch {
	case foreign == "":
		return "", fmt.Errorf("there is no %s", m.state)
	case m.names == nil:
		return andon.State(foreign), nil
	case state == "" && m.unnamed == "":
		return "", fmt.Errorf("state %s is not in the mapping, which has no states.default",
			ingest.Clip(foreign))
	}
	return cmp.Or(state, m.unnamed), nil
}
