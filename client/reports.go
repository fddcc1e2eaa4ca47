package client

import (
	"context"
	"net/http"

	"github.com/andonhq/andon"
)

// IncidentReport has the figures of the incidents that began within a span, by ISA-18.2. Times are
// in seconds; a figure that has no basis is absent.
type IncidentReport struct {
	From      andon.Time `json:"from"`
	To        andon.Time `json:"to"`
	Devices   int        `json:"devices" doc:"there now, or retired since from; 0 of a person"`
	Incidents int        `json:"incidents"`
	PerHour   float64    `json:"per_hour"`

	Floods     []IncidentFlood  `json:"floods" doc:"times with more than 10 in 10 minutes"`
	Chattering []andon.DeviceID `json:"chattering" doc:"devices with 3 or more in a minute"`
	Stale      []string         `json:"stale" doc:"held over 24 hours, the longest first"`
	Worst      []IncidentRow    `json:"worst" doc:"the ten devices with the most incidents"`

	ToAcknowledge *IncidentTimes `json:"to_acknowledge,omitempty"`
	ToReturn      *IncidentTimes `json:"to_return,omitempty"`
	// Availability is the part of the time of all devices in which they had no incident.
	Availability *float64 `json:"availability,omitempty"`
	MTBF         *float64 `json:"mtbf,omitempty" doc:"time without an incident for each incident"`
	MTTR         *float64 `json:"mttr,omitempty" doc:"mean time to return to normal"`

	Rows []IncidentRow `json:"rows,omitempty" doc:"by per"`
}

// IncidentFlood is a time in which more than 10 incidents began in 10 minutes.
type IncidentFlood struct {
	From      andon.Time `json:"from"`
	To        andon.Time `json:"to"`
	Incidents int        `json:"incidents"`
}

// IncidentTimes are how long something took, in seconds.
type IncidentTimes struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90" doc:"nine of ten took no longer"`
}

// IncidentRow is what a report says of one operator, device or hour.
type IncidentRow struct {
	Name      string  `json:"name" doc:"an operator, a device, or the beginning of an hour"`
	Incidents int     `json:"incidents"`
	PerHour   float64 `json:"per_hour"`
	Seconds   float64 `json:"seconds" doc:"how long they held within the span, added up"`
}

// ReportQuery says what a report is of. The zero value is all incidents of the last day.
type ReportQuery struct {
	Selection                // of devices
	From      andon.Time     `query:"from"`
	To        andon.Time     `query:"to"`
	Operator  andon.PersonID `query:"operator"` // only of this person; "none": of nobody
	Per       string         `query:"per"`      // also rows: by "operator", "device" or "hour"
}

// IncidentReport returns the figures of a span.
func (c *Client) IncidentReport(ctx context.Context, q ReportQuery) (IncidentReport, error) {
	return ask[IncidentReport](ctx, c, request{
		method: http.MethodGet, path: path("reports", "incidents"), query: parameters(q),
	})
}
