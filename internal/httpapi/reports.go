package httpapi

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/report"
)

// mostReported is of how many incidents a report is made at most.
const mostReported = 100_000

const typeCSV = "text/csv"

// incidentReport answers with the figures of a span, the last day unless it is given.
func (a *API) incidentReport(c *call) (r client.IncidentReport, err error) {
	in := report.Input{Span: c.Span(), Per: c.OneOf("per", "operator", "device", "hour")}
	now := a.options.Now()
	if in.Span.To == 0 || in.Span.To > now {
		in.Span.To = now
	}
	if in.Span.From == 0 {
		const day = 24 * 60 * 60 * 1_000_000
		in.Span.From = in.Span.To - day
	}
	tenant, err := c.record()
	if err != nil {
		return r, err
	}
	if in.Incidents, err = c.reported(in.Span); err != nil {
		return r, err
	}
	silentBefore := andon.SilentBefore(now, tenant.SilentAfter)
	counts, err := c.intake.Groups.Counts(c.ctx(), c.tenant, c.selected, silentBefore)
	for _, n := range counts {
		in.Devices += n.Count
	}
	return report.Make(in), err
}

// reported reads the incidents that a report of a span is about.
func (c *call) reported(span andon.Span) (all []people.Incident, err error) {
	open, _, err := c.options.Incidents.Open(c.ctx(), c.tenant)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, i := range open {
		if c.selected.Has(i.Device) && i.Since <= span.To {
			all, there[i.ID] = append(all, *i), true
		}
	}
	before := ""
	for more := true; more; {
		const step = andon.MaxLimit
		n := 0
		for i, err := range c.options.Incidents.Closed(c.ctx(), c.tenant, span, before, step) {
			if err != nil {
				return nil, err
			}
			if n, before = n+1, i.ID; c.selected.Has(i.Device) && !there[i.ID] {
				all = append(all, i)
			}
		}
		if more = n == step; len(all) > mostReported {
			return nil, andon.Errorf(andon.TooLarge,
				"the span has more than %d incidents: ask for a shorter one", mostReported)
		}
	}
	return all, nil
}

func (a *API) reportRoute(r *route) *route {
	asJSON := r.serve
	r.serve = func(c *call) error {
		if !strings.Contains(strings.Join(c.r.Header.Values("Accept"), ","), typeCSV) {
			return asJSON(c)
		}
		if c.Text("per") == "" {
			return andon.AtField("query.per", "CSV has a line for each operator, device or hour: "+
				"per says which")
		}
		is, err := a.incidentReport(c)
		if err == nil {
			err = c.Fault()
		}
		if err != nil {
			return err
		}
		c.x.Header().Add("Vary", "Accept")
		c.send(typeCSV, rowsAsCSV(c.Text("per"), is.Rows))
		return nil
	}
	return r
}

func rowsAsCSV(per string, rows []client.IncidentRow) []byte {
	var text strings.Builder
	w := csv.NewWriter(&text)
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	_ = w.Write([]string{per, "incidents", "per_hour", "seconds"}) // a Builder takes all
	for _, r := range rows {
		_ = w.Write([]string{
			r.Name, strconv.Itoa(r.Incidents), number(r.PerHour), number(r.Seconds),
		})
	}
	w.Flush()
	return []byte(text.String())
}

var perParam = param{
	Name: "per", Example: "operator", Values: []any{"operator", "device", "hour"},
}

var reportErrors = []int{http.StatusRequestEntityTooLarge, http.StatusNotImplemented}
