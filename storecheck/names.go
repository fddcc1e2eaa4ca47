package storecheck

import (
	"fmt"
	"iter"

	"github.com/andonhq/andon"
)

// devicesOf writes a retired device d1/WARNING1@5m-9m, with its newest entry and when it was
// retired, one that only measures d1@5m, one that only was assigned d1/Liz, any device d1.
func devicesOf(kind andon.DeviceKind) func(options) lister {
	text := func(e *Env, d andon.Device) string {
		switch kind {
		case andon.RetiredDevices:
			newest := "-"
			if d.Time != 0 {
				newest = string(d.State) + "@" + e.OffsetOf(d.Time)
			}
			return string(d.ID) + "/" + newest + "-" + e.OffsetOf(d.Retired)
		case andon.AssignedDevices:
			return string(d.ID) + "/" + orDash(d.Operator)
		case andon.AllDevices:
			return string(d.ID)
		}
		return string(d.ID) + "@" + e.OffsetOf(d.Time)
	}
	return func(o options) lister {
		return devices(andon.DeviceQuery{Kind: kind, Prefix: o.prefix}, text)
	}
}

// namesOf writes a name with how many devices it has: Liz=2. Where the store does not count them
// only names without devices can be distinguished, so nothing is compared.
func namesOf(kind andon.NameKind) func(options) lister {
	list := listing(func(t turn) iter.Seq2[andon.NameCount, error] {
		return t.System.Names(t, t.id, andon.NameQuery{Of: kind, Limit: t.limit})
	}, func(_ *Env, n andon.NameCount) string { return fmt.Sprintf("%s=%d", n.Name, n.Devices) })
	return func(options) lister {
		return func(t turn) ([]string, error) {
			items, err := list(t)
			if err == nil && !t.System.Capabilities().CountNames {
				return nil, errUndeclared
			}
			return items, err
		}
	}
}

// escalatedOf writes each record of a device that was ever made: WARNING1@5m/Sara@6m.
func escalatedOf(who string, o options) lister {
	return events(System.EscalatedEntries, who, o, func(e *Env, n andon.Entry) string {
		text := e.entryText(n.Event)
		for _, r := range n.Escalations {
			text += "/" + orDash(r.To) + "@" + e.OffsetOf(r.At)
			if r.By != "" || r.Note != "" {
				text += "(" + string(r.By) + "," + r.Note + ")"
			}
		}
		return text
	})
}
