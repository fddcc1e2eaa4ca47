// Package planning says what a fleet writes to DynamoDB and reads from it, for internal/plan. The
// sizes are those of items that the code of the store makes. It does no I/O.
package planning

import (
	"cmp"
	"crypto/rand"
	"maps"
	"reflect"
	"slices"
	"time"

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

// What the service takes of one partition key, of a table unless more was asked for, and of a new
// one on demand; and how many days what has expired may stay.
const (
	keyWriteUnits = 1000
	tableUnits    = 40_000
	startWrites   = 4000
	startReads    = 12_000
	deletedAfter  = 2
)

// Config is what the figures depend on.
type Config struct {
	Tables   []ddb.Table // of the layout andon
	Indexes  items.ReadingIndexes
	Capacity provision.Capacity
	// Shards is how many partitions a device has at least. With Divides it gets more where it needs
	// them, and so do the keys of indexes.
	Shards  int
	Divides bool
	// Eventual says that reads for answers are eventual, and EventualReadings the same of readings.
	Eventual, EventualReadings bool
	Recount                    time.Duration
}

// Layouts returns what a fleet writes and reads: the items are made by the code that writes
// them.
func Layouts(e Config, s plan.Sample) ([]plan.Layout, error) {
	// Each reading has one of them.
	if len(e.Indexes.MetricIndex) > 0 && len(s.Reading.Metrics) > 0 {
		all := slices.Clone(s.Reading.Metrics)
		all[0].Name = andon.MetricName(e.Indexes.MetricIndex[0])
		slices.SortFunc(all, func(a, b andon.Metric) int { return cmp.Compare(a.Name, b.Name) })
		s.Reading.Metrics = all
	}
	own, err := e.own(s)
	if err != nil {
		return nil, err
	}
	all := []plan.Layout{
		{Store: "dynamodb", Name: "andon", Survives: true, Metered: own},
		{
			Store: "dynamodb", Name: "reference", Survives: true, NoReadings: true,
			Unserved: []string{plan.AskList, plan.AskReading},
			Notes: []string{"it has no counts, no assignments and no feed",
				"a board shows no fleet with it; the page of a device asks every 5 s for what it " +
					"shows and for its log"},
			Metered: e.ofReference(s),
		},
	}
	if s.NoEvents && len(s.Reading.Metrics) > 0 {
		all = append(all, plan.Layout{
			Store: "dynamodb", Name: "timeseries", Survives: true, Metered: e.ofSeries(s),
			Unserved: []string{plan.AskDevice, plan.AskLog, plan.AskList, plan.AskOperator,
				plan.AskFleet},
			Notes: []string{"it keeps readings alone"},
		})
	}
	return all, nil
}

// maker adds up what a store writes.
type maker struct {
	*Config
	*plan.Metered
	tables map[string]*ddb.Table
}

func (e *Config) metered(tables []ddb.Table, actions []string) *maker {
	m := &maker{e, &plan.Metered{
		KeyUnits: keyWriteUnits, TableUnits: tableUnits, DeletedAfter: deletedAfter,
		StartWrites: max(startWrites, float64(e.Capacity.Write.Warm)),
		StartReads:  max(startReads, float64(e.Capacity.Read.Warm)),
		Scaled:      float64(provision.Target) / 100,
		LeastWrite:  float64(e.Capacity.Write.Min), LeastRead: float64(e.Capacity.Read.Min),
		Alarms: float64(provision.AlarmMetrics(tables, actions)), Recovery: e.Capacity.Recovery,
	}, map[string]*ddb.Table{}}
	for i := range tables {
		t := &tables[i]
		m.tables[t.Name] = t
		m.Places = append(m.Places, t.Name)
		for _, x := range t.Indexes {
			m.Places = append(m.Places, t.Name+"/"+x.Name)
		}
	}
	return m
}

// own returns the writes and reads of the layout andon.
func (e *Config) own(s plan.Sample) (*plan.Metered, error) {
	m := e.metered(e.Tables, ddb.Actions(false))
	t := &shared.Tenant{
		Key: items.TenantKey(andon.DefaultTenant, 0), Record: andon.NewTenant(andon.DefaultTenant),
	}
	d := &items.Device{Tenant: t}
	d.ID = s.Events[0].Device
	d.Measures([]items.Message{{Reading: s.Reading}})
	shown, err := shownBy(d, s.Events[:])
	if err != nil {
		return nil, err
	}
	logged, err := changeItem(d)
	if err != nil {
		return nil, err
	}
	stamp := int64(s.Events[0].Time)
	first := items.Event{Event: s.Events[0], Delivery: stamp}
	entry := first.Item(d, 1, items.Expiry(s.Retention))
	m.write(items.TableLog, plan.PerEvent, nil, entry, kept)
	m.write(items.TableDevices, plan.PerRepeat, shown[0], shown[1], replaced)
	m.write(items.TableDevices, plan.PerChange, shown[1], shown[2], replaced)
	m.write(items.TableRecords, plan.PerChange, nil, logged, replaced)
	log := &m.Writes[len(m.Writes)-1] // it has one key, and its items many changes
	log.Sharing, log.Joined = plan.ByTenant, changeBytes(logged)
	m.write(items.TableDevices, plan.PerDevice, nil, shown[1], lasting)
	if err := m.people(d, &s.Events[2], shown[2], logged); err != nil {
		return nil, err
	}
	m.races(shown[1], logged)
	var reading ddb.Item
	if len(s.Reading.Metrics) > 0 {
		r := items.Message{Reading: s.Reading, Delivery: stamp}
		reading = r.Item(d, 1, items.Expiry(s.ReadingsRetention), &e.Indexes)
		m.write(items.TableReadings, plan.PerReading, nil, reading, kept)
		m.write(items.TableDevices, plan.PerReading, shown[1], shown[1], replaced)
		m.Writes = append(m.Writes, metricRows(t, &s.Reading))
	}
	m.ask(s.States, shown[1], entry, reading)
	return m.Metered, nil
}

// changeItem returns an item of the log of changes, as if no other change were in it. It is kept
// for a day, which is nothing next to the log of the entries.
func changeItem(d *items.Device) (ddb.Item, error) {
	shown := d.Shown()
	size, err := changelog.Bytes(changelog.Change{Version: d.Version, Change: andon.Change{
		Kind: andon.ByEntry, Device: d.ID, Before: shown, After: shown,
		Entry: andon.EntryRef{Time: d.Time, State: d.State},
	}})
	return items.LogItem(d.Tenant.Key+"#0", changelog.Item{
		At: d.Time, Expires: d.Time, Data: make([]byte, size),
	}), err
}

// changeBytes returns what the change of such an item takes among others.
func changeBytes(logged ddb.Item) int {
	return ddb.Item{"": logged[items.AttrData]}.Bytes()
}

// races adds what processes do in vain: a put of a device that another one was faster to put, after
// which it is read, to see whose put it is and what it is, and a change whose place in the log was
// taken. And it adds what each process reads for itself: all devices to count them, and the log of
// changes where anyone waits for it.
func (m *maker) races(shown, logged ddb.Item) {
	m.Writes = append(m.Writes,
		plan.ItemWrite{Per: plan.PerRace, Table: items.TableDevices, Before: shown.Bytes(),
			Serial: true},
		plan.ItemWrite{Per: plan.PerChangeRace, Table: items.TableRecords, Before: logged.Bytes(),
			Serial: true})
	device := readOf(items.TableDevices, shown)
	device.Per, device.Calls = plan.PerRace, 2
	scan := query(readOf(items.TableDevices, shown), 1, 1)
	scan.Per, scan.Every, scan.Fleet = plan.PerProcess, m.Recount, true
	taken := query(readOf(items.TableRecords, logged), 1, 1)
	taken.Per = plan.PerChangeRace
	poll := taken
	poll.Per, poll.Every = plan.PerWatch, changelog.Beat
	m.Reads = append(m.Reads, device, taken, scan, poll)
}

// people adds an escalation and an assignment: records, the item of the device, its indexes, and a
// change in the log.
func (m *maker) people(d *items.Device, e *andon.Event, shown, logged ddb.Item) error {
	t := d.Tenant
	r := andon.Escalation{Device: d.ID, Time: e.Time, State: e.State, At: e.Time,
		To: "supervisor-0007", By: e.Operator}
	newest := items.Latest(d, andon.EntryRef{Time: e.Time, State: e.State})
	record := items.EscalationItem(newest.Item(), &r)
	record[items.AttrVersion] = ddb.Number(e.Time)
	record.SetText(items.AttrEscalated, items.Join(t.Key, string(r.To)))
	escalated, err := itemAfter(d.Clone(), func(d *items.Device) error {
		return d.Escalate(current.Escalation{Entry: e.Time, State: e.State, At: r.At, To: r.To},
			t.Record.States, nil)
	})
	if err != nil {
		return err
	}
	assigned, err := itemAfter(d.Clone(), func(d *items.Device) error {
		return d.Assign(&andon.Assignment{Operator: "operator-0008"}, e.Time)
	})
	former := items.AssignmentKey(d, e.Time)
	former.SetText(items.AttrOperator, string(e.Operator))

	m.write(items.TableLog, plan.PerEscalation, nil, record, kept)
	m.write(items.TableDevices, plan.PerEscalation, shown, escalated, replaced)
	m.writeCopies(items.TableDevices, plan.PerEscalation, escalated, shown, replaced) // its end
	m.write(items.TableRecords, plan.PerEscalation, nil, logged, replaced)
	m.write(items.TableRecords, plan.PerAssignment, nil, former, kept)
	m.write(items.TableDevices, plan.PerAssignment, shown, assigned, replaced)
	m.write(items.TableRecords, plan.PerAssignment, nil, logged, replaced)

	entry := readOf(items.TableLog, record)
	entry.Per, entry.Calls = plan.PerEscalation, 4 // the entry, and its newest record thrice
	device := readOf(items.TableDevices, shown)
	device.Per = plan.PerEscalation
	m.Reads = append(m.Reads, entry, device)
	device.Per = plan.PerAssignment
	m.Reads = append(m.Reads, device)
	return err
}

// itemAfter changes a device and returns its item. A change of what it shows is in the item until
// the next put.
func itemAfter(was *items.Device, change func(*items.Device) error) (ddb.Item, error) {
	d := was.Clone()
	if err := change(d); err != nil {
		return nil, err
	}
	d.Pending = nil
	before, after := was.Shown(), d.Shown()
	if !andon.ShowAlike(before, after) {
		d.Pending = &items.Pending{From: 1, Kind: andon.ByEntry, Before: before,
			Entry: andon.EntryRef{Time: d.Time, State: d.State}}
	}
	is, err := d.Item(d.Version)
	if err == nil {
		is[ddb.Nonce] = ddb.Text(rand.Text())
		*was = *d
	}
	return is, err
}

// shownBy returns the item of a device after each of some events.
func shownBy(d *items.Device, events []andon.Event) (shown []ddb.Item, err error) {
	for i := range events {
		d.Keep(events[i].State) // it has had all of them before
	}
	states := d.Tenant.Record.States
	for i := range events {
		e := &events[i]
		is, err := itemAfter(d, func(d *items.Device) error {
			d.Received, d.Version = e.Time, int64(e.Time)
			return d.Apply(current.Entry{Time: e.Time, Severity: states.Severity(e.State),
				State: e.State, Operator: e.Operator}, states, nil) // in order: nothing is asked
		})
		if err != nil {
			return nil, err
		}
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

// write adds the writes of one item: to the table, and to each index whose copy of it changes.
func (m *maker) write(table string, per plan.Per, before, after ddb.Item, l lifetime) {
	w := plan.ItemWrite{
		Per: per, Table: table, Before: before.Bytes(), After: after.Bytes(),
		Kept: l == kept, Standing: l == lasting,
		Serial: table == items.TableDevices || table == items.TableRecords,
	}
	if !w.Serial {
		m.sharded(&w)
	}
	m.Writes = append(m.Writes, w)
	m.writeCopies(table, per, before, after, l)
}

func (m *maker) writeCopies(table string, per plan.Per, before, after ddb.Item, l lifetime) {
	t := m.tables[table]
	for i := range t.Indexes {
		x := &t.Indexes[i]
		was, is := indexCopy(t, x, before), indexCopy(t, x, after)
		w := plan.ItemWrite{
			Per: per, Table: table, Index: x.Name, Before: was.Bytes(), After: is.Bytes(),
			Kept: l == kept, Standing: l == lasting, Changed: !reflect.DeepEqual(was, is),
			Moves: was != nil && is != nil && (was.Text(x.Key.Hash) != is.Text(x.Key.Hash) ||
				was.Text(x.Key.Sort) != is.Text(x.Key.Sort)),
		}
		if m.Divides {
			w.MostKeys, w.DividedAt = items.MostShards, items.UnitsOfShard/items.Sharers
		}
		switch w.Sharing = plan.ByOperator; x.Name {
		case items.IndexList:
			w.Sharing = plan.ByState
		case items.IndexMetric:
			w.Sharing = plan.ByTenant
		case items.IndexLatest:
			w.Sharing = plan.ByDevice
			m.sharded(&w)
		}
		if w.Units() > 0 || w.Standing && is != nil {
			m.Writes = append(m.Writes, w)
		}
	}
}

// sharded says in how many partitions a device is.
func (m *maker) sharded(w *plan.ItemWrite) {
	w.Keys, w.MostKeys = m.Shards, m.Shards
	if m.Divides {
		w.MostKeys, w.DividedAt = items.MostShards, items.UnitsOfShard
	}
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

func metricRows(t *shared.Tenant, r *andon.Reading) plan.ItemWrite {
	size := 0
	for _, m := range r.Metrics {
		row := items.RecordKeys().Item(items.MetricKey(t, m.Name, items.BucketOf(string(r.Device))),
			string(r.Device))
		size += row.Bytes() + plan.Overhead
	}
	return plan.ItemWrite{Per: plan.PerDevice, Table: items.TableRecords,
		After: size - plan.Overhead, Standing: true}
}

func readOf(table string, i ddb.Item) plan.ItemRead {
	return plan.ItemRead{Table: table, Calls: 1, Items: 1, Bytes: i.Bytes(),
		Consistency: plan.Strong}
}

// query makes a read one of so many queries, each of so many items.
func query(r plan.ItemRead, calls, items int) plan.ItemRead {
	r.Query, r.Calls, r.Items = true, float64(calls), float64(items)
	return r
}

// divided makes a read one query of each of the partitions that there are of each of so many.
func divided(r plan.ItemRead, of int) plan.ItemRead {
	r.Query, r.Calls = true, float64(of)
	r.Divided = func(n int) float64 { return float64(items.PageOf(limit, of*n)) }
	r.Items = r.Divided(1)
	return r
}

func many(r plan.ItemRead, items int) plan.ItemRead {
	r.Items = float64(items)
	return r
}

func ofIndex(r plan.ItemRead, index string) plan.ItemRead {
	r.Index, r.Consistency = index, plan.Eventual
	return r
}

func answer(r plan.ItemRead, eventual bool) plan.ItemRead {
	if eventual {
		r.Consistency = plan.Eventual
	}
	return r
}

// limit is how many a page of a query has.
const limit = 100

// ask adds what each query reads, of a device with entries of so many states.
func (m *maker) ask(states int, shown, entry, reading ddb.Item) {
	device := answer(readOf(items.TableDevices, shown), m.Eventual)
	log := answer(readOf(items.TableLog, entry), m.Eventual)
	x := &m.tables[items.TableDevices].Indexes[0]
	list := ofIndex(device, items.IndexList)
	list.Bytes = indexCopy(m.tables[items.TableDevices], x, shown).Bytes()
	names := plan.ItemRead{Table: items.TableRecords, Bytes: 40, Consistency: plan.Strong}
	fleet := func(r plan.ItemRead) plan.ItemRead {
		r.Fleet = true
		return r
	}
	all := fleet(query(list, 1, 1))
	all.Divided = func(n int) float64 { return 1 / float64(n) }
	m.Queries = map[string][]plan.ItemRead{
		plan.AskDevice: {device, log},
		plan.AskLog:    {device, divided(log, states)},
		plan.AskList: {query(names, 1, states),
			divided(list, 1), many(device, limit), many(log, limit)},
		plan.AskFleet: {query(names, 1, states), all, fleet(device), fleet(log)},
		plan.AskOperator: {divided(ofIndex(log, items.IndexOperator), 1),
			many(device, limit)},
	}
	if reading == nil {
		return
	}
	eventual := m.Eventual || m.EventualReadings
	r := query(answer(readOf(items.TableReadings, reading), eventual), 1, items.PageOf(1, 1))
	if x := m.Indexes.LatestIndex; eventual && x != "" && x != items.ProjectsNone {
		r.Index = items.IndexLatest
	}
	m.Queries[plan.AskReading] = []plan.ItemRead{
		answer(readOf(items.TableDevices, shown), eventual), r}
}

func (e *Config) ofReference(s plan.Sample) *plan.Metered {
	m := e.metered([]ddb.Table{reference.Table(items.TableLog, s.Retention)}, ddb.Actions(true))
	entry, u := reference.Event(&s.Events[0], s.Retention)
	for name, value := range u {
		if value != nil {
			entry[name] = value
		}
	}
	escalated := maps.Clone(entry)
	escalated.SetText(items.AttrEscalated, "supervisor-0007")
	m.Shards, m.Divides = 1, false
	m.write(items.TableLog, plan.PerEvent, nil, entry, kept)
	m.write(items.TableLog, plan.PerEscalation, entry, escalated, replaced)
	found := readOf(items.TableLog, entry)
	found.Per = plan.PerEscalation
	m.Reads = append(m.Reads, found)

	ask := answer(readOf(items.TableLog, entry), e.Eventual)
	// The states of a device are found by skipping: one read for each, and one that finds no more.
	skip := query(ask, s.States+1, 1)
	m.Queries = map[string][]plan.ItemRead{
		plan.AskDevice:   {skip, query(ask, s.States+1, 2)},
		plan.AskLog:      {skip, query(ask, s.States, items.PageOf(limit, s.States))},
		plan.AskOperator: {query(ofIndex(ask, items.IndexOperator), 1, items.PageOf(limit, 1))},
	}
	return m.Metered
}

func (e *Config) ofSeries(s plan.Sample) *plan.Metered {
	o := reference.Options{Table: items.TableReadings, Retention: s.ReadingsRetention}
	o.LatestIndex = !slices.Contains([]string{"", items.ProjectsNone}, e.Indexes.LatestIndex)
	if len(e.Indexes.MetricIndex) > 0 {
		o.Metric = andon.MetricName(e.Indexes.MetricIndex[0])
	}
	reading, set := o.ReadingItem(&s.Reading)
	maps.Copy(reading, set)
	m := e.metered([]ddb.Table{reference.ReadingsTable(o)}, ddb.Actions(true))
	m.Shards = 1
	m.write(o.Table, plan.PerReading, nil, reading, kept)
	for i := range m.Writes {
		if w := &m.Writes[i]; w.Index == items.IndexMetric {
			w.Keys = 1 // all devices
		}
	}
	newest := query(answer(readOf(o.Table, reading), e.Eventual || e.EventualReadings), 1,
		items.PageOf(1, 1))
	if o.LatestIndex && newest.Consistency == plan.Eventual {
		newest.Index = items.IndexLatest
	}
	m.Queries = map[string][]plan.ItemRead{plan.AskReading: {newest}}
	return m.Metered
}
