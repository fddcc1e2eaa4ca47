package planner

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/plan"
)

// The arithmetic of this file is done by hand: it uses nothing of package plan. Prices are those of
// us-east-1.

// demanded is what write and read units a second cost a month on demand.
func demanded(writes, reads float64) float64 {
	return (writes*0.625 + reads*0.125) * 730 * 3600 / 1e6
}

// hours is what provisioned units cost a month.
func hours(writes, reads float64) float64 { return (writes*0.00065 + reads*0.00013) * 730 }

// gb is what so many items are, each with the 100 bytes of the service.
func gb(items, bytes float64) float64 { return items * (bytes + 100) / math.Pow(2, 30) }

// scan is what two processes read a second where each reads all devices of a size every 10 minutes.
func scan(devices, bytes float64) float64 { return 2 * math.Ceil(devices*bytes/4096) / 600 }

const (
	machines  = 2 * 0.0408 * 730 // two of one core
	alarms    = 80 * 0.10        // metrics of four tables and six indexes
	alarmsRef = 24 * 0.10        // of one table and two indexes
	device    = 372              // bytes of the item of a device
	listed    = 100 + 98 + 90    // of its copies in ByState and ByOperator, with 100 once
)

// devicesGB is what the items of devices are, in the table and in both of its indexes.
func devicesGB(n float64) float64 { return gb(n, device) + gb(n, 98) + gb(n, 90) }

// kept is what storing costs: the log and GSI1 with entries of a size, and the devices. The log and
// the devices can be recovered for $0.20 a GB.
func kept(entries, bytes, devices float64) float64 {
	return (2*gb(entries, bytes)+devicesGB(devices))*0.25 +
		(gb(entries, bytes)+gb(devices, device))*0.20
}

// quiet are the flags of a fleet without people, boards and questions, of which one process writes
// each device.
func quiet(more ...string) []string {
	return noQueries(append([]string{"--escalated", "0", "--assigned", "0", "--boards", "0",
		"--routing", "device"}, more...)...)
}

// handCase is a plan, and what it costs by hand.
type handCase struct {
	what  string
	args  []string
	store string // and layout
	way   int
	want  float64
}

func checkHand(t *testing.T, cases []handCase) {
	t.Helper()
	for _, c := range cases {
		all := planOf(t, c.args...).Results
		i := slices.IndexFunc(all, func(r plan.Result) bool { return r.Name() == c.store })
		if got := all[i].Ways[c.way].Cost; math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: %s, %s, costs $%.4f, and by hand $%.4f", c.what, c.store,
				all[i].Ways[c.way].Name, got, c.want)
		}
	}
}

const (
	events  = 10_000 / 300.0 // a second of the default fleet
	changes = events / 10
	entries = events * 86_400 * 32 // kept for 30 days and 2 until they are deleted
)

// The units a second of the default fleet, quiet: 3 an event, 3 a change, and of half of the
// changes a put and a read in vain.
const (
	writes = 3*events + 3*changes + changes/2
	reads  = changes / 2
)

// TestFleetsByHand: fleets on layout andon that nobody asks about.
func TestFleetsByHand(t *testing.T) {
	const andon = "dynamodb andon"
	base := reads + scan(10_000, device)
	fixed := kept(entries, 346, 10_000) + machines + alarms
	// log, GSI1 and Devices 48 each; ByState 10; Records 8; five others 5. Ten of 5 to read.
	provisioned := hours(3*48+10+8+5*5, 50)
	million := kept(100*entries, 346, 1e6) + machines + alarms
	checkHand(t, []handCase{
		{"the default fleet", quiet("--store", "dynamodb"), andon, 0,
			demanded(writes, base) + fixed},
		{"provisioned", quiet("--store", "dynamodb"), andon, 1, provisioned + fixed},
		{"1,024 bytes in the log", quiet("--store", "dynamodb", "--event-bytes", "978"), andon, 0,
			demanded(writes, base) + kept(entries, 1024, 10_000) + machines + alarms},
		{"1,025 bytes: a unit more in the log and in GSI1",
			quiet("--store", "dynamodb", "--event-bytes", "979"), andon, 0,
			demanded(writes+2*events, base) + kept(entries, 1025, 10_000) + machines + alarms},
		{"4,000 bytes for a year: 4 units each in the log and in GSI1",
			quiet("--store", "dynamodb", "--event-bytes", "4000", "--retention", "365d"), andon, 0,
			demanded(writes+6*events, base) +
				kept(events*86_400*367, 346+3700, 10_000) + machines + alarms},
		{"each event changes the state", quiet("--store", "dynamodb", "--changes", "100%"), andon,
			0, demanded(6*events+events/2, events/2+scan(10_000, device)) + fixed},
		{"a million devices", quiet("--store", "dynamodb", "--devices", "1000000"), andon, 0,
			demanded(100*writes, 100*reads+scan(1e6, device)) + million},
		{"a process that counts each minute",
			quiet("--store", "dynamodb", "--dynamodb-recount", "1m"), andon, 0,
			demanded(writes, reads+10*scan(10_000, device)) + fixed},
		{"without recovery and alarms, in eu-west-1",
			quiet("--store", "dynamodb", "--region", "eu-west-1"), andon, 0,
			(writes*0.705+base*0.1415)*2.628 + (2*gb(entries, 346)+devicesGB(10_000))*0.283},
	})
}

// TestExtrasByHand: each thing that people do, and each setting, over the default fleet.
func TestExtrasByHand(t *testing.T) {
	const andon = "dynamodb andon"
	fixed := kept(entries, 346, 10_000) + machines + alarms
	fleet := func(w, r float64, more ...string) handCase {
		return handCase{strings.Join(more, " "), quiet(append(more, "--store", "dynamodb")...),
			andon, 0, demanded(writes+w, reads+scan(10_000, device)+r) + fixed}
	}
	const few = changes / 100 // changes after which people do something
	checkHand(t, []handCase{
		// Half of the events follow one that the other process wrote: a put in vain, two reads.
		fleet(events/2, events/2*2, "--routing", "any"),
		// A read four times a second, at each of two processes with a board at most.
		fleet(0, 4, "--boards", "1"),
		fleet(0, 2, "--boards", "0.5"),
		fleet(0, 8, "--boards", "100"),
		// One opening board: names 1, ByState 10,000 x 98 bytes eventual, two reads a device.
		fleet(0, (1+0.5*math.Ceil(98e4/4096)+20_000)*0.01, "--ask-fleet", "0.01"),
		// What a device shows: its item and its newest entry.
		fleet(0, 10*2, "--ask-device", "10"),
		fleet(0, 10*2*0.5, "--ask-device", "10", "--dynamodb-consistency", "eventual"),
		// A log: the device, and two queries of 100 x 346 bytes, 9 units each.
		fleet(0, 1+2*9, "--ask-log", "1"),
		// A list: names 1, one query of 101 x 98 bytes eventual, 200 items.
		fleet(0, 1+0.5*3+200, "--ask-list", "1"),
		fleet(0, 1+0.5*3+100, "--ask-list", "1", "--dynamodb-consistency", "eventual"),
		// An operator: one query of 101 x 346 bytes eventual, and the devices of 100 hits.
		fleet(0, 0.5*9+100, "--ask-operator", "1"),
	})
	// An escalation: a record in the log and in GSI2, a unit each; the device with its change, 2;
	// BySupervisor twice, and a change. It reads four items of the log, and the device.
	escalated := fleet(few*(1+1+2+2+1), few*5, "--escalated", "1%")
	escalated.want += gb(few*86_400*32, 186) * (2*0.25 + 0.20)
	// An assignment: the former in Records, the device with its change, 2; ByOperator moves; and a
	// change.
	assigned := fleet(few*(1+2+2+1), few, "--assigned", "1%")
	assigned.want += gb(few*86_400*32, 95) * (0.25 + 0.20)
	checkHand(t, []handCase{escalated, assigned})
}

// TestReadingsByHand: what the optional indexes add to a thousand readings a second, kept for an
// hour and until they are deleted.
func TestReadingsByHand(t *testing.T) {
	cost := func(more ...string) float64 {
		return planOf(t, quiet(append(more, "--readings-interval", "10s", "--readings-retention",
			"1h", "--store", "dynamodb")...)...).Results[0].Ways[0].Cost
	}
	const (
		hash    = 12 // of the message, to base 36
		reading = len("deviceId"+"default#line-07/press-0000123") +
			len("timestamp"+"2026-01-01T00:00:00.123456Z#") + hash +
			len("metrics") + 3 + 3*(1+len("metric-0001")+3) + len("Delivery") + 9 + len("ttl") + 6
		keys = len("metricType"+"default#metric-0001") +
			len("metricTime"+"2026-01-01T00:00:00.123456Z#line-07/press-0000123#") + hash
		rows = 1000 * (3600 + 2*86_400.0)
	)
	plain := cost()
	for _, c := range []struct {
		what string
		args []string
		want float64
	}{
		{"DeviceLatestGSI", []string{"--dynamodb-latest-index", "all"},
			demanded(1000, 0) + gb(rows, float64(reading))*0.25},
		{"MetricGSI", []string{"--dynamodb-metric-index", "metric-0001", // in the table, too
			"--dynamodb-metric-projection", "all"},
			demanded(1000, 0) + gb(rows, float64(reading+keys))*0.25 +
				rows*float64(keys)*0.45/(1<<30)},
		{"both", []string{"--dynamodb-metric-index", "metric-0001", "--dynamodb-metric-projection",
			"all", "--dynamodb-latest-index", "all"},
			demanded(2000, 0) + 2*gb(rows, float64(reading+keys))*0.25 +
				rows*float64(keys)*0.45/(1<<30)},
	} {
		got := cost(c.args...) - plain - 0.4*float64(strings.Count(c.what, "GSI")) // its alarms
		if c.what == "both" {
			got -= 0.8
		}
		if math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s adds $%.4f, and by hand $%.4f", c.what, got, c.want)
		}
	}
}

// TestReferenceByHand: a table of the guide, of which the service deletes what has expired.
func TestReferenceByHand(t *testing.T) {
	const reference = "dynamodb reference"
	plain := float64(len("DeviceID"+"line-07/press-0000123") +
		len("State#Date"+"NORMAL#2026-01-01T00:05:00.123456") +
		len("Date"+"2026-01-01T00:05:00.123456") + len("State"+"NORMAL") +
		len("Operator"+"operator-0007") + len("Message") + 172 + len("ttl") + 6)
	fixed := gb(entries, plain)*(2*0.25+0.20) + machines + alarmsRef
	fleet := func(w, r float64, more ...string) handCase {
		return handCase{strings.Join(more, " "), quiet(append(more, "--store", "dynamodb")...),
			reference, 0, demanded(2*events+w, r) + fixed} // put, with GSI1
	}
	provisioned := fleet(0, 0)
	provisioned.way, provisioned.want = 1, hours(2*48+5, 15)+fixed
	checkHand(t, []handCase{
		fleet(0, 0), provisioned,
		fleet(0, 0, "--routing", "any"), fleet(0, 0, "--boards", "9"), // there are neither
		fleet(changes/100*3, changes/100, "--escalated", "1%"),
		// The states of a device are skipped through, three reads; then three more.
		fleet(0, 6, "--ask-device", "1"),
		fleet(0, 3, "--ask-device", "1", "--dynamodb-consistency", "eventual"),
	})
}

// TestClusterByHand: Cassandra with two writers, of which each reads a device before it writes.
func TestClusterByHand(t *testing.T) {
	const write, read = 143, 388 // µs of one replica
	// 100,000 events a second: the log and the device, and a read.
	each := 100_000 * (2*write + read)
	// A change: three writes and a read of the device, four rounds of the log, two of the design.
	each += 10_000 * (3*write + read + 4*write + 2*write)
	hourly := 1e6/3600*write + 2*1e6/86_400*write
	nodes := math.Ceil((float64(each) + hourly) * 3 * 3 / 1e6 / 2)
	fleet := quiet("--devices", "1000000", "--interval", "10s", "--retention", "1d", "--batch",
		"1000", "--store", "cassandra")
	watched := slices.Concat(fleet, []string{"--boards", "1", "--tenants", "10000"})
	reads := 40_000 * read // four a second of each tenant
	more := math.Ceil((float64(each+reads) + hourly) * 3 * 3 / 1e6 / 2)
	three := 3 * 0.0408 * 730
	checkHand(t, []handCase{
		{"two writers", fleet, "cassandra buckets", 0, nodes*0.343*730 + three},
		{"boards of 10,000 tenants", watched, "cassandra buckets", 0, more*0.343*730 + three},
	})
}

// TestUnfit: what can't be asked so often, or written so often, does not hold.
func TestUnfit(t *testing.T) {
	one := quiet("--devices", "1", "--interval", "1s", "--readings-interval", "1ms", "--store",
		"dynamodb")
	for _, c := range []struct {
		args      []string
		name, why string
	}{
		// 2.1 s for 100,000 devices, of 95,000.
		{[]string{"--ask-list", "2.5"}, "cassandra index", ""},
		{[]string{"--ask-list", "2.6"}, "cassandra index", "0.519 s of each second"},
		{[]string{"--ask-list", "0"}, "cassandra index", ""},
		// A device of 1,000 readings a second, three times as many at the peak.
		{one, "dynamodb andon", ""},
		{append(one, "--dynamodb-shards", "2"), "dynamodb andon",
			"Readings would take 1,500 units a second of one partition key"},
		// 18,000 readings a second at the peak, of one metric; and 72,000, of 64 partition keys.
		{quiet("--devices", "60000", "--readings-interval", "10s", "--dynamodb-metric-index", "x"),
			"dynamodb andon", ""},
		{quiet("--devices", "240000", "--readings-interval", "10s", "--dynamodb-metric-index",
			"x"), "dynamodb andon", "Readings/MetricGSI would take 1,125 units a second"},
	} {
		all := planOf(t, c.args...)
		i := slices.IndexFunc(all.Results, func(r plan.Result) bool { return r.Name() == c.name })
		r := &all.Results[i]
		if why := strings.Join(r.Why, "; "); r.Holds != (c.why == "") ||
			!strings.Contains(why, c.why) {
			t.Errorf("%q: %s holds: %t, %s", c.args, c.name, r.Holds, why)
		}
		if c.why != "" && all.Cheapest == i {
			t.Errorf("%q: %s is recommended", c.args, c.name)
		}
	}
}
