package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/draw"
)

// shownRejects is how many rejected lines are shown; more would hide what matters.
const shownRejects = 20

// report accounts for the lines of a file.
type report struct {
	file string
	show io.Writer // gets the first rejected lines
	// strange are the states of the accepted events that are not in the tenant's set.
	strange strangeStates
	all     *os.File // gets every rejected line; nil: no one wants them

	mu       sync.Mutex
	done     outcomes
	rejected int
	expired  int   // of the rejected ones, those that are older than the tenant keeps
	err      error // the first one of writing to all
	// Parcels end in any order, and rejected lines are shown in the order of the file: once
	// everything before them has ended.
	waiting []andon.Rejection
	parcels map[int]int // those that are under way: the index of the first row of each
}

func newReport(o importOptions, show io.Writer) (*report, error) {
	r := &report{file: o.file, show: show, parcels: map[int]int{}}
	if o.rejects == "" {
		return r, nil
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if o.appends {
		how = os.O_WRONLY | os.O_APPEND
	}
	all, err := os.OpenFile(o.rejects, how, 0o666)
	if err != nil {
		return nil, fmt.Errorf("open --rejects: %w", err)
	}
	r.all = all
	return r, nil
}

// close ends the file of rejected lines. Its error is the first of writing to it.
func (r *report) close() error {
	if r.all == nil {
		return nil
	}
	return errors.Join(r.err, r.all.Close())
}

// begin says that a parcel is under way, whose first row is the one of that index.
func (r *report) begin(number, first int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parcels[number] = first
}

// end accounts for a parcel.
func (r *report) end(number int, done outcomes, rejected []andon.Rejection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.parcels, number)
	r.done.accepted += done.accepted
	r.done.fresh += done.fresh
	r.done.unchanged += done.unchanged
	r.done.replaced += done.replaced
	if r.done.twin.later == 0 || 0 < done.twin.later && done.twin.later < r.done.twin.later {
		r.done.twin = done.twin
	}
	r.waiting = append(r.waiting, rejected...)
	r.showEarlier()
}

// refuse accounts for lines that can't be read.
func (r *report) refuse(rejected []andon.Rejection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, rejected...)
	r.showEarlier()
}

// showRest shows what waits for a parcel that has not arrived, and never will.
func (r *report) showRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.parcels)
	r.showEarlier()
}

// showEarlier shows the rejected lines before the first parcel that is under way.
func (r *report) showEarlier() {
	slices.SortStableFunc(r.waiting, func(a, b andon.Rejection) int { return a.Index - b.Index })
	end := len(r.waiting)
	for _, first := range r.parcels {
		before := func(why andon.Rejection) bool { return why.Index > first }
		if i := slices.IndexFunc(r.waiting, before); i >= 0 {
			end = min(end, i)
		}
	}
	for _, why := range r.waiting[:end] {
		r.rejectOne(why)
	}
	r.waiting = append(r.waiting[:0], r.waiting[end:]...)
}

func (r *report) rejectOne(why andon.Rejection) {
	if strings.Contains(why.Error, " has expired: ") {
		r.expired++
	}
	reason := draw.Legible(why.Error) // it may quote the file
	line := fmt.Sprintf("%s:%d: %s\n", r.file, why.Line, reason)
	if why.Line == 0 { // a format without lines
		line = fmt.Sprintf("%s: entry %d: %s\n", r.file, why.Index, reason)
	}
	if r.rejected++; r.rejected <= shownRejects {
		io.WriteString(r.show, line)
	}
	if r.all != nil && r.err == nil {
		_, r.err = r.all.WriteString(line)
	}
}

// counts returns how many entries were accepted and rejected so far.
func (r *report) counts() (accepted, rejected int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done.accepted, r.rejected
}

// outcomes says in words what became of the accepted ones.
func (r *report) outcomes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d new, %d there already, %d replaced",
		r.done.fresh, r.done.unchanged, r.done.replaced)
}

// hidden says that not all rejected lines were shown, and where they are.
func (r *report) hidden() string {
	_, rejected := r.counts()
	more := rejected - shownRejects
	switch {
	case more <= 0:
		return ""
	case r.all == nil:
		return fmt.Sprintf("… and %d more; --rejects FILE writes all of them to a file\n", more)
	}
	return fmt.Sprintf("… and %d more\n", more)
}

// replacing says what it means that lines replaced others; nothing where none did.
func (r *report) replacing(o *importOptions) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done.replaced == 0 || o.kind() != kindEvents || o.workbench {
		return ""
	}
	example := ""
	if twin := r.done.twin; twin.later > 0 {
		example = fmt.Sprintf(" (line %d that of line %d)", twin.later, twin.earlier)
	}
	return fmt.Sprintf("%s replaced what had the same device, time and state%s; where these are "+
		"entries of their own, make the state of more columns, as with --state A,B\n",
		draw.GroupedCount(r.done.replaced, "row"), example)
}

// tooOld says how entries are kept that were rejected for their age; nothing where none was. A
// longer retention does not help a tenant that is there already: what has expired stays so.
func (r *report) tooOld(o *importOptions) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expired == 0 {
		return ""
	}
	return fmt.Sprintf("%d too old for tenant %s; a new tenant keeps all: "+
		"andon tenant set NEW --%s-retention forever\n", r.expired, o.Tenant, o.kind())
}
