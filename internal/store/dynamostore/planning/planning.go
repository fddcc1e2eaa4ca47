// Package planning says what a fleet writes to DynamoDB and reads from it, for internal/plan. The
// sizes are those of items that the code of the store makes. It does no I/O.
package planning

import (
	"crypto/rand"
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// What the service takes of one partition key, and of a table unless more was asked for; and how
// many days what has expired may stay.
const (
	keyWriteUnits = 1000
	tableUnits    = 40_000
	deletedAfter  = 2
)

// Config is what the figures depend on.
type Config struct {
	Tables   []ddb.Table // of the layout andon
	Indexes  items.ReadingIndexes
	Capacity provision.Capacity
}

// Layouts returns what a fleet writes and reads: the items are made by the code that writes
// them.
func Layouts(e Config, s plan.Sample) ([]plan.Layout, error) {
	own, err := e.own(s)
	if err != nil {
		return nil, err
	}
	model := ofReference(s)
	for m, tables := range map[*plan.Metered][]ddb.Table{
		own: e.Tables, model: {reference.Table(items.TableLog)},
	} {
		m.LeastWrite, m.LeastRead = float64(e.Capacity.Write.Min), float64(e.Capacity.Read.Min)
		m.Places = placesOf(tables)
	}
	return []plan.Layout{
		{Store: "dynamodb", Name: "andon", Survives: true, Metered: own},
		{
			Store: "dynamodb", Name: "reference", Survives: true, NoReadings: true,
			Unserved: []string{plan.AskList, plan.AskReading},
			Notes: []string{"it has no counts and no assignments, and what has expired is not " +
				"deleted: the storage is that of entries that you delete"},
			Metered: model,
		},
	}, nil
}

// placesOf returns the names of tables and of their indexes.
func placesOf(tables []ddb.Table) (places []string) {
	for _, t := range tables {
		places = append(places, t.Name)
		for _, x := range t.Indexes {
			places = append(places, t.Name+"/"+x.Name)
		}
	}
	return places
}

func metered(writes ...[]plan.ItemWrite) *plan.Metered {
	m := &plan.Metered{
		KeyUnits: keyWriteUnits, TableUnits: tableUnits, DeletedAfter: deletedAfter,
		Scaled: float64(provision.Target) / 100,
	}
	for _, some := range writes {
		m.Writes = append(m.Writes, some...)
	}
	return m
}

// own returns the writes and reads of the layout andon.
func (e *Config) own(s plan.Sample) (*plan.Metered, error) {
	t := &shared.Tenant{
		Key: items.TenantKey(andon.DefaultTenant, 0), Record: andon.NewTenant(andon.DefaultTenant),
	}
	d := &items.Device{}
	d.ID = s.Events[0].Device
	d.Measures([]items.Message{{Reading: s.Reading}})
	shown, err := shownBy(t, d, s.Events[:])
	if err != nil {
		return nil, err
	}
	stamp := int64(s.Events[0].Time)
	first := items.Event{Event: s.Events[0], Delivery: stamp}
	entry := first.Item(t, d, 1, items.Expiry(s.Retention))
	all := e.Tables
	tableOf := func(name string) *ddb.Table {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
		return nil
	}
	log, devices, readings := tableOf(items.TableLog), tableOf(items.TableDevices),
		tableOf(items.TableReadings)
	m := metered(
		itemWrites(log, plan.PerEvent, nil, entry, kept),
		itemWrites(devices, plan.PerEvent, shown[0], shown[1], replaced),
		indexesOnly(itemWrites(devices, plan.PerChange, shown[1], shown[2], replaced)),
		itemWrites(devices, plan.PerDevice, nil, shown[2], lasting),
	)
	inLog, err := changeWrite(t, d)
	if err != nil {
		return nil, err
	}
	m.Writes = append(m.Writes, inLog)
	var reading ddb.Item
	if len(s.Reading.Metrics) > 0 {
		r := items.Message{Reading: s.Reading, Delivery: stamp}
		reading = r.Item(t, d, 1, items.Expiry(s.ReadingsRetention), &e.Indexes)
		m.Writes = append(m.Writes, itemWrites(readings, plan.PerReading, nil, reading, kept)...)
		m.Writes = append(m.Writes,
			itemWrites(devices, plan.PerReading, shown[1], shown[1], replaced)...)
		m.Writes = append(m.Writes, metricRows(t, &s.Reading))
	}
	m.Queries = readsOf(s.States, devices, shown[1], entry, reading)
	return m, nil
}

// changeWrite returns the write of a change to the log of changes, as if no other one were in its
// item. It is kept for a day, which is nothing next to the log of the entries.
func changeWrite(t *shared.Tenant, d *items.Device) (w plan.ItemWrite, err error) {
	shown := d.Shown(t)
	size, err := changelog.Bytes(changelog.Change{Version: d.Version, Change: andon.Change{
		Kind: andon.ByEntry, Device: d.ID, Before: shown, After: shown,
		Entry: andon.EntryRef{Time: d.Time, State: d.State},
	}})
	i := items.LogItem(t.Key+"#0", changelog.Item{
		At: d.Time, Expires: d.Time, Data: make([]byte, size),
	})
	return plan.ItemWrite{Per: plan.PerChange, Table: items.TableRecords, After: i.Bytes()}, err
}

// shownBy returns the item of a device after each of some events.
func shownBy(
	t *shared.Tenant, d *items.Device, events []andon.Event) (shown []ddb.Item, err error,
) {
	for i := range events {
		d.Keep(events[i].State) // it has had all of them before
	}
	states := t.Record.States
	for i := range events {
		e := &events[i]
		d.Received, d.Version = e.Time, int64(e.Time)
		entry := current.Entry{Time: e.Time, Severity: states.Severity(e.State), State: e.State,
			Operator: e.Operator}
		if err := d.Apply(entry, states, nil); err != nil { // in order, so nothing is asked
			return nil, err
		}
		is, err := d.Item(t, d.Version)
		if err != nil {
			return nil, err
		}
		is[ddb.Nonce] = ddb.Text(rand.Text())
		shown = append(shown, is)
	}
	return shown, nil
}

// lifetime is how long an item is stored.
type lifetime int

const (
	replaced lifetime = iota // by the next one
	kept                     // until it expires
	lasting                  // for ever
)

// itemWrites returns the writes of one item: to the table, and to each index that has a copy of it.
func itemWrites(t *ddb.Table, per plan.Per, before, after ddb.Item, l lifetime) []plan.ItemWrite {
	w := plan.ItemWrite{
		Per: per, Table: t.Name, Before: before.Bytes(), After: after.Bytes(),
		Kept: l == kept, Standing: l == lasting,
	}
	all := []plan.ItemWrite{w}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		was, is := indexCopy(t, x, before), indexCopy(t, x, after)
		if was == nil && is == nil {
			continue
		}
		c := w
		c.Index, c.Before, c.After = x.Name, was.Bytes(), is.Bytes()
		c.Changed = !reflect.DeepEqual(was, is)
		c.Moves = was != nil && is != nil && (was.Text(x.Key.Hash) != is.Text(x.Key.Hash) ||
			was.Text(x.Key.Sort) != is.Text(x.Key.Sort))
		switch c.Sharing = plan.ByOperator; x.Name {
		case items.IndexList:
			c.Sharing, c.Keys = plan.ByState, items.Buckets
		}
		all = append(all, c)
	}
	return all
}

func indexesOnly(all []plan.ItemWrite) (indexes []plan.ItemWrite) {
	for _, w := range all {
		if w.Index != "" && w.Changed {
			indexes = append(indexes, w)
		}
	}
	return indexes
}

// indexCopy returns what an index has of an item; nil where that lacks one of its keys.
func indexCopy(t *ddb.Table, x *ddb.Index, i ddb.Item) ddb.Item {
	if i.Text(x.Key.Hash) == "" || i.Text(x.Key.Sort) == "" {
		return nil
	}
	if x.All {
		return i
	}
	has := ddb.Item{}
	for _, name := range append([]string{t.Key.Hash, t.Key.Sort, x.Key.Hash, x.Key.Sort},
		x.Projects...) {
		if value, ok := i[name]; ok {
			has[name] = value
		}
	}
	return has
}

// metricRows returns the rows that say that a device has metrics, as one write.
func metricRows(t *shared.Tenant, r *andon.Reading) plan.ItemWrite {
	size := 0
	for _, m := range r.Metrics {
		row := items.RecordKeys().Item(items.MetricKey(t, m.Name, items.BucketOf(string(r.Device))),
			string(r.Device))
		size += row.Bytes() + itemOverhead
	}
	return plan.ItemWrite{Per: plan.PerDevice, Table: items.TableRecords,
		After:    size - itemOverhead,
		Standing: true}
}

// itemOverhead is what the service stores in addition to each item.
const itemOverhead = 100

// readsOf returns what each query of the plan reads, of a device with entries of so many states.
func readsOf(
	states int, devices *ddb.Table, shown, entry, reading ddb.Item,
) map[string][]plan.ItemRead {
	const limit = 100
	device := plan.ItemRead{Table: items.TableDevices, Calls: 1, Items: 1, Bytes: shown.Bytes(),
		Consistency: plan.Strong}
	ofLog := plan.ItemRead{Table: items.TableLog, Calls: 1, Items: 1, Bytes: entry.Bytes(),
		Consistency: plan.Strong}
	many := func(r plan.ItemRead, items int) plan.ItemRead {
		r.Items = float64(items)
		return r
	}
	query := func(r plan.ItemRead, calls, items int) plan.ItemRead {
		r.Query, r.Calls, r.Items = true, float64(calls), float64(items)
		return r
	}
	ofOperator := ofLog
	ofOperator.Index, ofOperator.Consistency = items.IndexOperator, plan.Eventual
	list := device
	list.Index, list.Consistency = items.IndexList, plan.Eventual
	list.Bytes = indexCopy(devices, &devices.Indexes[0], shown).Bytes()
	names := plan.ItemRead{Table: items.TableRecords, Bytes: 40, Consistency: plan.Strong}
	all := map[string][]plan.ItemRead{
		plan.AskDevice: {device, ofLog},
		plan.AskLog:    {device, query(ofLog, states, items.PageOf(limit, states))},
		plan.AskList: {query(names, 1, states), query(list, items.Buckets,
			items.PageOf(limit, items.Buckets)),
			many(device, limit), many(ofLog, limit)},
		plan.AskOperator: {query(ofOperator, 1, items.PageOf(limit, 1)), many(device, limit)},
	}
	if reading != nil {
		all[plan.AskReading] = []plan.ItemRead{device, query(plan.ItemRead{
			Table: items.TableReadings, Bytes: reading.Bytes(), Consistency: plan.Strong,
		}, 1, items.PageOf(1, 1))}
	}
	return all
}

// ofReference returns the writes and reads of the layout reference.
func ofReference(s plan.Sample) *plan.Metered {
	entry, u := reference.Event(&s.Events[0])
	for name, value := range u {
		entry.SetText(name, value)
	}
	t := reference.Table(items.TableLog)
	m := metered(itemWrites(&t, plan.PerEvent, nil, entry, kept))
	ask := func(calls, found int) plan.ItemRead {
		return plan.ItemRead{Table: items.TableLog, Calls: float64(calls), Items: float64(found),
			Bytes: entry.Bytes(), Query: true, Consistency: plan.Strong}
	}
	const limit = 100
	ofOperator := ask(1, items.PageOf(limit, 1))
	ofOperator.Index, ofOperator.Consistency = items.IndexOperator, plan.Eventual
	// The states of a device are found by skipping: one read for each, and one that finds no more.
	skip := ask(s.States+1, 1)
	m.Queries = map[string][]plan.ItemRead{
		plan.AskDevice:   {skip, ask(s.States+1, 2)},
		plan.AskLog:      {skip, ask(s.States, items.PageOf(limit, s.States))},
		plan.AskOperator: {ofOperator},
	}
	return m
}
