package storecheck

import (
	"context"
	"fmt"
	"iter"

	"github.com/andonhq/andon"
)

// kinds are the lists of devices that show nothing, and of names, as a scenario names them.
var kinds = map[string]lister{
	"retired":     devicesOf(andon.RetiredDevices),
	"measuring":   devicesOf(andon.MeasuringDevices),
	"assigned":    devicesOf(andon.AssignedDevices),
	"operators":   namesOf(andon.OperatorNames),
	"supervisors": namesOf(andon.SupervisorNames),
	"metrics":     namesOf(andon.MetricNames),
}

// devicesOf writes a retired device d1/WARNING1@5m-9m, with its newest entry and when it was
// retired, one that only measures d1@5m, one that only was assigned d1/Liz.
func devicesOf(kind andon.DeviceKind) lister {
	return devices(andon.DeviceQuery{Kind: kind}, func(e *Env, d andon.Device) string {
		switch kind {
		case andon.RetiredDevices:
			newest := "-"
			if d.Time != 0 {
				newest = string(d.State) + "@" + e.offsetOf(d.Time)
			}
			return string(d.ID) + "/" + newest + "-" + e.offsetOf(d.Retired)
		case andon.AssignedDevices:
			return string(d.ID) + "/" + orDash(d.Operator)
		}
		return string(d.ID) + "@" + e.offsetOf(d.Time)
	})
}

// namesOf writes a name with how many devices it has: Liz=2. Where the store does not count them
// only names without devices can be distinguished, so nothing is compared.
func namesOf(kind andon.NameKind) lister {
	list := listing(func(a asked) iter.Seq2[andon.NameCount, error] {
		return a.System.Names(a, a.id, andon.NameQuery{Of: kind, Limit: a.limit})
	}, func(_ *Env, n andon.NameCount) string { return fmt.Sprintf("%s=%d", n.Name, n.Devices) })
	return func(ctx context.Context, e *Env, id andon.TenantID) ([]string, error) {
		items, err := list(ctx, e, id)
		if err == nil && !e.System.Capabilities().CountNames {
			return nil, errUndeclared
		}
		return items, err
	}
}

// escalatedOf writes each record of a device that was ever made: WARNING1@5m/Sara@6m.
func escalatedOf(who string, o options) lister {
	return listing(func(a asked) iter.Seq2[andon.Entry, error] {
		return a.System.EscalatedEntries(a, a.id, andon.DeviceID(who), o.events(a.Env, a.limit))
	}, func(e *Env, n andon.Entry) string {
		text := e.entryText(n.Event)
		for _, r := range n.Escalations {
			text += "/" + orDash(r.To) + "@" + e.offsetOf(r.At)
			if r.By != "" || r.Note != "" {
				text += "(" + string(r.By) + "," + r.Note + ")"
			}
		}
		return text
	})
}
