package cli

import "strings"

// status says how well what was looked at is.
type status string

const (
	well    status = "ok"
	warning status = "warning"
	failed  status = "failed"
)

// finding is one thing that the doctor looked at.
type finding struct {
	Status status `json:"status"`
	Area   string `json:"area"`             // "store", "disk", "clock", ...
	What   string `json:"what"`             // "room"
	Found  string `json:"found"`            // "3.1 GiB free of 40 GiB"
	Source string `json:"source,omitempty"` // where that comes from
	Advice string `json:"advice,omitempty"` // what to do, where something is to be done
}

// examination is all that the doctor found.
type examination struct {
	Target   string    `json:"target"` // what was looked at
	Findings []finding `json:"findings"`
	Warnings int       `json:"warnings"`
	Failed   int       `json:"failed"`
}

func (e *examination) add(all ...finding) { e.Findings = append(e.Findings, all...) }

func (e *examination) tally(s status) (n int) {
	for _, f := range e.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

func (e *examination) print(p *program, form string) error {
	e.Warnings, e.Failed = e.tally(warning), e.tally(failed)
	if form == formatJSON {
		return p.printJSON(e)
	}
	page := p.newPage()
	page.line("Examined: %s\n", e.Target)
	rows := make([][]cell, len(e.Findings))
	for i, f := range e.Findings {
		rows[i] = []cell{
			{text: string(f.Status), colour: f.Status.colour()}, {text: f.Area}, {text: f.What},
			{text: legible(f.Found)}, {text: f.source()},
		}
	}
	p.fitted(page, rows) // below, what needs advice is told whole
	e.printAdvice(page)
	page.line("\n%s, %s.", count(e.Warnings, "warning"), failures(e.Failed))
	return nil
}

// printAdvice stands below the table, because it is longer than a row should be.
func (e *examination) printAdvice(page page) {
	for _, f := range e.Findings {
		if f.Advice != "" {
			page.line("\n%s: %s %s: %s\n  %s", page.paint(f.Status.colour(), string(f.Status)),
				f.Area, f.What, legible(f.Found), strings.ReplaceAll(f.Advice, "\n", "\n  "))
		}
	}
}

func failures(n int) string {
	if n == 0 {
		return "nothing failed"
	}
	return count(n, "check") + " failed"
}

func (s status) colour() string {
	switch s {
	case warning:
		return "#b8860b"
	case failed:
		return "#c62828"
	}
	return "#2e7d32"
}

func (f finding) source() string {
	if f.Source == "" {
		return ""
	}
	return "(" + f.Source + ")"
}
