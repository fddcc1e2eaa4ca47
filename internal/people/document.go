package people

import (
	"encoding/json"
	"hash/crc32"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/rules"
)

// The documents that people write. Each is a record of its tenant, by name, with the version of the
// record as its ETag. Durations are texts such as "15m"; times of day "06:00"; days "mon".."sun".
// Validate of each reports what is wrong with the place of it: "body.steps[2].to". A body need not
// have a name: it is that of the path, "path.name".

// DocumentKind is a sort of document: the plural in its path, and the kind of its record.
type DocumentKind string

// The kinds of document.
const (
	Policies     DocumentKind = "policies"
	Schedules    DocumentKind = "schedules"
	Rules        DocumentKind = "rules"
	Persons      DocumentKind = "people"
	Maintenances DocumentKind = "maintenance"
)

// Match selects incidents or devices. What is absent selects all; all that is there must fit.
type Match struct {
	States      []andon.State `json:"states,omitempty"`
	MinSeverity uint8         `json:"min_severity,omitempty"`
	Group       andon.Group   `json:"group,omitempty"` // and all below
	Prefix      string        `json:"prefix,omitempty"`
	Kind        Kind          `json:"kind,omitempty"` // "absent:" is every rule of that kind
	// Hours limit it to a time of day: "mon-fri 06:00-22:00", in Zone.
	Hours string `json:"hours,omitempty"`
	Zone  string `json:"zone,omitempty"` // IANA; UTC unless set
}

// Policy says what is done about incidents that it matches. Of several the one with the highest
// MinSeverity that matches counts, then the first by name.
type Policy struct {
	Name  string       `json:"name,omitempty"`
	Match Match        `json:"match"`
	Steps []PolicyStep `json:"steps"`
	// Repeat is how often the steps are done again after the last one, Every apart from the last
	// step to the first.
	Repeat int            `json:"repeat,omitempty"`
	Every  andon.Duration `json:"every,omitempty"`
	// Stop is what ends it, besides the return to normal: "acknowledged" (the default) or "taken".
	Stop string `json:"stop,omitempty"`
	// AckExpires is how long an acknowledgement that names no time holds; 0: until the end.
	AckExpires andon.Duration `json:"ack_expires,omitempty"`
	// Assign makes the person whom the target names the operator of a device that has none, at the
	// opening, and again when a shift ends: "schedule line-3".
	Assign Target `json:"assign,omitempty"`
}

// sum is another one when the policy is changed, and never 0.
func (p *Policy) sum() uint32 {
	text, _ := json.Marshal(p)
	return max(crc32.ChecksumIEEE(text), 1)
}

// PolicyStep is done After the beginning of its round.
type PolicyStep struct {
	After andon.Duration `json:"after"`
	To    Target         `json:"to"`
}

// Target names who is told: "operator" (whoever is assigned to the device), "schedule NAME" (who is
// on call), "supervisor NAME" (the entry is escalated to that person), "person NAME", or
// "turn GROUP-SCHEDULE" (the next in turn of a schedule's people, one an incident).
type Target string

// Person is somebody who can be told.
type Person struct {
	Name        andon.PersonID `json:"name,omitempty"`
	Zone        string         `json:"zone,omitempty"`
	Contacts    []Contact      `json:"contacts,omitempty"`
	MinSeverity uint8          `json:"min_severity,omitempty"`
	// Quiet are hours in which only severities from QuietSeverity on are sent: "22:00-06:00". Both
	// are set together.
	Quiet         string `json:"quiet,omitempty"`
	QuietSeverity uint8  `json:"quiet_severity,omitempty"`
}

// Contact is where a person is told: a channel of the settings (notify.channels), and the address
// there: a mail address, a chat, a topic, a URL. Empty where the channel has one itself.
type Contact struct {
	Channel string `json:"channel"`
	Address string `json:"address,omitempty"`
}

// Maintenance is a window in which incidents of some devices are suppressed.
type Maintenance struct {
	Name    string           `json:"name,omitempty"`
	Devices []andon.DeviceID `json:"devices,omitempty"`
	Prefix  string           `json:"prefix,omitempty"`
	Group   andon.Group      `json:"group,omitempty"`
	Start   andon.Time       `json:"start"`
	Length  andon.Duration   `json:"length"`
	Rule    string           `json:"rrule,omitempty"` // RFC 5545, without DTSTART; absent: once
	Zone    string           `json:"zone,omitempty"`  // in which it repeats
	Note    string           `json:"note,omitempty"`
	By      andon.PersonID   `json:"by,omitempty"`
}

// Rule turns readings into states.
type Rule rules.Rule

// Schedule says who is on call. The first layer that has somebody at a time counts, after the
// overrides.
type Schedule struct {
	Name      string     `json:"name,omitempty"`
	Zone      string     `json:"zone,omitempty"`
	Layers    []Layer    `json:"layers"`
	Overrides []Override `json:"overrides,omitempty"`
}

// Layer is people who take turns.
type Layer struct {
	People []andon.PersonID `json:"people"`
	From   string           `json:"from"` // the local date of the first turn of the first person
	// Turn is the length of a turn: "1d", "7d", or hours that divide a day. HandOver is the local
	// time of day at which turns change.
	Turn     andon.Duration `json:"turn"`
	HandOver string         `json:"hand_over"`
	Hours    []string       `json:"hours,omitempty"` // "mon-fri 06:00-14:00"; absent: always
}

// Override puts a person on call for a time, whatever the layers say.
type Override struct {
	From   andon.Time     `json:"from"`
	To     andon.Time     `json:"to"`
	Person andon.PersonID `json:"person"`
	Reason string         `json:"reason,omitempty"`
}

// One is the name of one document of a kind: "policy".
func (k DocumentKind) One() string {
	switch k {
	case Policies:
		return "policy"
	case Schedules:
		return "schedule"
	case Rules:
		return "rule"
	case Persons:
		return "person"
	}
	return string(k)
}
