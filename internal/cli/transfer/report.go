package transfer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// How many rejected lines and how many states are shown; more would hide what matters.
const (
	shownRejects = 20
	shownStates  = 10
)

type counts map[string]int

// String names all kinds of an archive.
func (n counts) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s, %s", draw.Count(n[kindEvents], "event"),
		draw.Count(n[kindReadings], "reading"), draw.Count(n[kindAssignments], "assignment"),
		draw.Count(n[kindEscalations], "escalation"), draw.Count(n[kindRetired], "retirement"),
		draw.Count(n[kindProfiles], "profile"))
}

type report struct {
	File     string  `json:"file"`
	Accepted counts  `json:"accepted"`
	Rejected int     `json:"rejected"`
	Twice    int     `json:"twice,omitempty"` // rows of an entry just before, with other content
	Ended    int     `json:"ended,omitempty"` // assignments that were over, and skipped
	DryRun   bool    `json:"dry_run,omitempty"`
	Seconds  float64 `json:"seconds"`

	done      string // verb of the outcome: "imported"
	isArchive bool
	first     io.Writer            // gets the first rejected lines
	every     io.Writer            // gets all rejected lines; nil where nobody asked for them
	waiting   []andon.Rejection    // of the present group
	expired   int                  // of the rejected lines, those older than the tenant keeps
	unknown   map[andon.State]bool // of the accepted events, outside the tenant's set
	err       error                // the first of writing to every
}

func newReport(file string, first, every io.Writer) *report {
	return &report{
		File: file, Accepted: counts{}, done: "imported", first: first, every: every,
		unknown: map[andon.State]bool{},
	}
}

// count accounts for a request that was answered. A server counts the entries of a request from 0;
// people look for lines of the file.
func (r *report) count(kind string, lines []placed, result client.Result) {
	for _, why := range result.Rejected {
		if why.Index >= 0 && why.Index < len(lines) {
			l := &lines[why.Index]
			why.Index, why.Line = l.Index, l.Line
		}
		r.waiting = append(r.waiting, why)
	}
	if result.Accepted > 0 {
		r.Accepted[kind] += result.Accepted
	}
	for _, state := range result.UnknownStates {
		r.unknown[state] = true
	}
}

// show shows the rejected lines of a group, in the order of the file.
func (r *report) show() {
	slices.SortStableFunc(r.waiting, func(a, b andon.Rejection) int { return a.Index - b.Index })
	for _, why := range r.waiting {
		if strings.Contains(why.Error, " has expired: ") {
			r.expired++
		}
		place := fmt.Sprintf("%s:%d", r.File, why.Line)
		if why.Line == 0 { // a format without lines
			place = fmt.Sprintf("%s: entry %d", r.File, why.Index)
		}
		// The reason may quote the file, whose control characters must not reach a terminal.
		text := place + ": " + draw.Legible(why.Error) + "\n"
		if r.Rejected++; r.Rejected <= shownRejects {
			io.WriteString(r.first, text)
		}
		if r.every != nil && r.err == nil {
			_, r.err = io.WriteString(r.every, text)
		}
	}
	r.waiting = nil
}

// accepted is the number of entries of all kinds.
func (r *report) accepted() (n int) {
	for _, of := range r.Accepted {
		n += of
	}
	return n
}

// outcome says in a sentence what was done.
func (r *report) outcome() string {
	done, accepted := r.done, fmt.Sprint(r.accepted())
	if r.DryRun {
		done = "nothing was sent; would import"
	}
	if r.isArchive {
		accepted = r.Accepted.String()
	}
	return fmt.Sprintf("%s %s, rejected %d of %s in %.1fs",
		done, accepted, r.Rejected, r.File, r.Seconds)
}

// detail says in the same sentence what became of the entries.
func (r *report) detail() string {
	switch {
	case r.accepted()+r.Rejected+r.Ended == 0:
		return "; there are no rows in it"
	case r.Ended > 0:
		return fmt.Sprintf(", skipped %d that are over", r.Ended)
	}
	return ""
}

// advice says what to do about what the report counts. kind is what the rows of a table became.
func (r *report) advice(tenant, kind string) (text string) {
	if r.expired > 0 { // a longer retention does not bring back what has expired
		keeping := "--" + kind + "-retention forever"
		if r.isArchive {
			keeping = "--events-retention forever --readings-retention forever"
		}
		text = fmt.Sprintf("%d too old for tenant %s; a new tenant keeps all: "+
			"andon tenant set NEW %s\n", r.expired, tenant, keeping)
	}
	if r.isArchive {
		return text
	}
	if r.Twice > 0 {
		text += fmt.Sprintf("%s replaced what had the same device, time and state; where these "+
			"are entries of their own, make the state of more columns, as with --state A,B\n",
			draw.Count(r.Twice, "row"))
	}
	if len(r.unknown) > 0 {
		kept := ""
		if !r.DryRun {
			kept = fmt.Sprintf(", kept with severity %d", andon.UnknownSeverity)
		}
		text += fmt.Sprintf("%s not in the set of tenant %s%s: %s; see andon tenant set --help\n",
			draw.Count(len(r.unknown), "state"), tenant, kept,
			command.Few(slices.Sorted(maps.Keys(r.unknown)), shownStates))
	}
	return text
}

// finish prints the report, or returns what was done before an error ended it.
func (r *report) finish(p *command.Program, form *command.Choice, err error) error {
	if more := r.Rejected - shownRejects; more > 0 {
		hint := ""
		if r.every == nil {
			hint = "; --rejects FILE writes all of them to a file"
		}
		fmt.Fprintf(p.Stderr, "… and %d more%s\n", more, hint)
	}
	if errors.Is(err, command.ErrInterrupted) && r.done == "imported" {
		err = fmt.Errorf("%w\nRun it again to go on: nothing is doubled", err)
	}
	if err != nil {
		return errors.Join(endedBy(err, r.outcome(), r.accepted() > 0), r.err)
	}
	if err := p.Report(form, r, "%s", r.outcome()+r.detail()); err != nil {
		return err
	}
	if r.Rejected > 0 {
		err = command.ErrRejected
	}
	return errors.Join(err, r.err)
}

// endedBy is an error after which part of the work is done.
func endedBy(err error, outcome string, some bool) error {
	if !some {
		return err
	}
	// %s: the command line was right, whatever kind of error it is
	return fmt.Errorf("%s, then it ended: %s", outcome, err)
}
