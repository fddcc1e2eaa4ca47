package andon

// Arrivals are the entries of a tenant in the order of their arrival: what has come since a reader
// looked last, late entries too. Their positions are those of the feed of changes (Position), so a
// reader may go on from a Snapshot, and from either feed in the other.
//
// Order. The entries of an Append come together, ordered by device and EventKey, by the severities
// of then. The Appends come in the order in which they became visible.
//
// Deliveries. Each delivery of an entry is there once, as it was sent, with the operator that
// answers for it. So an entry that was sent twice is there twice, and the later one is the one that
// is current. EscalatedTo is that of now.
//
// What is left out. An entry that was withdrawn, was purged or has expired is in no answer from
// then on, and neither is the entry of another tenant. The entries of a retired device stay, as
// they do in every history.
//
// Kept. A store keeps the newest entries in this order, as many as its configuration says: fewer
// than the history has. A position is Gone if it is older than those, and where it would be Gone
// for Changes; the message names the oldest position that is kept. After a restart a position stays
// valid where the store declares ChangesDurable.

// ArrivalQuery selects entries in the order of their arrival.
type ArrivalQuery struct {
	After  *Position // resume strictly after this position; nil from the oldest that is kept
	States StateFilter
	Span   Span // of the times of the entries
	Limit  int  // at most so many; must be above 0
}

// Admits reports whether an entry is one that the query selects.
func (q *ArrivalQuery) Admits(at Time, state State) bool {
	return q.Span.Holds(at) && q.States.Match(state)
}

// Arrival is an entry, and the position after it.
type Arrival struct {
	Event
	Position Position `json:"position"`
}

// Arrived is a part of the entries in the order of their arrival.
type Arrived struct {
	Items []Arrival
	// Next is where to go on. It may be after the last item: nothing that is selected is between.
	Next Position
	// More says that there may be more now. A store ends a part early, perhaps before its first
	// item, if it has read much for few.
	More bool
}

// entryIndex is added to the index of a position that is between two entries of one write, so that
// it is not taken for one between two changes.
const entryIndex = 1 << 31

// AfterEntry returns the position after the n-th entry of a write, counted from 1, of which there
// are more. After the last one comes the next write.
func (p Position) AfterEntry(n int) Position {
	p.Index = entryIndex + uint32(n)
	return p
}

// Entries returns how many entries of its write are before the position. One between two changes of
// a write is before all of its entries: a reader of changes has read none of them.
func (p Position) Entries() int {
	if p.Index < entryIndex {
		return 0
	}
	return int(p.Index - entryIndex)
}

// OfChanges returns the position as a reader of changes goes on from it. One between two entries of
// a write is before all of its changes.
func (p Position) OfChanges() Position {
	if p.Index >= entryIndex {
		p.Index = 0
	}
	return p
}
