package httpapi

import (
	"net/http"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/incidents"
	"github.com/andonhq/andon/internal/people/report"
)

const typeCSV = "text/csv"

// incidentReport answers with the figures of a span, the last day unless it is given.
func (a *API) incidentReport(c *call) (r client.IncidentReport, err error) {
	in := report.Input{Span: c.Span(), Per: c.Text("per")}
	now, operator := a.options.Now(), c.Person("operator")
	if in.Span.To == 0 || in.Span.To > now {
		in.Span.To = now
	}
	if in.Span.From == 0 {
		in.Span.From = in.Span.To - 24*60*60*1_000_000
	}
	tenant, err := c.record()
	if err != nil {
		return r, err
	}
	if in.Incidents, in.Retired, err = incidents.Within(
		c.ctx(), a.options.Incidents, c.tenant, in.Span, c.selected, operator,
	); err != nil {
		return r, err
	}
	if operator != "" {
		return report.Make(in), nil // of how many devices is not known
	}
	silentBefore := andon.SilentBefore(now, tenant.SilentAfter)
	counts, err := c.intake.Groups.Counts(c.ctx(), c.tenant, c.selected, silentBefore)
	for _, n := range counts {
		in.Devices += n.Count
	}
	return report.Make(in), err
}

func (a *API) reportRoute(r *route) *route {
	asJSON := r.serve
	r.answer.Texts = map[string]string{typeCSV: ""}
	r.serve = func(c *call) error {
		if !strings.Contains(strings.Join(c.r.Header.Values("Accept"), ","), typeCSV) {
			return asJSON(c)
		}
		is, err := a.incidentReport(c)
		if err == nil {
			err = c.Fault()
		}
		if err != nil {
			return err
		}
		c.x.Header().Add("Vary", "Accept")
		c.send(typeCSV, incidents.CSV(c.Text("per"), &is))
		return nil
	}
	return r
}

var perParam = param{
	Name: "per", Example: "operator", Values: []string{"operator", "device", "hour"},
}

var reportErrors = []int{http.StatusRequestEntityTooLarge, http.StatusNotImplemented}
