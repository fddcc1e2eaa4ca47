package incidents_test

import (
	"testing"

	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/incidents"
)

// TestCSVHasNoFormula: a device may have a name that a spreadsheet would run.
func TestCSVHasNoFormula(t *testing.T) {
	r := client.IncidentReport{Rows: []client.IncidentRow{{Name: "=1+1", Incidents: 1}}}
	want := "device,incidents,per_hour,seconds\n'=1+1,1,0,0\n"
	if got := string(incidents.CSV("device", &r)); got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}
