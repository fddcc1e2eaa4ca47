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
	Tenant  andon.TenantID // "" where the mapping names none: that of the source
	Event   *andon.Event
	Reading *andon.Reading
}
