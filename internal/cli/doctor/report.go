package doctor

import (
	"strings"

	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

type status string

const (
	well    status = "ok"
	warning status = "warning"
	failed  status = "failed"
)

type finding struct {
	Status status `json:"status"`
	Area   string `json:"area"`             // "store", "disk", "clock", ...
	What   string `json:"what"`             // "space"
	Found  string `json:"found"`            // "3.1 GiB free of 40 GiB"
	Source string `json:"source,omitempty"` // where that comes from
	Advice string `json:"advice,omitempty"` // what to do, unless it is well
}

type examination struct {
	Target   string    `json:"target"` // what was checked
	Findings []finding `json:"findings"`
	Warnings int       `json:"warnings"`
	Failed   int       `json:"failed"`
}

func (e *examination) add(all ...finding) { e.Findings = append(e.Findings, all...) }

// fail adds a problem.
func (e *examination) fail(area, what, found, source, advice string) {
	e.add(finding{failed, area, what, found, source, advice})
}

// warn adds what may become a problem.
func (e *examination) warn(area, what, found, source, advice string) {
	e.add(finding{warning, area, what, found, source, advice})
}

func (e *examination) tally(s status) (n int) {
	for _, f := range e.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

func (e *examination) print(p *command.Program, form string) error {
	e.Warnings, e.Failed = e.tally(warning), e.tally(failed)
	if form == command.FormatJSON {
		return p.PrintJSON(e)
	}
	out := p.Printer()
	out.Line("Examined: %s\n", e.Target)
	rows := make([][]draw.Cell, len(e.Findings))
	for i, f := range e.Findings {
		rows[i] = []draw.Cell{
			{Text: string(f.Status), Colour: f.Status.colour()}, {Text: f.Area}, {Text: f.What},
			{Text: draw.Legible(f.Found)}, {Text: f.source()},
		}
	}
	out.Fitted(rows) // the advice below repeats what is cut here
	e.printAdvice(out)
	out.Line("\n%s, %s.", draw.Count(e.Warnings, "warning"), failures(e.Failed))
	return nil
}

// printAdvice prints below the table what is too long for a row.
func (e *examination) printAdvice(out draw.Printer) {
	for _, f := range e.Findings {
		if f.Advice != "" {
			out.Line("\n%s: %s %s: %s\n  %s", out.Paint(f.Status.colour(), string(f.Status)),
				f.Area, f.What, draw.Legible(f.Found), strings.ReplaceAll(f.Advice, "\n", "\n  "))
		}
	}
}

func failures(n int) string {
	if n == 0 {
		return "nothing failed"
	}
	return draw.Count(n, "check") + " failed"
}

func (s status) colour() string {
	return map[status]string{well: "#2e7d32", warning: "#b8860b", failed: "#c62828"}[s]
}

func (f finding) source() string {
	if f.Source == "" {
		return ""
	}
	return "(" + f.Source + ")"
}
