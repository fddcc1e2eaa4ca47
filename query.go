package andon

import (
	"cmp"
	"context"
	"iter"
)

// Order is the direction of a list.
type Order uint8

// The directions. The zero value is newest first.
const (
	Desc Order = iota
	Asc
)

// The sizes of a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1_000
)

// Span is a range of time with both bounds included. 0 is no bound.
type Span struct {
	From, To Time
}

// Holds reports whether t is within the span.
func (s Span) Holds(t Time) bool { return t >= s.From && (s.To == 0 || t <= s.To) }

// Empty reports whether no time is within the span.
func (s Span) Empty() bool { return s.To != 0 && s.From > s.To }

// Since returns the part of the span that is not before t.
func (s Span) Since(t Time) Span { return Span{From: max(s.From, t), To: s.To} }

// Until returns the part of the span that is not after t; 0 is no bound.
func (s Span) Until(t Time) Span { return Span{From: s.From, To: Earlier(s.To, t)} }

// A Limit may be one above MaxLimit: a caller that pages asks for one more than it shows, to know
// whether there is a next page.

// EventQuery selects log entries.
type EventQuery struct {
	States StateFilter
	Span   Span
	Order  Order
	After  *EventKey // resume strictly after this entry, in Order; nil from the start
	Limit  int       // at most so many; must be above 0
}

// Admits reports whether an entry is one that the query selects.
func (q *EventQuery) Admits(k EventKey) bool {
	return q.Span.Holds(k.Time) && q.States.Match(k.State) && q.isAfter(k)
}

// Rest returns the part of the span that can still have entries after After.
func (q *EventQuery) Rest() Span {
	switch {
	case q.After == nil:
		return q.Span
	case q.Order == Asc:
		return q.Span.Since(q.After.Time)
	}
	return q.Span.Until(q.After.Time)
}

func (q *EventQuery) isAfter(k EventKey) bool {
	switch {
	case q.After == nil:
		return true
	case q.Order == Asc:
		return k.Compare(*q.After) > 0
	}
	return k.Compare(*q.After) < 0
}

// DeviceSort is the order of a list of devices.
type DeviceSort uint8

// The orders of a list of devices.
const (
	ByDevice   DeviceSort = iota // by id, ascending by bytes
	BySince                      // longest in its state first
	BySeverity                   // severest first, then longest
)

// DevicePosition is the position of a device in a list.
type DevicePosition struct {
	Severity uint8
	Since    Time
	Device   DeviceID
}

// Compare orders positions in a list by sort. Ties are broken by id.
func (p DevicePosition) Compare(o DevicePosition, by DeviceSort) int {
	var severity, since int
	if by == BySeverity {
		severity = cmp.Compare(o.Severity, p.Severity)
	}
	if by != ByDevice {
		since = cmp.Compare(p.Since, o.Since)
	}
	return cmp.Or(severity, since, cmp.Compare(p.Device, o.Device))
}

// Less reports whether p comes before o in a list by sort.
func (p DevicePosition) Less(o DevicePosition, by DeviceSort) bool { return p.Compare(o, by) < 0 }

// DeviceKind says which devices a list is of. Every device of which anything is kept is in one of
// the lists, and one that only measures and was assigned in two.
type DeviceKind uint8

// The kinds. All but the first are listed by id only, and only Prefix, After and Limit select.
const (
	// ShownDevices show a state now.
	ShownDevices DeviceKind = iota
	// RetiredDevices are retired. Of each are returned ID, Retired and, where it ever had an entry,
	// State, Severity, Time and Received.
	RetiredDevices
	// MeasuringDevices never had an entry and have a reading. Of each are returned ID and Time,
	// that of its newest reading.
	MeasuringDevices
	// AssignedDevices never had an entry and were assigned. Of each are returned ID and Operator.
	AssignedDevices
	// AllDevices are those of all other kinds. Of each is returned ID. One that had anything before
	// the first page is returned, and once, whatever happens to it while the pages are read, unless
	// it is purged. Those of which all has expired may be among them, and those that were purged
	// just now.
	AllDevices
)

// DeviceQuery selects devices by what they show now.
type DeviceQuery struct {
	Kind        DeviceKind
	States      StateFilter
	Operator    PersonID // only devices with this operator; absent: any
	EscalatedTo PersonID // only devices escalated to this supervisor; absent: any
	Unassigned  bool     // only devices without an operator
	Prefix      string   // only devices whose id begins so
	HeardBefore Time     // only devices whose newest message arrived before; 0: any
	HeardSince  Time     // only devices whose newest message arrived then or later
	// MeasuredSince is of MeasuringDevices: only those with a reading of then or later.
	MeasuredSince Time
	// Only, unless nil, reports which devices the list is of. It returns at once, and may be called
	// concurrently. A store calls it before it reads a device where that spares reading it.
	Only  func(DeviceID) bool
	Sort  DeviceSort      //
	After *DevicePosition // resume strictly after this device, in Sort; nil from the start
	Limit int             // at most so many; must be above 0
	// Brief says that Message and Attributes are not needed. A store may give them all the same.
	Brief bool
}

// Admits reports whether d is one that the query selects.
func (q *DeviceQuery) Admits(d *Device) bool {
	return q.AdmitsID(d.ID) && (q.Kind != ShownDevices || q.admitsShown(d)) &&
		len(d.ID) >= len(q.Prefix) && string(d.ID[:len(q.Prefix)]) == q.Prefix &&
		(q.After == nil || q.After.Less(d.Position(), q.Sort))
}

// AdmitsID reports whether a device may be one that the query selects, by Only.
func (q *DeviceQuery) AdmitsID(id DeviceID) bool { return q.Only == nil || q.Only(id) }

func (q *DeviceQuery) admitsShown(d *Device) bool {
	return q.States.Match(d.State) &&
		(q.Operator == "" || q.Operator == d.Operator) && !(q.Unassigned && d.Operator != "") &&
		(q.EscalatedTo == "" || q.EscalatedTo == d.EscalatedTo) &&
		(q.HeardBefore == 0 || d.Received < q.HeardBefore) && d.Received >= q.HeardSince
}

// EachDevice yields all devices of a query, whose limit is that of a page: so no more of them are
// in memory at once, and whoever takes them may be slow.
func EachDevice(ctx context.Context, s interface {
	Devices(context.Context, TenantID, DeviceQuery) iter.Seq2[Device, error]
}, tenant TenantID, q DeviceQuery,
) iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		q := q
		for more := true; more; {
			var page []Device
			for d, err := range s.Devices(ctx, tenant, q) {
				if err != nil {
					yield(d, err)
					return
				}
				page = append(page, d)
			}
			for _, d := range page {
				q.After = new(d.Position())
				if !yield(d, nil) {
					return
				}
			}
			more = len(page) == q.Limit
		}
	}
}

// NameKind says what names a list is of.
type NameKind uint8

// The kinds of names.
const (
	OperatorNames NameKind = iota
	SupervisorNames
	MetricNames
)

// NameQuery selects names, which are listed by bytes.
type NameQuery struct {
	Of    NameKind
	After string // resume strictly after this name; "" from the start
	Limit int    // at most so many; must be above 0
}

// NameCount is a name that occurs.
type NameCount struct {
	Name string
	// Devices is how many devices have that operator now, are escalated to that supervisor now, or
	// ever sent that metric. 0 where the store does not declare CountNames.
	Devices int
}

// ReadingQuery selects readings of one device.
type ReadingQuery struct {
	Metrics []MetricName // only these; none named: all. A reading with none of them is left out
	Span    Span
	Order   Order
	After   Time // resume strictly after this time, in Order; 0 from the start
	Limit   int  // at most so many; must be above 0
}

// Rest returns the part of the span that is after After.
func (q *ReadingQuery) Rest() Span {
	switch {
	case q.After == 0:
		return q.Span
	case q.Order == Asc:
		return q.Span.Since(q.After + 1)
	}
	return q.Span.Until(q.After - 1)
}

// MetricPosition is the position of a reading in a list across devices.
type MetricPosition struct {
	Device DeviceID
	Time   Time
	ByTime bool `json:",omitempty"` // the list goes by time
}

// MetricQuery selects one metric of all devices.
type MetricQuery struct {
	Metric MetricName
	Span   Span
	After  *MetricPosition // resume strictly after this reading; nil from the start
	Limit  int             // at most so many; must be above 0
}

// ForDevice selects the readings of one of the devices, up to a limit.
func (q *MetricQuery) ForDevice(device DeviceID, limit int) ReadingQuery {
	of := ReadingQuery{Metrics: []MetricName{q.Metric}, Span: q.Span, Limit: limit}
	if q.After != nil && q.After.Device == device {
		of.After = q.After.Time
	}
	return of
}

// PageQuery selects a page of what has a time and nothing else: the assignments of one device.
type PageQuery struct {
	Order Order
	After Time // resume strictly after this time, in Order; 0 from the start
	Limit int  // at most so many; must be above 0
}

// Admits reports whether a time lies after the place where the query resumes.
func (q PageQuery) Admits(at Time) bool {
	return q.After == 0 || at != q.After && (at > q.After) == (q.Order == Asc)
}
