package pebblestore

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/tenants"
)

// change encodes what a write changes of what a device shows, if anything.
func (w *writing) change(f *folded, was, is *current.Device) {
	c := andon.Change{Kind: w.kind, Device: was.ID, Entry: f.entry}
	if was.Alive() {
		shown := was.Show(w.states)
		c.Before = &shown
	}
	if is.Alive() {
		shown := is.Show(w.states)
		c.After = &shown
	}
	// Of escalations at one instant severities say which is the newest.
	reordered := w.kind == andon.ByReorder && c.After != nil && len(is.Escalations) > 1
	if reordered || !andon.ShowAlike(c.Before, c.After) {
		w.feed = layout.AppendChange(w.feed, &c)
	}
}

// readChanges reads a row into the changes of a tenant, without their positions.
func readChanges(id andon.TenantID, row []byte) (changes []andon.Change, err error) {
	w := layout.NewReader(row)
	for len(w.Rest) > 0 || len(changes) == 0 {
		c := andon.Change{Kind: andon.ChangeKind(w.Byte())}
		if c.Kind == andon.OfTenant {
			r := andon.Record{Kind: andon.TenantKind, ID: string(id)}
			if err := layout.DecodeDocument(&r, w.Rest); err != nil {
				return nil, err
			}
			t, _, err := tenants.Decode(r)
			c.Tenant = &t
			return []andon.Change{c}, err
		}
		w.Change(&c)
		if w.Bad {
			return nil, layout.ErrDamaged
		}
		changes = append(changes, c)
	}
	return changes, nil
}
