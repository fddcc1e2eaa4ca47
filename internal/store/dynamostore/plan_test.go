package dynamostore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/shared"
)

// planned is the traffic of a plan: events of so many bytes, and readings of three metrics.
func planned(t *testing.T, eventBytes int) (plan.Sample, []plan.Layout) {
	t.Helper()
	const day = 24 * time.Hour
	traffic := plan.Traffic{
		Devices: 1, Interval: 5 * time.Minute, EventBytes: eventBytes, Retention: 30 * day,
		ReadingsEvery: 10 * time.Second, Metrics: 3, ReadingsRetention: 30 * day,
	}
	s, err := traffic.Sample()
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&Engine{}).Layouts(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, all
}

// writesOf are the writes of one kind, by place.
func writesOf(l *plan.Layout, per plan.Per) map[string]plan.ItemWrite {
	all := map[string]plan.ItemWrite{}
	for _, w := range l.Metered.Writes {
		if w.Per == per {
			all[w.Place()] = w
		}
	}
	return all
}

// TestSerialPlannedItems: the sizes are those that a person gets who counts the bytes of the items.
func TestSerialPlannedItems(t *testing.T) {
	sample, all := planned(t, 300)
	own, reference := &all[0], &all[1]
	hash := len(strconv.FormatUint(shared.MessageHash(&sample.Reading), 36))
	const (
		device  = len("DeviceID" + "default#line-07/press-0000123")
		key     = device + len("State#Date"+"NORMAL#2026-01-01T00:05:00.123456Z")
		message = 300 - 128 // 128 bytes of JSON are the rest
		entry   = key + len("Date"+"2026-01-01T00:05:00.123456Z") + len("Delivery") + 9 +
			len("Operator"+"default#operator-0007") + len("Message") + message + len("ttl") + 6
		reading = len("deviceId"+"default#line-07/press-0000123") +
			len("timestamp"+"2026-01-01T00:00:00.123456Z#") +
			len("metrics") + 3 + 3*(1+len("metric-0001")+3) + len("Delivery") + 9 + len("ttl") + 6
		plain = len("DeviceID"+"line-07/press-0000123") +
			len("State#Date"+"NORMAL#2026-01-01T00:05:00.123456") +
			len("Date"+"2026-01-01T00:05:00.123456") + len("State"+"NORMAL") +
			len("Operator"+"operator-0007") + len("Message") + message + len("ttl") + 6
	)
	for place, want := range map[string]int{
		"DeviceStateLog": entry, "DeviceStateLog/GSI1": entry,
	} {
		if w := writesOf(own, plan.PerEvent)[place]; w.After != want || w.Units() != 1 || !w.Kept {
			t.Errorf("%s: %+v, want %d bytes", place, w, want)
		}
	}
	if w := writesOf(reference, plan.PerEvent)["DeviceStateLog/GSI1"]; w.After != plain {
		t.Errorf("layout reference: %+v, want %d bytes", w, plain)
	}
	if w := writesOf(own, plan.PerReading)["Readings"]; w.After != reading+hash {
		t.Errorf("a reading: %+v, want %d bytes", w, reading+hash)
	}
	if w := writesOf(own, plan.PerReading)["Devices"]; w.Units() != 1 {
		t.Errorf("a reading puts the item of the device, too: %+v", w)
	}
	sample.Reading.Metrics = nil
	without, err := (&Engine{}).Layouts(sample)
	if err != nil {
		t.Fatal(err)
	}
	names := len(`,"metrics":["metric-0001","metric-0002","metric-0003"]`)
	with := writesOf(own, plan.PerRepeat)["Devices"].After
	if n := with - writesOf(&without[0], plan.PerRepeat)["Devices"].After; n != names {
		t.Errorf("names of metrics take %d bytes of the item of a device, want %d", n, names)
	}
	changes := writesOf(own, plan.PerChange)
	if w := changes["Devices/ByState"]; len(changes) != 3 || w.Units() != 2 {
		t.Errorf("a change costs two units in ByState and the put into the log: %+v", changes)
	}
	if w, ok := writesOf(own, plan.PerRepeat)["Devices/ByState"]; ok && w.Units() != 0 {
		t.Errorf("a repeated state writes to ByState: %+v", w)
	}
	if !reference.NoReadings || len(reference.Unserved) == 0 {
		t.Errorf("layout reference serves too much: %+v", reference)
	}
}

// TestSerialPlannedBoundary: with the byte that makes it 1,025, each write of an item costs another
// unit.
func TestSerialPlannedBoundary(t *testing.T) {
	_, small := planned(t, 300)
	size := writesOf(&small[0], plan.PerEvent)["DeviceStateLog"].After
	for extra, want := range map[int]float64{1024 - size: 1, 1025 - size: 2, 2048 - size: 2} {
		_, all := planned(t, 300+extra)
		for _, place := range []string{"DeviceStateLog", "DeviceStateLog/GSI1"} {
			if w := writesOf(&all[0], plan.PerEvent)[place]; w.Units() != want {
				t.Errorf("%s of %d bytes costs %g units, want %g", place, w.After, w.Units(), want)
			}
		}
	}
}

// TestSerialPlannedUnits: the test engine says the same of every write to a table and of what a
// device shows. It counts nothing for indexes, which the rules of the service do: that is the
// difference, and docs/planning.md lists it.
func TestSerialPlannedUnits(t *testing.T) {
	o := newTables(t)
	o.Shards = "1"
	o.Now = func() andon.Time { // DynamoDB stores a number without zeros at its end: a byte less
		return realClock()/100*100 + 56
	}
	o.Retention, o.ReadingsRetention = andon.Retention(30*86400e6), andon.Retention(30*86400e6)
	ct := costTest{t, open(t, o)}
	s, def := ct.s, andon.DefaultTenant
	for n, eventBytes := range []int{300, 978, 979} {
		sample, all := planned(t, eventBytes)
		own := &all[0]
		id := andon.DeviceID(fmt.Sprintf("line-07/press-%07d", n)) // as long as the sample's
		send := func(e andon.Event) func(context.Context) error {
			e.Device = id
			return func(ctx context.Context) error {
				return s.Append(ctx, def, e.Time, []andon.Event{e})
			}
		}
		early := sample.Events[2]
		early.Time = sample.Events[0].Time.Add(-60e6)
		for _, e := range []andon.Event{early, sample.Events[0]} { // the names are known then
			if err := send(e)(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ct.compare(o.Prefix, "a repeated state", own, plan.PerEvent, send(sample.Events[1]))
		if n == 0 { // its name is longer, so the item is not on the boundary
			ct.compare(o.Prefix, "another state", own, plan.PerEvent, send(sample.Events[2]))
		}
		reading := sample.Reading
		reading.Device = id
		measure := func(ctx context.Context) error {
			reading.Time = reading.Time.Add(10e6)
			return s.AppendReadings(ctx, def, reading.Time, []andon.Reading{reading})
		}
		if err := measure(t.Context()); err != nil { // the metrics are known then
			t.Fatal(err)
		}
		ct.compare(o.Prefix, "a reading", own, plan.PerReading, measure)
		ct.asks(own, plan.AskDevice, func(ctx context.Context) error {
			_, err := s.Device(ctx, def, id)
			return err
		})
		ct.asks(own, plan.AskReading, func(ctx context.Context) error {
			_, err := s.LatestReadings(ctx, def, []andon.DeviceID{id}, 0)
			return err
		})
	}
}

// TestSerialPlannedRaces: where two processes write to one device in turn, each event costs a put
// in vain and two reads more, and each change a put and a read of the log.
func TestSerialPlannedRaces(t *testing.T) {
	o := newTables(t)
	o.Shards = "1"
	stores := []*Store{open(t, o), open(t, o)}
	sample, all := planned(t, 300)
	own := &all[0]
	sum := func(name string) (n float64) {
		for _, s := range stores {
			for is, value := range figures(s) {
				if strings.HasPrefix(is, name) {
					n += value
				}
			}
		}
		return n
	}
	const devices = "consumed_units_total operation "
	reads := func() float64 {
		return sum(devices+"GetItem table Devices") + sum(devices+"BatchGetItem table Devices")
	}
	logReads := func() float64 { return sum(devices + "Query table Records") }
	unitsOf := func(per plan.Per) (n float64) {
		for _, r := range own.Metered.Reads {
			if r.Per == per {
				n += r.Units(1)
			}
		}
		return n
	}
	states := []andon.State{"WARNING1", "WARNING2"}
	for n := range 12 { // the first process writes changes, and the second repeats them
		e := sample.Events[0]
		e.Time = e.Time.Add(andon.Duration(n) * 60e6)
		e.State = states[n/2%2]
		failed, read, logRead := sum("conditions_failed"), reads(), logReads()
		err := stores[n%2].Append(t.Context(), andon.DefaultTenant, e.Time, []andon.Event{e})
		if err != nil {
			t.Fatal(err)
		}
		if n < 4 || n%2 == 0 { // the names are known then
			continue
		}
		if got := sum("conditions_failed") - failed; got != 2 {
			t.Errorf("%g puts were in vain, want one of the device and one of the change", got)
		}
		if got, want := reads()-read, unitsOf(plan.PerRace); got != want {
			t.Errorf("%g units were read of the device, want %g", got, want)
		}
		if got, want := logReads()-logRead, unitsOf(plan.PerChangeRace); got != want {
			t.Errorf("%g units were read of the log of changes, want %g", got, want)
		}
	}
}

// TestSerialPlannedPeople: an escalation and an assignment, as the test engine counts them.
func TestSerialPlannedPeople(t *testing.T) {
	o := newTables(t)
	o.Shards = "1"
	ct := costTest{t, open(t, o)}
	s, def := ct.s, andon.DefaultTenant
	sample, all := planned(t, 300)
	own := &all[0]
	e := sample.Events[2]
	if err := s.Append(t.Context(), def, e.Time, sample.Events[:]); err != nil {
		t.Fatal(err)
	}
	escalate := func(ctx context.Context) error {
		_, _, err := s.Escalate(ctx, def, andon.Escalation{Device: e.Device, Time: e.Time,
			State: e.State, At: e.Time + 1, To: "supervisor-0007", By: e.Operator})
		return err
	}
	assign := func(to andon.PersonID) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Assign(ctx, def, e.Time, []andon.Assignment{
				{Device: e.Device, Operator: to}})
			return err
		}
	}
	for _, to := range []andon.PersonID{"operator-0008", "operator-0009"} { // names are known then
		if err := assign(to)(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		per plan.Per
		do  func(context.Context) error
	}{
		"an assignment": {plan.PerAssignment, assign("operator-0008")},
		"an escalation": {plan.PerEscalation, escalate},
	} {
		var reads, writes float64
		for _, r := range own.Metered.Reads {
			if r.Per == c.per {
				reads += r.Units(1)
			}
		}
		for _, w := range own.Metered.Writes {
			if w.Per == c.per && w.Index == "" {
				writes += w.Units()
			}
		}
		if what == "an escalation" {
			writes++ // the name of the supervisor, once
		}
		if r, w := ct.consumed(c.do); r != reads || w != writes {
			t.Errorf("%s: %g units were read and %g written, and %g and %g are planned", what, r,
				w, reads, writes)
		}
	}
}

// asks holds what the engine says of a query against the plan.
func (ct costTest) asks(l *plan.Layout, query string, do func(context.Context) error) {
	ct.Helper()
	want := 0.0
	for _, r := range l.Metered.Queries[query] {
		want += r.Units(1)
	}
	if _, err := ct.s.tenant(ct.Context(), andon.DefaultTenant); err != nil { // read each second
		ct.Fatal(err)
	}
	if reads, _ := ct.consumed(do); reads != want {
		ct.Errorf("%s: %g units were read, and %g are planned", query, reads, want)
	}
}

// compare holds what the engine says of something against the plan, table by table.
func (ct costTest) compare(
	prefix, what string, l *plan.Layout, per plan.Per, do func(context.Context) error,
) {
	ct.Helper()
	if _, err := ct.s.tenant(ct.Context(), andon.DefaultTenant); err != nil {
		ct.Fatal(err)
	}
	before := ct.units()
	if err := do(ct.Context()); err != nil {
		ct.Fatal(err)
	}
	got := map[string]float64{}
	for of, n := range ct.units() {
		if of.operation == "PutItem" || of.operation == "BatchWriteItem" {
			got[placeOf(strings.TrimPrefix(of.table, prefix), of.index)] += n - before[of]
		}
	}
	for place, w := range writesOf(l, per) {
		want := w.Units()
		if w.Index != "" {
			want = 0 // the difference
		}
		if got[place] != want {
			ct.Errorf("%s: %s took %g units, and %g are planned (%d bytes)",
				what, place, got[place], want, w.After)
		}
	}
}

func placeOf(table, index string) string {
	w := plan.ItemWrite{Table: table, Index: index}
	return w.Place()
}
