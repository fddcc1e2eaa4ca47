package andon

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Limits of one event, reading or request, in bytes unless said.
const (
	MaxMessageBytes   = 16 << 10
	MaxJSONBytes      = 64 << 10 // attributes of an event, metadata of a reading
	MaxJSONDepth      = 64       // nesting of objects and arrays
	MaxMetrics        = 1_000    // metrics of one reading, a count
	MaxRequestEntries = 100_000  // entries of one request, a count
	MaxRequestMetrics = 200_000  // metrics of all readings of one request, a count
	MaxRequestBytes   = 16 << 20 // a request's body after decompression
)

// JSON is the text of one valid JSON object as it was received, or empty where there is none.
type JSON string

// MarshalJSON returns the text itself; absent is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text; null is absent.
func (j *JSON) UnmarshalJSON(text []byte) error {
	if *j = JSON(text); string(text) == "null" {
		*j = ""
	}
	return nil
}

// Event is one log entry of a device. Its identity is (tenant, Device, Time, State): sent twice it
// is one entry, and where deliveries differ one of them is kept, whole. Two states at one instant
// are two entries.
type Event struct {
	Device   DeviceID `json:"device"`
	Time     Time     `json:"time"`
	State    State    `json:"state"`
	Operator PersonID `json:"operator,omitempty"` // named by the message, or resolved at admission
	// EscalatedTo in an event that is appended records an escalation at the entry's own time. In an
	// answer it is the newest escalation of the entry, absent once that is withdrawn.
	EscalatedTo PersonID `json:"escalated_to,omitempty"`
	Message     string   `json:"message,omitempty"`
	Attributes  JSON     `json:"attributes,omitempty"`
}

// Validate reports what is wrong with the event by itself, as an Error that names the field: limits
// and forms. Whether its time is admissible now is the tenant's matter (Tenant.CheckTime); that
// Attributes holds a valid object within MaxJSONDepth is its decoder's.
func (e *Event) Validate() error {
	if err := e.Device.Validate(); err != nil {
		return AtField("body.device", "%s", err)
	}
	if err := e.State.Validate(); err != nil {
		return AtField("body.state", "%s", err)
	}
	if e.Operator != "" {
		if err := e.Operator.ValidateAs("operator"); err != nil {
			return AtField("body.operator", "%s", err)
		}
	}
	if e.EscalatedTo != "" {
		if err := e.EscalatedTo.ValidateAs("escalated_to"); err != nil {
			return AtField("body.escalated_to", "%s", err)
		}
	}
	if len(e.Message) > MaxMessageBytes {
		return AtField("body.message", "message is %d bytes long, more than %d",
			len(e.Message), MaxMessageBytes)
	}
	if len(e.Attributes) > MaxJSONBytes {
		return AtField("body.attributes", "attributes are %d bytes long, more than %d",
			len(e.Attributes), MaxJSONBytes)
	}
	return nil
}

// Key is the position of the event in the log of its tenant.
func (e *Event) Key(states *StateSet) EventKey {
	severity := states.Severity(e.State)
	return EventKey{Time: e.Time, Severity: severity, State: e.State, Device: e.Device}
}

// EventKey orders the entries of a tenant: by time, severity, name of state, and, where several
// devices meet in one list, by device. Everything that says "newest" means this order.
type EventKey struct {
	Time     Time
	Severity uint8
	State    State
	Device   DeviceID
}

// Compare returns -1, 0 or +1 as k comes before, at or after o.
func (k EventKey) Compare(o EventKey) int {
	switch {
	case k.Time != o.Time:
		return cmp.Compare(k.Time, o.Time)
	case k.Severity != o.Severity:
		return cmp.Compare(k.Severity, o.Severity)
	case k.State != o.State:
		return strings.Compare(string(k.State), string(o.State))
	}
	return strings.Compare(string(k.Device), string(o.Device))
}

// CompareInBatch is the order in which Log.Append takes events: by device and time. Two states of a
// device at one instant are ordered by name: their severities may change before they are kept.
func CompareInBatch(a, b *Event) int {
	if c := strings.Compare(string(a.Device), string(b.Device)); c != 0 {
		return c
	}
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return strings.Compare(string(a.State), string(b.State))
}

// SortBatch puts events into the order of CompareInBatch and drops all but the last of those that
// share an identity. It changes events and returns the part of it that is left.
func SortBatch(events []Event) []Event {
	slices.SortStableFunc(events, func(a, b Event) int { return CompareInBatch(&a, &b) })
	kept := events[:0]
	for i := range events {
		if i+1 < len(events) && CompareInBatch(&events[i], &events[i+1]) == 0 {
			continue
		}
		kept = append(kept, events[i])
	}
	return kept
}

// Escalation is one record of an entry: to whom it was escalated, when and by whom. Records are
// append-only and identified by (entry, At, To); the newest of an entry counts, and of two at one
// time the one whose To comes first. Withdrawing is a record
// whose To is absent. No redelivery of the entry touches them.
type Escalation struct {
	Device DeviceID `json:"device"` // with Time and State: the entry
	Time   Time     `json:"time"`
	State  State    `json:"state"`
	To     PersonID `json:"to" nullable:"true" doc:"null: withdrawn"`
	// At is when it was escalated or withdrawn.
	At   Time     `json:"at,omitempty" doc:"absent where it never was escalated"`
	By   PersonID `json:"by,omitempty"`
	Note string   `json:"note,omitempty"`
}

// MarshalJSON writes nobody as null.
func (e Escalation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Device DeviceID  `json:"device"`
		Time   Time      `json:"time"`
		State  State     `json:"state"`
		To     *PersonID `json:"to"`
		At     Time      `json:"at,omitempty"`
		By     PersonID  `json:"by,omitempty"`
		Note   string    `json:"note,omitempty"`
	}{e.Device, e.Time, e.State, e.To.OrNull(), e.At, e.By, e.Note})
}

// Repeats reports whether a record says what the newest of its entry says already: to whom and why,
// whoever says it. Withdrawing what is withdrawn, or was never escalated, says nothing new.
func (e *Escalation) Repeats(newest *Escalation) bool {
	return e.To == newest.To && (e.To == "" || e.Note == newest.Note)
}

// Withdrawal is the record that an entry was wrong: since then no answer shows the entry but that
// of the entry itself, however often it is sent again.
type Withdrawal struct {
	Device DeviceID // with Time and State: the entry
	Time   Time
	State  State
	At     Time     // when it was withdrawn
	By     PersonID // may be absent
	Note   string   // may be absent
}

// Entry is one log entry with all of its escalation records, newest first.
type Entry struct {
	Event
	Escalations []Escalation
	Withdrawn   *Withdrawal // nil unless it was withdrawn
}

// CurrentEscalation returns the newest record; the zero value where the entry never was escalated.
func (e *Entry) CurrentEscalation() Escalation {
	if len(e.Escalations) == 0 {
		return Escalation{}
	}
	return e.Escalations[0]
}

// Assignment says who was assigned to a device, and from when on.
type Assignment struct {
	Device   DeviceID `json:"device"`
	Operator PersonID `json:"operator" nullable:"true" doc:"null: nobody"`
	From     Time     `json:"from"`
	To       Time     `json:"to,omitempty" doc:"when the next began; absent for the newest"`
	// Again says, in the answer of Assign, that the operator was assigned already and nothing was
	// added.
	Again bool `json:"-"`
	// Over is, in a call of Assign, who is assigned as far as the writer knows (absent: no one). If
	// somebody else is, that is a Conflict. Nil: whoever is.
	Over *PersonID `json:"-"`
}

// MarshalJSON writes nobody as null.
func (a Assignment) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Device   DeviceID  `json:"device"`
		Operator *PersonID `json:"operator"`
		From     Time      `json:"from,omitempty"`
		To       Time      `json:"to,omitempty"`
	}{a.Device, a.Operator.OrNull(), a.From, a.To})
}

// Overtaken returns the Conflict of an assignment whose writer saw another operator than is
// assigned, or nil.
func (a *Assignment) Overtaken(assigned PersonID) error {
	switch {
	case a.Over == nil || *a.Over == assigned:
		return nil
	case assigned == "":
		return Errorf(Conflict, "the device is assigned to nobody by now")
	}
	return Errorf(Conflict, "the device is assigned to %q by now", assigned)
}

// History is what people did elsewhere, with the times that it had there.
type History struct {
	Assignments []Assignment `json:"assignments,omitempty"` // To does not count
	Escalations []Escalation `json:"escalations,omitempty"` // of entries that are there
	Retirements []Retirement `json:"retired,omitempty"`
}

// ByDevice returns the devices of a history, each once, and what is of each.
func (h *History) ByDevice() (ids []DeviceID, of map[DeviceID]*History) {
	of = map[DeviceID]*History{}
	part := func(id DeviceID) *History {
		if of[id] == nil {
			ids, of[id] = append(ids, id), &History{}
		}
		return of[id]
	}
	for _, a := range h.Assignments {
		is := part(a.Device)
		is.Assignments = append(is.Assignments, a)
	}
	for _, e := range h.Escalations {
		is := part(e.Device)
		is.Escalations = append(is.Escalations, e)
	}
	for _, r := range h.Retirements {
		is := part(r.Device)
		is.Retirements = append(is.Retirements, r)
	}
	return ids, of
}

// Retirement says when a device was retired.
type Retirement struct {
	Device DeviceID `json:"device"`
	At     Time     `json:"retired"`
}

// Rejection accounts for one entry of a request that was not kept.
type Rejection struct {
	Index int    `json:"index"`          // entries are counted from 0
	Line  int    `json:"line,omitempty"` // lines are counted from 1; 0 where the format has none
	Error string `json:"error"`
}

// SourceRejection is an entry of another system that could not be kept.
type SourceRejection struct {
	At      Time     `json:"at,omitzero"` // when it was refused
	Source  string   `json:"source"`
	Place   string   `json:"place"`            // of its message in the source
	Index   int      `json:"index"`            // in its message: entries are counted from 0
	Line    int      `json:"line,omitempty"`   // in its message, counted from 1
	Tenant  TenantID `json:"tenant,omitempty"` // absent where it is not known
	Reason  string   `json:"reason"`
	Message string   `json:"message,omitempty"` // how it begins; only with the first of a message
}

// collected are the newest escalations of entries, which a list has read. Their keys have no
// severity.
type collected struct {
	mu sync.Mutex
	of map[EventKey]Escalation
}

type collectedKey struct{}

func collectedIn(ctx context.Context) *collected {
	c, _ := ctx.Value(collectedKey{}).(*collected)
	return c
}

// CollectEscalations returns a context in which a list of entries or devices notes the newest
// escalations that it reads, so that its caller need not read each of them again. It is for one
// list.
func CollectEscalations(ctx context.Context) context.Context {
	return context.WithValue(ctx, collectedKey{}, &collected{of: map[EventKey]Escalation{}})
}

// CollectsEscalations reports whether the caller wants escalations to be noted.
func CollectsEscalations(ctx context.Context) bool { return collectedIn(ctx) != nil }

// NoteEscalation notes the newest escalation of an entry for a caller that collects them.
func NoteEscalation(ctx context.Context, r Escalation) {
	if c := collectedIn(ctx); c != nil {
		c.mu.Lock()
		c.of[EventKey{Device: r.Device, Time: r.Time, State: r.State}] = r
		c.mu.Unlock()
	}
}

// NotedEscalation returns what was noted of an entry.
func NotedEscalation(ctx context.Context, device DeviceID, of EntryRef) (r Escalation, ok bool) {
	if c := collectedIn(ctx); c != nil {
		c.mu.Lock()
		r, ok = c.of[EventKey{Device: device, Time: of.Time, State: of.State}]
		c.mu.Unlock()
	}
	return r, ok
}
