package merge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
)

// Latest is what a database stores of one device to show it. Its parts merge by themselves, in any
// order and any number of times: of two versions of a part the one wins that is greater in an order
// of its own. So processes that write to the device at once need not know of each other. The zero
// value is a device of which nothing is kept.
type Latest struct {
	States   []Newest // in no order, retired or not; none that was withdrawn
	Retired  andon.Time
	Received andon.Time       // arrival of the newest message
	Assigned andon.Assignment // the newest; From is 0 where there never was one
	Run      Start
	Incident Start

	Withdrawn []andon.EntryRef // by time; never changed in place
}

// Newest is the newest entry of a device in one state.
type Newest struct {
	State andon.State
	Time  andon.Time

	Known bool // Content is known
	Content
}

// Content is what else is kept of an entry.
type Content struct {
	Delivery int64 // of two deliveries of one entry the later wins
	Operator andon.PersonID
	Message  string

	Attributes andon.JSON
}

// Key returns the place of the entry in the log, without its device.
func (n *Newest) Key(states *andon.StateSet) andon.EventKey {
	return andon.EventKey{Time: n.Time, Severity: states.Severity(n.State), State: n.State}
}

// Newest returns the newest entry; nil where there is none.
func (l *Latest) Newest(states *andon.StateSet) *Newest {
	var newest *Newest
	for i := range l.States {
		n := &l.States[i]
		if newest == nil || n.Key(states).Compare(newest.Key(states)) > 0 {
			newest = n
		}
	}
	return newest
}

// NewestKey returns the key of the newest entry; the zero value where there is none.
func (l *Latest) NewestKey(states *andon.StateSet) andon.EventKey {
	if n := l.Newest(states); n != nil {
		return n.Key(states)
	}
	return andon.EventKey{}
}

// Alive reports whether the device was seen and is not retired.
func (l *Latest) Alive(states *andon.StateSet) bool {
	n := l.Newest(states)
	return n != nil && n.Time > l.Retired
}

// WithdrawnFrom returns the oldest entry of a state that was withdrawn and is not before a time.
func (l *Latest) WithdrawnFrom(state andon.State, at andon.Time) (andon.EntryRef, bool) {
	i, _ := slices.BinarySearchFunc(l.Withdrawn, at, compareTime)
	for _, w := range l.Withdrawn[i:] {
		if w.State == state {
			return w, true
		}
	}
	return andon.EntryRef{}, false
}

// IsWithdrawn reports whether an entry was withdrawn.
func (l *Latest) IsWithdrawn(state andon.State, at andon.Time) bool {
	w, found := l.WithdrawnFrom(state, at)
	return found && w.Time == at
}

func (l *Latest) withdrawnAt(at andon.Time) bool {
	_, found := slices.BinarySearchFunc(l.Withdrawn, at, compareTime)
	return found
}

func compareTime(w andon.EntryRef, at andon.Time) int { return cmp.Compare(w.Time, at) }

// Raise takes an entry in. Of two deliveries of one entry the later wins; where the content of
// one of them is not known, neither is that of the entry.
func (l *Latest) Raise(e Newest) {
	for i := range l.States {
		was := &l.States[i]
		if was.State != e.State {
			continue
		}
		e.State = was.State
		known := was.Known && e.Known
		switch {
		case e.Time > was.Time, e.Time == was.Time && known && e.Delivery > was.Delivery:
			*was = e
		case e.Time == was.Time && !known:
			was.Known, was.Content = false, Content{}
		}
		return
	}
	e.State = andon.State(strings.Clone(string(e.State)))
	l.States = append(l.States, e)
}

// ForgetOlder forgets the content of all entries but the newest: no answer shows it.
func (l *Latest) ForgetOlder(states *andon.StateSet) {
	newest := l.Newest(states)
	for i := range l.States {
		if n := &l.States[i]; n != newest {
			n.Known, n.Content = false, Content{}
		}
	}
}

// Others returns the states that the device had but one.
func (l *Latest) Others(but andon.State) (all []andon.State) {
	for i := range l.States {
		if state := l.States[i].State; state != but {
			all = append(all, state)
		}
	}
	return all
}

// Clone returns a copy that may be changed while others read l.
func (l *Latest) Clone() Latest {
	c := *l
	c.States = slices.Clone(l.States)
	return c
}

// Device returns the device as it is folded from all of its entries, once Run and Incident are
// right: without escalations.
func (l *Latest) Device(id andon.DeviceID, states *andon.StateSet) current.Device {
	d := current.Device{
		ID: id, Since: l.Run.First, Retired: l.Retired, Received: l.Received,
		Assignee: l.Assigned.Operator, AssignedFrom: l.Assigned.From,
	}
	if n := l.Newest(states); n != nil {
		d.Time, d.State, d.Operator = n.Time, n.State, n.Operator
		if states.Severity(n.State) > 0 {
			d.Incident = l.Incident.First
		}
	}
	return d
}
