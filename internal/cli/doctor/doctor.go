// Package doctor is the command "doctor": it checks a store or a server and says what to do about
// each problem.
package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
)

type doctor struct {
	*command.Program
	command.Target
	origins []config.Origin // where each setting comes from
	timeout time.Duration   // for a server to show what it acknowledged
	full    bool            // all checks
	report  examination
}

// Command is "andon doctor".
func Command(p *command.Program) *cobra.Command {
	d := &doctor{Program: p, timeout: 10 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store, or a running server, and say what to do",
		Long: `Check the configured store and this machine, and say what to do about each problem.

It runs the checks that the project runs on its own stores, in temporary tenants, which it deletes.
Then it looks at the disk, the clock, limits and memory, and names the source of each figure. It
opens the embedded store, so stop its server first, and makes none. On a store that other programs
may use at the same time it runs only a few checks; --full runs all of them.

With --url it checks a running server instead: whether it is reachable and ready, its encryption,
clock, limits and disk, and one round trip in a temporary tenant. In about 20 requests it sends
events and a reading, changes them as people do, and compares each answer with the right one.
A store that has only the tenant default, as DynamoDB in the layouts of the guides, is not tried.

Settings are read as "andon serve" reads them.

Exit codes: 0 well, or only warnings; 1 a check failed; 2 wrong use.`,
		Example: `  andon doctor --data /var/lib/andon
  andon doctor --config /etc/andon/andon.yaml --output json
  andon doctor --url https://andon.example:8080 --token-file token`,
	}
	sources := local.SourceFlags(p, cmd)
	cmd.Flags().StringVar(&d.URL, "url", "",
		"`address` of a running server (default: check the store)")
	cmd.Flags().BoolVar(&d.full, "full", false, "run all checks, also on a store that others "+
		"may use meanwhile")
	form := command.ReportFlag(cmd)
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		return d.run(ctx, sources(), form.Value)
	})
}

func (d *doctor) run(ctx context.Context, from config.Sources, form string) error {
	c, origins, err := app.LoadConfig(from)
	if err != nil {
		return local.WrongConfig(err)
	}
	d.origins = origins
	if d.URL != "" {
		d.URL = command.WithScheme(d.URL)
		d.TokenFile, d.Attempts = c.TokenFile, command.AttemptsWaiting
		err = d.examineServer(ctx)
	} else {
		err = d.examineStore(ctx, c)
	}
	if err != nil {
		return err
	}
	if err := d.report.print(d.Program, form); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: not all was checked; the temporary tenants are deleted")
	}
	if n := d.report.tally(failed); n > 0 {
		return errors.New(draw.Count(n, "check") + " failed")
	}
	return nil
}

// sourceOf says where the value of a setting comes from.
func (d *doctor) sourceOf(key string) string {
	for _, o := range d.origins {
		if o.Key == key {
			return o.Key + " from " + o.Place
		}
	}
	return key
}

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

// problem is what may be wrong with something, and what to do about it.
type problem struct {
	there  bool
	status status
	advice string
}

// judge returns a finding, with the first of the problems that is there.
func judge(area, what, found, source string, problems ...problem) finding {
	f := finding{Status: well, Area: area, What: what, Found: found, Source: source}
	for _, p := range problems {
		if p.there {
			f.Status, f.Advice = p.status, p.advice
			return f
		}
	}
	return f
}

type examination struct {
	Target   string    `json:"target"` // what was checked
	Findings []finding `json:"findings"`
	Warnings int       `json:"warnings"`
	Failed   int       `json:"failed"`
}

func (e *examination) add(all ...finding) { e.Findings = append(e.Findings, all...) }

func (e *examination) fail(area, what, found, source, advice string) {
	e.add(judge(area, what, found, source, problem{true, failed, advice}))
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
