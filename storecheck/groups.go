package storecheck

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/ingest/table"
)

// What people say of devices, in a scenario. It is asked of the intake of the Env, not of a server
// on the same store: each would give the groups other numbers.
//
//	profiles '[{"device":"d1","group":"p/h1"}]'   change profiles
//	rules '[{"prefix":"press-","group":"p"}]'     replace the rules
//	expect groups: p=2/1{NORMAL=1,WARNING2=1}     devices with what is below, 1 of them silent
//	expect selected group=p label=kind:press state=WARNING*: d1 d2   they are counted, too
func (t turn) needsGroups() {
	if _, local := t.System.(local); !local {
		require(NotAsked{"groups are asked of the store alone"})
	}
}

func changeProfiles(t turn) error {
	t.needsGroups()
	text := bufio.NewReader(strings.NewReader(t.next("an array")))
	var all []andon.ProfileChange
	rows := must(table.New(text, table.Options{Format: table.JSON}))
	for row, err := range must(rows.Profiles("")) {
		require(errors.Join(err, row.Bad))
		all = append(all, row.Value)
	}
	return t.Intake.ChangeProfiles(t, t.id, all)
}

func putRules(t turn) error {
	t.needsGroups()
	var rules []andon.GroupRule
	require(json.Unmarshal([]byte(t.next("an array")), &rules))
	return t.Intake.PutGroupRules(t, t.id, rules)
}

func groupCounts(t turn) (items []string, err error) {
	tenant, err := t.System.Tenant(t, t.id)
	if err != nil {
		return nil, err
	}
	silentBefore := andon.SilentBefore(t.Now(), tenant.SilentAfter)
	all, err := t.Intake.Groups.Tallies(t, t.id, "", "", andon.MaxLimit, silentBefore)
	for _, in := range all {
		item := fmt.Sprintf("%s=%d", in.Group, in.Devices)
		if in.Silent > 0 {
			item += fmt.Sprintf("/%d", in.Silent)
		}
		var states []string
		for _, state := range slices.Sorted(maps.Keys(in.States)) {
			states = append(states, fmt.Sprintf("%s=%d", state, in.States[state]))
		}
		items = append(items, item+"{"+strings.Join(states, ",")+"}")
	}
	return items, err
}

func (t turn) selected() lister {
	f := t.fields("group", "label", "state")
	selection := groups.Selection{Group: andon.Group(f["group"])}
	if name, value, is := strings.Cut(f["label"], ":"); is {
		selection.Labels = map[string]string{name: value}
	}
	filter := must(andon.ParseStateFilter(f["state"]))
	return func(t turn) ([]string, error) {
		selected, err := t.Intake.Groups.Select(t, t.id, selection)
		if err != nil {
			return nil, err
		}
		items, err := listing(func(t turn) iter.Seq2[andon.Device, error] {
			q := andon.DeviceQuery{States: filter, Limit: t.limit}
			return pages(t.limit, &q.After, func() iter.Seq2[andon.Device, error] {
				return t.Intake.Groups.Devices(t, t.id, q, selected)
			}, func(d andon.Device) *andon.DevicePosition { return new(d.Position()) })
		}, func(_ *Env, d andon.Device) string { return string(d.ID) })(t)
		if err != nil {
			return nil, err
		}
		counts, err := t.Intake.Groups.Counts(t, t.id, selected, 0)
		n := 0
		for _, c := range counts {
			if filter.Match(c.State) {
				n += c.Count
			}
		}
		if err == nil && n != len(items) {
			err = fmt.Errorf("%d devices are counted, and listed are %q", n, items)
		}
		return items, err
	}
}
