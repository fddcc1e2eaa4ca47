// Package mapping turns a message of a foreign system into entries: events and readings. It is
// pure: it knows no broker, no store and no clock, so a mapping can be tried on files.
package mapping

import "github.com/andonhq/andon"

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
type Mapping struct{}

// Map returns the entries of a message, and why parts of it are none. Without a mapping the message
// is Andon's own JSON. An entry without a time has that of the message.
func (m *Mapping) Map(message *Message) (entries []Entry, refused []andon.Rejection) {
	entries, refused = own(message)
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
