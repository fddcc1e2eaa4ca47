package reference

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/wrap"
)

// unserved refuses every call of s except its maintenance: what else a layout can't serve would
// need a scan of the table, or items that its model does not have.
func unserved(s andon.Store) andon.Store {
	return wrap.Around(s, func(_ context.Context, method string) (end func(error), err error) {
		switch method {
		case "Diagnose", "Figures", "Finish", "Snapshot", "RebuildLatest", "Size":
			return nil, nil // as the other layout
		case "Changes", "AwaitChange", "ChangesKept":
			return nil, shared.ErrNoFeed
		case "Arrivals":
			_, err := shared.NoArrivals{}.Arrivals(context.Background(), "", andon.ArrivalQuery{})
			return nil, err
		}
		return nil, unservedHere(wordsOf(method))
	})
}

func unservedHere(what string) error {
	return andon.Errorf(andon.Unsupported, "a table of the guide's own model can't serve %s: "+
		"dynamodb.layout andon can", what)
}

// wordsOf returns what a method serves, in words.
func wordsOf(method string) string {
	switch method {
	case "Append", "DeviceEvents", "OperatorEvents", "SupervisorEvents", "EscalatedEntries",
		"Entry":
		return "events"
	case "Escalate":
		return "escalations"
	case "Device":
		return "what a device shows"
	case "Devices":
		return "lists of devices"
	case "Counts", "Regroup":
		return "counts of devices"
	case "Names":
		return "lists of names"
	case "Retire":
		return "retiring a device"
	case "Withdraw":
		return "withdrawing an entry"
	case "Purge":
		return "purging a device"
	case "TenantEvents":
		return "entries of all devices in one list"
	case "Assign", "Assignments":
		return "assignments"
	case "Restore":
		return "what people did before"
	case "Reorder", "DeleteTenant":
		return "settings of tenants, and other tenants"
	case "AppendReadings", "DeviceReadings", "LatestReadings", "MetricReadings":
		return "readings"
	}
	return "records"
}
