package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Bounds of a message.
const (
	maxItems  = 10
	maxHeld   = 256 // incidents looked up at the end of quiet hours, if a record holds them
	maxStates = 50  // that are counted by name
	maxText   = 500 // bytes of what a device said
)

// noneLeft is what the log says of what was held and has ended or was acknowledged since.
const noneLeft = "nothing of it needs attention now"

// Summary is what a message tells: how many devices, by state, and the worst incidents.
type Summary struct {
	Count  int                 `json:"count"`
	States map[andon.State]int `json:"states,omitempty"`
	Worst  []Item              `json:"worst,omitempty"`
}

// Item is an incident as a message tells it.
type Item struct {
	Incident string         `json:"incident"`
	Device   andon.DeviceID `json:"device"`
	Kind     people.Kind    `json:"kind"`
	State    andon.State    `json:"state,omitempty"`
	Severity uint8          `json:"severity"`
	Worst    uint8          `json:"worst,omitempty"` // severity that it had
	Since    andon.Time     `json:"since"`
	Message  string         `json:"message,omitempty"`
	Operator andon.PersonID `json:"operator,omitempty"`
	Why      string         `json:"why,omitempty"`
	// Acknowledged and Ended are when what the message tells of was seen, or over.
	Acknowledged andon.Time `json:"acknowledged,omitempty"`
	Ended        andon.Time `json:"ended,omitempty"`
	Flapping     bool       `json:"flapping,omitempty"` // Severity is then the highest that it had
}

// severityOf is the severity for which people are told of an incident.
func severityOf(in *people.Incident) uint8 {
	if in.Flapping {
		return in.Worst
	}
	return in.Severity
}

// itemOf is an incident as a message tells it.
func itemOf(in *people.Incident, why string) Item {
	item := Item{
		Incident: in.ID, Device: in.Device, Kind: in.Kind, State: in.State,
		Severity: severityOf(in), Worst: in.Worst, Since: in.Since, Message: clip(in.Message),
		Operator: in.Operator, Why: clip(why),
	}
	item.follow(in)
	return item
}

// add puts an incident among the worst, by its newest notice, and returns it.
func (s *Summary) add(n *Notice, most int) *Item {
	item := itemOf(n.Incident, n.Why)
	s.Worst = slices.DeleteFunc(s.Worst, func(i Item) bool { return i.Incident == item.Incident })
	s.Worst = append(s.Worst, item)
	s.shorten(most)
	return &item
}

// shorten keeps the worst incidents. Of those that no message shows, texts are not kept: a record
// would be too long with them.
func (s *Summary) shorten(most int) {
	slices.SortStableFunc(s.Worst, compareWorst)
	s.Worst = s.Worst[:min(len(s.Worst), most)]
	for i := maxItems; i < len(s.Worst); i++ {
		s.Worst[i].Message, s.Worst[i].Why, s.Worst[i].Operator = "", "", ""
	}
}

// What is the state of the device, or that it is silent, or which metric is absent.
func (i *Item) What() andon.State {
	if i.Kind != people.StateKind && i.Kind != "" || i.State == "" {
		return andon.State(i.Kind)
	}
	return i.State
}

// needed reports whether an incident that was noted needs attention as it is now: it is neither
// over nor acknowledged since.
func (i *Item) needed(noted *Item) bool {
	return i.Ended == 0 && (i.Acknowledged == 0 || i.Acknowledged == noted.Acknowledged)
}

// severity is that of the worst that is not over.
func (s *Summary) severity() uint8 {
	if len(s.Worst) == 0 || s.Worst[0].Ended != 0 {
		return 0
	}
	return s.Worst[0].Severity
}

// compareWorst puts what is severest first, and of that what is longest.
func compareWorst(a, b Item) int {
	return cmp.Or(cmp.Compare(min(a.Ended, 1), min(b.Ended, 1)),
		cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Since, b.Since))
}

// follow notes what became of the incident, and reports whether that is new. One that flaps is not
// over. That one is open again is not told while it is paused.
func (i *Item) follow(in *people.Incident) bool {
	was := *i
	i.Acknowledged, i.Flapping = 0, in.Flapping
	if in.Acknowledged != nil {
		i.Acknowledged = in.Acknowledged.At
	}
	ended := cmp.Or(in.Until, in.Ended)
	if in.Flapping {
		ended = in.Ended
	}
	if i.Ended == 0 || ended == 0 && !in.Paused() {
		i.Ended = ended
	}
	return i.Ended != was.Ended || i.Ended == 0 && i.Acknowledged != was.Acknowledged
}

// Message is a message to one contact of a person.
type Message struct {
	ID      string         `json:"id"` // idempotency key: the same whenever it is sent
	To      andon.PersonID `json:"to"`
	Channel string         `json:"channel"`
	Address string         `json:"address,omitempty"`
	Zone    string         `json:"zone,omitempty"`
	At      andon.Time     `json:"at"`
	Status  Status         `json:"status"`
	Test    bool           `json:"test,omitempty"`
	Summary
	Tries    int       `json:"tries,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"` // the newest ones, the newest last
	Ended    bool      `json:"done,omitempty"`     // nothing is sent any more

	// Set when it is sent. Link and Acknowledge are pages of its only incident, or of all.
	Tenant      andon.TenantID `json:"-"`
	Link        string         `json:"-"`
	Acknowledge string         `json:"-"`
}

func newMessage(p *people.Person, c people.Contact, out *leaving) *Message {
	m := &Message{
		To: p.Name, Channel: c.Channel, Address: c.Address, Zone: p.Zone, At: out.At,
		Status: Waiting, Summary: out.Summary,
	}
	m.ID = fmt.Sprintf("%016x-%s", int64(andon.MaxTime-out.At),
		hash(out.ID, string(p.Name), c.Channel, c.Address))
	if out.Listed || out.Over {
		m.Status, m.Ended = Listed, true
	}
	if out.Over {
		m.Attempts = []Attempt{{At: out.At, Status: Listed, Answer: noneLeft}}
	}
	return m
}

func (m *Message) record(tenant andon.TenantID, due andon.Time) andon.Record {
	if m.Ended {
		due = due.Add(keptFor)
	}
	return andon.Record{Tenant: tenant, Kind: messageKind, ID: m.ID, Due: due}
}

// Subject is the message in a line.
func (m *Message) Subject() string {
	switch {
	case m.Test:
		return "Andon: a test message"
	case m.Count == 1 && len(m.Worst) == 1:
		return "Andon: " + m.Worst[0].title()
	}
	if m.Count == 1 && len(m.Worst) > 0 {
		return fmt.Sprintf("Andon: %s has %d incidents", m.Worst[0].Device, len(m.Worst))
	}
	return fmt.Sprintf("Andon: %d devices need attention (%s)", m.Count, m.counts(5))
}

// title says which device is in which state, or is silent.
func (i *Item) title() string {
	text := fmt.Sprintf("%s %s", i.Device, i.What())
	switch {
	case i.Ended != 0:
		return text + ", over"
	case i.Flapping:
		return text + ", flapping"
	case i.Acknowledged != 0:
		return text + ", acknowledged"
	}
	return text
}

// counts are "3 FAILURE, 2 WARNING1, 1 in other states", the most frequent first.
func (s *Summary) counts(most int) string {
	states := slices.SortedFunc(maps.Keys(s.States), func(a, b andon.State) int {
		return cmp.Or(cmp.Compare(s.States[b], s.States[a]), cmp.Compare(a, b))
	})
	var all []string
	rest := 0
	for i, state := range states {
		if i >= most {
			rest += s.States[state]
			continue
		}
		all = append(all, fmt.Sprintf("%d %s", s.States[state], state))
	}
	if rest > 0 {
		all = append(all, fmt.Sprintf("%d in other states", rest))
	}
	return strings.Join(all, ", ")
}

// Text is the message as plain text, with its links.
func (m *Message) Text() string { return m.Body() + m.Links() }

// Body is the text without its links.
func (m *Message) Body() string {
	var b strings.Builder
	if m.Tenant != andon.DefaultTenant {
		fmt.Fprintf(&b, "Tenant: %s\n", m.Tenant)
	}
	switch {
	case m.Test:
		fmt.Fprintf(&b, "This is a test for %s. Messages arrive here.\n", m.To)
	case m.Count == 1 && len(m.Worst) == 1:
		m.one(&b, &m.Worst[0])
	default:
		m.many(&b)
	}
	return b.String()
}

// many says what many devices have.
func (m *Message) many(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", m.counts(20))
	if m.Count > flood {
		b.WriteString("More may follow. What does, and is no severer, is only listed on the " +
			"board, for two minutes at most.\n")
	}
	b.WriteString("\nThe worst:\n")
	for i := range m.Worst {
		item := &m.Worst[i]
		fmt.Fprintf(b, "- %s since %s", item.title(), m.time(item.Since))
		if item.Message != "" {
			fmt.Fprintf(b, ": %s", item.Message)
		}
		b.WriteByte('\n')
	}
}

// Links are the last lines of the text.
func (m *Message) Links() (text string) {
	if m.Link != "" {
		text = "\nOpen: " + m.Link + "\n"
	}
	if m.Acknowledge != "" {
		text += "Acknowledge: " + m.Acknowledge + "\n"
	}
	return text
}

func (m *Message) one(b *strings.Builder, i *Item) {
	worst := ""
	switch {
	case i.Flapping:
		worst = fmt.Sprintf("severity %d, now flapping", i.Worst)
	case i.Worst > i.Severity:
		worst = fmt.Sprintf("severity %d, now %d", i.Worst, i.Severity)
	}
	for _, line := range []struct{ name, value string }{
		{"Device", string(i.Device)}, {"State", string(i.What())}, {"At worst", worst},
		{"Since", m.time(i.Since)},
		{"Message", i.Message}, {"Operator", string(i.Operator)}, {"Why", i.Why},
		{"Acknowledged", m.time(i.Acknowledged)}, {"Over", m.time(i.Ended)},
	} {
		if line.value != "" {
			fmt.Fprintf(b, "%s: %s\n", line.name, line.value)
		}
	}
}

// time is a time in the zone of the person; "" where there is none.
func (m *Message) time(t andon.Time) string {
	zone, err := time.LoadLocation(m.Zone)
	if t == 0 || err != nil {
		return strings.TrimPrefix(t.String(), andon.Time(0).String())
	}
	return t.Std().In(zone).Format("2006-01-02 15:04:05 MST")
}

// clip bounds what a message holds of a text, which it shows in one line.
func clip(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}
