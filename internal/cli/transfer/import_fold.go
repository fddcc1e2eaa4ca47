package transfer

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/ingest"
)

// A request must not have two contents of one entry, since its server could not know which is
// meant. The file says: the later line stands. So within a parcel the later line takes the place of
// the earlier, which is what the store would do with two requests.

// folding is what becomes of an entry that is put into a parcel.
type folding int

const (
	another          folding = iota // the parcel has none of its identity
	folded                          // it stands in the parcel
	ofAnotherRequest                // it has to come after what is in the parcel
)

// folds are the lines of a parcel that are not sent, because a later one has their identity.
type folds[T any] struct {
	places map[andon.EventKey]int // of the entries among the items
	twins  map[int]*twins         // by the place of the one that is sent
	twin   twin
}

// twin is an example of a line that takes the place of an earlier one, which says something else.
type twin struct{ earlier, later int }

// twins are lines whose place a later one took.
type twins struct {
	lines     []andon.Rejection // where they stand; the reason is still to be written
	unchanged int               // how often a line says what the one before says
}

// foldEvent puts an event into a parcel. An escalation that the earlier line has is kept beside its
// entry, whatever a later line says: then both are sent.
func foldEvent(p *parcel[andon.Event], item *ingest.Item[andon.Event]) folding {
	if p.places == nil {
		p.places = map[andon.EventKey]int{}
	}
	key := item.Value.Key(nil)
	place, twice := p.places[key]
	if !twice {
		p.places[key] = len(p.items)
		return another
	}
	was := &p.items[place]
	same := was.Value == item.Value
	if !same && was.Value.EscalatedTo != "" && was.Value.EscalatedTo != item.Value.EscalatedTo {
		return ofAnotherRequest
	}
	if p.twins == nil {
		p.twins = map[int]*twins{}
	}
	if p.twins[place] == nil {
		p.twins[place] = &twins{}
	}
	t := p.twins[place]
	t.lines = append(t.lines, andon.Rejection{Index: was.Index, Line: was.Line})
	if same {
		t.unchanged++
	} else if p.twin.later == 0 {
		p.twin = twin{was.Line, item.Line}
	}
	*was = *item
	return folded
}

// reject returns the rejection of an item and of the lines whose place it took.
func (p *parcel[T]) reject(why andon.Rejection) []andon.Rejection {
	place := why.Index
	item := &p.items[place]
	why.Index, why.Line = item.Index, item.Line
	all := []andon.Rejection{why}
	if t := p.twins[place]; t != nil {
		for _, line := range t.lines {
			line.Error = why.Error
			all = append(all, line)
		}
		delete(p.twins, place)
	}
	return all
}

// outcomes count the lines of a file by what became of them.
type outcomes struct {
	accepted                   int
	fresh, unchanged, replaced int // of the accepted ones
	twin                       twin
}

// counted returns what became of the lines of a parcel. Those that are rejected have been taken
// out.
func (p *parcel[T]) counted(r client.Result) outcomes {
	o := outcomes{
		accepted: r.Accepted, fresh: r.New, unchanged: r.Unchanged, replaced: r.Replaced,
		twin: p.twin,
	}
	for _, t := range p.twins {
		o.accepted += len(t.lines)
		o.unchanged += t.unchanged
		o.replaced += len(t.lines) - t.unchanged
	}
	return o
}
