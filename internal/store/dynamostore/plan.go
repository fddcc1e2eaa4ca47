package dynamostore

import (
	"crypto/rand"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/plan"
)

// What the service takes of one partition key, and of a table unless more was asked for; and how
// many days what has expired may stay.
const (
	keyWriteUnits = 1000
	tableUnits    = 40_000
	deletedAfter  = 2
)

// Layouts implements adapter.Planning: the items are made by the code that writes them.
func (e *Engine) Layouts(s plan.Sample) ([]plan.Layout, error) {
	own, err := e.planOwn(s)
	if err != nil {
		return nil, err
	}
	reference := planReference(s)
	for m, tables := range map[*plan.Metered][]table{
		own: e.ownTables(), reference: {referenceTable(tableLog)},
	} {
		m.LeastWrite, m.LeastRead = float64(e.Capacity.Write.Min), float64(e.Capacity.Read.Min)
		m.Places = placesOf(tables)
	}
	return []plan.Layout{
		{Store: e.Name(), Name: layoutAndon, Survives: true, Metered: own},
		{
			Store: e.Name(), Name: layoutReference, Survives: true, NoReadings: true,
			Unserved: []string{plan.AskList, plan.AskReading},
			Notes: []string{"it has no counts and no assignments, and what has expired is not " +
				"deleted: the storage is that of entries that you delete"},
			Metered: reference,
		},
	}, nil
}

// placesOf are the tables and their indexes.
func placesOf(tables []table) (places []string) {
	for _, t := range tables {
		places = append(places, t.name)
		for _, x := range t.indexes {
			places = append(places, t.name+"/"+x.name)
		}
	}
	return places
}

func metered(writes ...[]plan.ItemWrite) *plan.Metered {
	m := &plan.Metered{
		KeyUnits: keyWriteUnits, TableUnits: tableUnits, DeletedAfter: deletedAfter,
		Scaled: float64(target) / 100,
	}
	for _, some := range writes {
		m.Writes = append(m.Writes, some...)
	}
	return m
}

// planOwn is the layout andon.
func (e *Engine) planOwn(s plan.Sample) (*plan.Metered, error) {
	t := &tenant{
		Key: tenantKey(andon.DefaultTenant, 0), Record: andon.NewTenant(andon.DefaultTenant),
	}
	d := &device{}
	d.ID = s.Events[0].Device
	d.measures([]message{{Reading: s.Reading}})
	shown, err := shownBy(t, d, s.Events[:])
	if err != nil {
		return nil, err
	}
	stamp := int64(s.Events[0].Time)
	first := event{Event: s.Events[0], delivery: stamp}
	entry := first.item(t, d, 1, expiry(s.Retention))
	all := e.ownTables()
	tableOf := func(name string) *table {
		for i := range all {
			if all[i].name == name {
				return &all[i]
			}
		}
		return nil
	}
	log, devices, readings := tableOf(tableLog), tableOf(tableDevices), tableOf(tableReadings)
	m := metered(
		log.writes(plan.PerEvent, nil, entry, kept),
		devices.writes(plan.PerEvent, shown[0], shown[1], replaced),
		indexesOnly(devices.writes(plan.PerChange, shown[1], shown[2], replaced)),
		devices.writes(plan.PerDevice, nil, shown[2], lasting),
	)
	var reading item
	if len(s.Reading.Metrics) > 0 {
		o := e.Options
		o.ReadingsRetention = s.ReadingsRetention
		r := message{Reading: s.Reading, delivery: stamp}
		reading = r.item(t, d, 1, &o)
		m.Writes = append(m.Writes, readings.writes(plan.PerReading, nil, reading, kept)...)
		m.Writes = append(m.Writes,
			devices.writes(plan.PerReading, shown[1], shown[1], replaced)...)
		m.Writes = append(m.Writes, metricRows(t, &s.Reading))
	}
	m.Questions = questionsOf(s.States, devices, shown[1], entry, reading)
	return m, nil
}

// shownBy is the item of a device behind each of some events.
func shownBy(t *tenant, d *device, events []andon.Event) (shown []item, err error) {
	for i := range events {
		d.keep(events[i].State) // it has had all of them before
	}
	p := &past{tenant: t}
	for i := range events {
		e := &events[i]
		d.Received, d.version = e.Time, int64(e.Time)
		if err := d.Apply(p.entry(e), t.Record.States, p); err != nil {
			return nil, err
		}
		is, err := d.item(t, d.version)
		if err != nil {
			return nil, err
		}
		is[attrNonce] = text(rand.Text())
		shown = append(shown, is)
	}
	return shown, nil
}

// incarnation is what becomes of an item.
type incarnation int

const (
	replaced incarnation = iota // by the next one
	kept                        // until it expires
	lasting                     // for ever
)

// writes are the writes of one item: to the table, and to each index that has a copy of it.
func (t *table) writes(per plan.Per, before, after item, l incarnation) []plan.ItemWrite {
	w := plan.ItemWrite{
		Per: per, Table: t.name, Before: itemBytes(before), After: itemBytes(after),
		Kept: l == kept, Standing: l == lasting,
	}
	all := []plan.ItemWrite{w}
	for i := range t.indexes {
		x := &t.indexes[i]
		was, is := t.copyIn(x, before), t.copyIn(x, after)
		if was == nil && is == nil {
			continue
		}
		c := w
		c.Index, c.Before, c.After = x.name, itemBytes(was), itemBytes(is)
		c.Changed = !reflect.DeepEqual(was, is)
		c.Moves = was != nil && is != nil && (was.text(x.key.hash) != is.text(x.key.hash) ||
			was.text(x.key.sort) != is.text(x.key.sort))
		switch c.Sharing = plan.ByOperator; x.name {
		case indexList:
			c.Sharing, c.Keys = plan.ByState, buckets
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

// copyIn is what an index has of an item; nil where that lacks one of its keys.
func (t *table) copyIn(x *index, i item) item {
	if i.text(x.key.hash) == "" || i.text(x.key.sort) == "" {
		return nil
	}
	if x.all {
		return i
	}
	has := item{}
	for _, name := range append([]string{t.key.hash, t.key.sort, x.key.hash, x.key.sort},
		x.projects...) {
		if value, ok := i[name]; ok {
			has[name] = value
		}
	}
	return has
}

// metricRows are the rows that say that a device has metrics, as one.
func metricRows(t *tenant, r *andon.Reading) plan.ItemWrite {
	size := 0
	for _, m := range r.Metrics {
		row := keyed(recordKeys(), metricKey(t, m.Name, bucketOf(string(r.Device))),
			string(r.Device))
		size += itemBytes(row) + storedBeside
	}
	return plan.ItemWrite{Per: plan.PerDevice, Table: tableRecords, After: size - storedBeside,
		Standing: true}
}

// storedBeside is what the service stores beside each item.
const storedBeside = 100

// questionsOf is what questions read, of a device with entries of so many states.
func questionsOf(
	states int, devices *table, shown, entry, reading item,
) map[string][]plan.ItemRead {
	const limit = 100
	device := plan.ItemRead{Table: tableDevices, Calls: 1, Items: 1, Bytes: itemBytes(shown),
		Consistency: plan.Strong}
	ofLog := plan.ItemRead{Table: tableLog, Calls: 1, Items: 1, Bytes: itemBytes(entry),
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
	ofOperator.Index, ofOperator.Consistency = indexOperator, plan.Eventual
	list := device
	list.Index, list.Consistency = indexList, plan.Eventual
	list.Bytes = itemBytes(devices.copyIn(&devices.indexes[0], shown))
	names := plan.ItemRead{Table: tableRecords, Bytes: 40, Consistency: plan.Strong}
	all := map[string][]plan.ItemRead{
		plan.AskDevice: {device, ofLog},
		plan.AskLog:    {device, query(ofLog, states, pageOf(limit, states))},
		plan.AskList: {query(names, 1, states), query(list, buckets, pageOf(limit, buckets)),
			many(device, limit), many(ofLog, limit)},
		plan.AskOperator: {query(ofOperator, 1, pageOf(limit, 1)), many(device, limit),
			many(ofLog, limit)},
	}
	if reading != nil {
		all[plan.AskReading] = []plan.ItemRead{device, query(plan.ItemRead{
			Table: tableReadings, Bytes: itemBytes(reading), Consistency: plan.Strong,
		}, 1, pageOf(1, 1))}
	}
	return all
}

// planReference is the layout reference.
func planReference(s plan.Sample) *plan.Metered {
	entry, u := referenceEvent(&s.Events[0])
	for name, value := range u {
		entry.setText(name, value)
	}
	t := referenceTable(tableLog)
	m := metered(t.writes(plan.PerEvent, nil, entry, kept))
	ask := func(calls, items int) plan.ItemRead {
		return plan.ItemRead{Table: tableLog, Calls: float64(calls), Items: float64(items),
			Bytes: itemBytes(entry), Query: true, Consistency: plan.Strong}
	}
	const limit = 100
	ofOperator := ask(1, pageOf(limit, 1))
	ofOperator.Index, ofOperator.Consistency = indexOperator, plan.Eventual
	// The states of a device are found by skipping: one read for each, and one that finds no more.
	skip := ask(s.States+1, 1)
	m.Questions = map[string][]plan.ItemRead{
		plan.AskDevice:   {skip, ask(s.States+1, 2)},
		plan.AskLog:      {skip, ask(s.States, pageOf(limit, s.States))},
		plan.AskOperator: {ofOperator},
	}
	return m
}

// itemBytes is the size of an item, as the service counts: its names and values. What is not there
// has none.
func itemBytes(i item) (size int) {
	for name, value := range i {
		size += len(name) + valueBytes(value)
	}
	return size
}

func valueBytes(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberBytes(v.Value)
	case *types.AttributeValueMemberM: // 3 bytes, and one for each of its elements
		return 3 + len(v.Value) + itemBytes(v.Value)
	}
	return 1
}

// numberBytes is a byte for two significant digits, one more, and one for a sign.
func numberBytes(text string) int {
	digits, negative := strings.CutPrefix(text, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(digits, "0")
	}
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	size := (len(digits)+1)/2 + 1
	if negative {
		size++
	}
	return size
}
