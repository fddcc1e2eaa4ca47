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

// ok returns a finding without a problem.
func ok(area, what, found, source string) finding {
	return finding{Status: well, Area: area, What: what, Found: found, Source: source}
}

// worse returns the finding as a problem, with what to do about it.
func (f finding) worse(s status, advice string) finding {
	f.Status, f.Advice = s, advice
	return f
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
	e.add(ok(area, what, found, source).worse(failed, advice))
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
	colours := map[status]string{well: "#2e7d32", warning: "#b8860b", failed: "#c62828"}
	rows := make([][]draw.Cell, len(e.Findings))
	for i, f := range e.Findings {
		rows[i] = draw.Texts(string(f.Status), f.Area, f.What, draw.Legible(f.Found), "")
		rows[i][0].Colour = colours[f.Status]
		if f.Source != "" {
			rows[i][4].Text = "(" + f.Source + ")"
		}
	}
	out.Fitted(rows) // the advice below repeats what is cut here
	for _, f := range e.Findings {
		if f.Advice != "" {
			out.Line("\n%s: %s %s: %s\n  %s", out.Paint(colours[f.Status], string(f.Status)),
				f.Area, f.What, draw.Legible(f.Found), strings.ReplaceAll(f.Advice, "\n", "\n  "))
		}
	}
	failures := "nothing failed"
	if e.Failed > 0 {
		failures = draw.Count(e.Failed, "check") + " failed"
	}
	out.Line("\n%s, %s.", draw.Count(e.Warnings, "warning"), failures)
	return nil
}
