package groups

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
)

// MaxRules is how many rules a tenant may have.
const MaxRules = 1000

// rules are the rules of a tenant. Of those that fit a device the first counts.
type rules struct {
	all    []andon.GroupRule
	groups []uint32 // where each leads
	names  []string // of attributes
}

func (t *tree) newRules(all []andon.GroupRule) rules {
	for i := range t.groups {
		t.groups[i].ruled, t.groups[i].byPrefix = false, i == 0
	}
	r := rules{all: all}
	for _, rule := range all {
		n := t.number(rule.Group)
		in := &t.groups[n]
		in.ruled, in.byPrefix = true, in.byPrefix || rule.Prefix != ""
		r.groups = append(r.groups, n)
		if rule.Attribute != "" {
			r.names = append(r.names, rule.Attribute)
		}
	}
	return r
}

// group returns where the first rule leads that fits a device, 0 where none does.
func (r *rules) group(id andon.DeviceID, facts map[string]string) uint32 {
	for i := range r.all {
		rule := &r.all[i]
		value, there := facts[rule.Attribute]
		if rule.Attribute == "" && strings.HasPrefix(string(id), rule.Prefix) ||
			there && value == rule.Equals {
			return r.groups[i]
		}
	}
	return 0
}

// Rules returns the rules of a tenant.
func (g *Groups) Rules(ctx context.Context, id andon.TenantID) ([]andon.GroupRule, error) {
	t, err := g.current(ctx, id)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rules.all, nil
}

// PutRules makes rules those that count. Of a device without a group of its own, the first that
// fits says its group: for the devices that are there, too.
func (g *Groups) PutRules(ctx context.Context, id andon.TenantID, all []andon.GroupRule) error {
	if len(all) > MaxRules {
		return andon.AtField("body", "%d rules are more than %d", len(all), MaxRules)
	}
	for i := range all {
		if err := all[i].Validate(); err != nil {
			return andon.AtField(fmt.Sprintf("body[%d]", i), "rule %d: %s", i, err)
		}
	}
	var t *tenant
	err := g.change(ctx, id, func(is *tenant) error {
		t = is
		if err := g.unlearn(ctx, t); err != nil {
			return err
		}
		return g.putHead(ctx, t, nil, func(h *head) { h.Rules = all })
	})
	if err != nil {
		return err
	}
	t.listing.Lock()
	return g.relist(ctx, t)
}

// unlearn forgets attributes that no rule goes by, before one may: since their new values were not
// taken in, it would go by old ones. Nothing goes by them if this ends halfway. The caller holds
// writing.
func (g *Groups) unlearn(ctx context.Context, t *tenant) error {
	var changes []change
	idle := func(name, _ string) bool { return !slices.Contains(t.rules.names, name) }
	for i := range t.buckets {
		for id, d := range t.buckets[i] {
			for name := range d.facts() {
				if idle(name, "") {
					changes = append(changes, change{id, func(s *said) {
						maps.DeleteFunc(s.Facts, idle)
					}})
					break
				}
			}
		}
	}
	return g.write(ctx, t, changes)
}

// relist has the store count all devices by the rules, once it took in the attributes that these go
// by. The caller holds listing, which is given back.
func (g *Groups) relist(ctx context.Context, t *tenant) error {
	defer t.listing.Unlock()
	ctx = context.WithoutCancel(ctx)
	for n := t.ruled.Load(); n != t.listed.Load(); n = t.ruled.Load() {
		if err := g.list(ctx, t); err != nil {
			return err
		}
		t.listed.Store(n)
	}
	return nil
}

func (g *Groups) list(ctx context.Context, t *tenant) error {
	const step = 4096
	t.mu.RLock()
	q := andon.DeviceQuery{Brief: len(t.rules.names) == 0, Limit: step}
	t.mu.RUnlock()
	for more := true; more; {
		var part []andon.Device
		var ids []andon.DeviceID
		for d, err := range g.store.Devices(ctx, t.id, q) {
			if err != nil {
				return err
			}
			part, ids, q.After = append(part, d), append(ids, d.ID), new(d.Position())
		}
		more = len(part) == step
		t.writing.Lock()
		_, err := g.learn(ctx, t, part)
		t.writing.Unlock()
		if err != nil {
			return err
		}
		// Also where there are none: the store counts those that come by it.
		if err := g.store.Regroup(ctx, t.id, t.number, ids); err != nil {
			return err
		}
	}
	return nil
}

// Learn takes in events that were stored, where rules go by attributes. What counts is what a
// device shows: an event that arrives late changes nothing.
func (g *Groups) Learn(ctx context.Context, id andon.TenantID, events []andon.Event) error {
	if !g.store.Capabilities().Whole {
		return nil
	}
	t, err := g.current(ctx, id)
	if err != nil {
		return err
	}
	news := t.news(events)
	if len(news) == 0 {
		return nil
	}
	return g.change(ctx, id, func(t *tenant) error { return g.learnShown(ctx, t, news) })
}

// LearnShown is Learn of what some devices show, for whoever knows of their events before they were
// learned, or by another process.
func (g *Groups) LearnShown(
	ctx context.Context, id andon.TenantID, devices []andon.DeviceID,
) error {
	t, err := g.current(ctx, id)
	if err != nil || !t.byAttribute() {
		return err
	}
	return g.change(ctx, id, func(t *tenant) error { return g.learnShown(ctx, t, devices) })
}

func (t *tenant) byAttribute() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.rules.names) > 0
}

// learnShown takes in what some devices show. The caller holds writing.
func (g *Groups) learnShown(ctx context.Context, t *tenant, ids []andon.DeviceID) error {
	// Again after each change: an event that came meanwhile may have been no news before it.
	for {
		shown, err := g.shown(ctx, t, ids)
		if err != nil {
			return err
		}
		if learned, err := g.learn(ctx, t, shown); err != nil || !learned {
			return err
		}
	}
}

// Withdrawn takes in that an entry was withdrawn, where rules go by attributes.
func (g *Groups) Withdrawn(ctx context.Context, id andon.TenantID, w *andon.Withdrawal) error {
	if !g.store.Capabilities().Whole {
		return nil
	}
	return g.change(ctx, id, func(t *tenant) error {
		if len(t.rules.names) == 0 {
			return nil
		}
		e, err := g.store.Entry(ctx, id, w.Device, w.Time, w.State)
		if err != nil {
			return err
		}
		if err := g.withdraw(ctx, t, &e.Event); err != nil {
			return err
		}
		return g.learnShown(ctx, t, []andon.DeviceID{w.Device})
	})
}

// withdraw takes back the values that an entry may have given to its device: each is that of the
// newest entry that has one, of the last MaxLimit, or unknown again. The caller holds writing.
func (g *Groups) withdraw(ctx context.Context, t *tenant, e *andon.Event) error {
	d := t.device(e.Device)
	known, lost, found := d.facts(), t.rules.factsOf(e.Attributes), map[string]string{}
	maps.DeleteFunc(lost, func(name, value string) bool { return known[name] != value })
	if len(lost) == 0 {
		return nil
	}
	q := andon.EventQuery{Limit: andon.MaxLimit}
	for older, err := range g.store.DeviceEvents(ctx, t.id, e.Device, q) {
		if err != nil {
			return err
		}
		for name, value := range t.rules.factsOf(older.Attributes) {
			if _, is := lost[name]; is {
				found[name] = value
				delete(lost, name)
			}
		}
		if len(lost) == 0 {
			break
		}
	}
	return g.write(ctx, t, []change{{e.Device, func(s *said) {
		maps.DeleteFunc(s.Facts, func(name, _ string) bool { _, is := lost[name]; return is })
		s.learn(found)
	}}})
}

// shown reads some devices. One that is not there, or that is damaged, has no ID.
func (g *Groups) shown(
	ctx context.Context, t *tenant, ids []andon.DeviceID,
) ([]andon.Device, error) {
	all := make([]andon.Device, len(ids))
	err := parallel.Do(ctx, len(ids), concurrency, func(ctx context.Context, i int) (err error) {
		all[i], err = g.store.Device(ctx, t.id, ids[i])
		if k := andon.KindOf(err); err != nil && (k == andon.NotFound || k == andon.Damaged) {
			all[i], err = andon.Device{}, nil
		}
		return err
	})
	return all, err
}

// news returns the devices of events with attributes that are not known.
func (t *tenant) news(events []andon.Event) []andon.DeviceID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.rules.names) == 0 {
		return nil
	}
	found := map[andon.DeviceID]bool{}
	for i := range events {
		if len(t.unknown(events[i].Device, events[i].Attributes)) > 0 {
			found[events[i].Device] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// unknown returns the attributes that rules go by and of which another value is known. The caller
// holds mu.
func (t *tenant) unknown(id andon.DeviceID, attributes andon.JSON) map[string]string {
	facts := t.rules.factsOf(attributes)
	d := t.device(id)
	known := d.facts()
	maps.DeleteFunc(facts, func(name, value string) bool {
		was, is := known[name]
		return is && was == value
	})
	return facts
}

// learn takes in the attributes that devices show, and reports whether one was not known. The
// caller holds writing.
func (g *Groups) learn(
	ctx context.Context, t *tenant, shown []andon.Device,
) (learned bool, err error) {
	var changes []change
	t.mu.RLock()
	for i := range shown {
		facts := t.unknown(shown[i].ID, shown[i].Attributes)
		if len(facts) > 0 {
			changes = append(changes, change{shown[i].ID, func(s *said) { s.learn(facts) }})
		}
	}
	t.mu.RUnlock()
	return len(changes) > 0, g.write(ctx, t, changes)
}

// factsOf returns the attributes that rules go by: texts as they are, and other values as JSON.
func (r *rules) factsOf(attributes andon.JSON) map[string]string {
	named := slices.ContainsFunc(r.names, func(name string) bool {
		return strings.Contains(string(attributes), name)
	})
	// A name may be written with escapes.
	if !named && !strings.Contains(string(attributes), `\`) {
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(attributes), &all) != nil {
		return nil
	}
	facts := map[string]string{}
	for _, name := range r.names {
		value, there := all[name]
		if !there || len(value) > andon.MaxRecordIDBytes {
			continue
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // else it is no text
		facts[name] = text
	}
	return facts
}
