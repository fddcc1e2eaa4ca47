package planner

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/plan"
)

// Each fleet of this file differs from the quiet one of byhand_test.go in what its line says, and
// is worked out by hand.

// TestFleetsOnDynamoDB: layout andon.
func TestFleetsOnDynamoDB(t *testing.T) {
	const andon = "dynamodb andon"
	storage := kept(entries, 346, 10_000)
	fixed := storage + machines + alarms
	base := reads + scan(10_000, device)
	dynamo := func(more ...string) []string {
		return quiet(append([]string{"--store", "dynamodb"}, more...)...)
	}
	const escalated, assigned = changes / 10, changes / 20
	people := gb(escalated*86_400*32, 186)*(2*0.25+0.20) + gb(assigned*86_400*32, 95)*0.45
	checkHand(t, []handCase{
		// Each of two processes counts both tenants, and reads both feeds four times a second.
		{"two tenants with a board", dynamo("--tenants", "2", "--boards", "1"), andon, 0,
			demanded(writes, reads+2*scan(5000, device)+2*1*4) + fixed},
		{"ten tenants, counted each minute", dynamo("--tenants", "10", "--dynamodb-recount", "1m"),
			andon, 0, demanded(writes, reads+10*10*scan(1000, device)) + fixed},
		// Half a unit for each strong one; indexes are eventual, and names are read strongly.
		{"all that is asked, eventual", dynamo("--dynamodb-consistency", "eventual",
			"--ask-device", "10", "--ask-log", "1", "--ask-list", "1", "--ask-operator", "1",
			"--ask-fleet", "0.01"), andon, 0,
			demanded(writes, base+10*1+(0.5+2*4.5)+(1+0.5*3+100)+(0.5*9+50)+
				0.01*(1+0.5*240+10_000)) + fixed},
		// An escalation puts a record and its copy, the device twice and BySupervisor twice, and a
		// change; an assignment the former one, the device twice, ByOperator twice, and a change.
		{"people, on demand", dynamo("--escalated", "10%", "--assigned", "5%"), andon, 0,
			demanded(writes+7*escalated+6*assigned, base+5*escalated+assigned) + fixed + people},
		// GSI1 and ByState as before; what people do is below 5 in the indexes of people.
		{"people, provisioned", dynamo("--escalated", "10%", "--assigned", "5%"), andon, 1,
			hours(scaled(events+escalated)+48+scaled(events+2*escalated+2*assigned)+10+
				scaled(1.5*changes+escalated+2*assigned)+5*5,
				scaled(scan(10_000, device)+escalated+assigned)+9*5) + fixed + people},
		{"at least 100 and 20 units provisioned", dynamo("--dynamodb-write-min", "100",
			"--dynamodb-read-min", "20"), andon, 1, hours(10*100, 10*20) + fixed},
		// 346 bytes and 16,212 more are 16.2 KB: 17 units, in the log and in GSI1.
		{"the longest message, for a day", dynamo("--event-bytes", "16512", "--retention", "1d"),
			andon, 0, demanded(writes+2*16*events, base) +
				kept(events*86_400*3, 346+16_212, 10_000) + machines + alarms},
		{"without recovery", dynamo("--dynamodb-recovery", "off"), andon, 0,
			demanded(writes, base) + 2*gb(entries, 346)*0.25 + devicesGB(10_000)*0.25 + machines +
				alarms},
		{"no change at all: ByState and Records stay", dynamo("--changes", "0"), andon, 0,
			demanded(3*events, scan(10_000, device)) + fixed},
		{"asked in eu-west-1", dynamo("--region", "eu-west-1", "--ask-device", "10"), andon, 0,
			(writes*0.705+(base+20)*0.1415)*2.628 + (2*gb(entries, 346)+devicesGB(10_000))*0.283},
		// One device whose 100 events a second go to all of its shards.
		{"a hot device", dynamo("--devices", "1", "--interval", "10ms"), andon, 0,
			demanded(3*100+3*10+5, 5+scan(1, device)) + kept(100*86_400*32, 346, 1) + machines +
				alarms},
	})
	// Three times 500 a second of one operator at the peak, whose keys are divided unless the
	// number of shards is set.
	hot := dynamo("--devices", "1", "--interval", "2ms")
	checkHolds(t, hot, andon, "")
	checkHolds(t, append(hot, "--dynamodb-shards", "64"), andon,
		"DeviceStateLog/GSI1 would take 1,500 units a second of one")
}

// TestFleetsWithReadings: a thousand readings a second of 10,000 devices, kept for a day. An index
// has alarms on four metrics.
func TestFleetsWithReadings(t *testing.T) {
	const (
		item = device + metricNames
		rows = 1000 * 86_400 * 3.0
		keys = len("metricType"+"default#metric-0001") +
			len("metricTime"+"2026-01-01T00:00:00.123456Z#line-07/press-0000123#") + 12
		// A device that changes has more than a KB now: a unit more.
		devices = events + changes + 1000
	)
	metrics := gb(1e4, float64(3*(metricRow+100)-100))
	fixed := 2*gb(entries, 346)*0.25 + gb(entries, 346)*0.20 + machines +
		(gb(1e4, float64(item))+metrics)*0.45 + (gb(1e4, 98)+gb(1e4, 90))*0.25
	fleet := func(more ...string) []string {
		return quiet(append([]string{"--store", "dynamodb", "--readings-interval", "10s",
			"--readings-retention", "1d"}, more...)...)
	}
	both := 3*gb(rows, float64(readingBytes+keys))*0.25 + gb(rows, float64(readingBytes+keys))*0.20
	write := 2*events + devices + 3.5*changes
	read := reads + scan(10_000, float64(item))
	checkHand(t, []handCase{
		{"no index", fleet(), "dynamodb andon", 0,
			demanded(write+1000, read) + fixed + gb(rows, float64(readingBytes))*0.45 + alarms},
		{"both indexes, provisioned", fleet("--dynamodb-latest-index", "all",
			"--dynamodb-metric-index", "metric-0001", "--dynamodb-metric-projection", "all"),
			"dynamodb andon", 1,
			hours(2*48+scaled(devices)+10+8+3*scaled(1000)+4*5, 12*5) + fixed + both +
				alarms + 2*4*0.10},
		// The device and one reading, half a unit each.
		{"the newest, eventual", fleet("--dynamodb-readings", "eventual", "--ask-reading", "100"),
			"dynamodb andon", 0, demanded(write+1000, read+100) + fixed +
				gb(rows, float64(readingBytes))*0.45 + alarms},
	})
}

// TestFleetsOnTheGuidesTable: layout reference, of which an item has 322 bytes.
func TestFleetsOnTheGuidesTable(t *testing.T) {
	const reference = "dynamodb reference"
	fixed := gb(entries, 322)*(2*0.25+0.20) + machines + alarmsRef
	checkHand(t, []handCase{
		// Three reads find the states; two pages of 100, and one of 101 of GSI1, are 8 units each.
		{"logs and operators", quiet("--store", "dynamodb", "--ask-log", "1", "--ask-operator",
			"1"), reference, 0, demanded(2*events, 3+2*8+0.5*8) + fixed},
		{"escalations in eu-west-1", quiet("--store", "dynamodb", "--escalated", "10%", "--region",
			"eu-west-1"), reference, 1,
			((2*scaled(events+changes/10)+5)*0.000735+15*0.000147)*730 + gb(entries, 322)*2*0.283},
		{"a year", quiet("--store", "dynamodb", "--retention", "365d"), reference, 0,
			demanded(2*events, 0) + gb(events*86_400*367, 322)*0.70 + machines + alarmsRef},
	})
}

// TestFleetsOnTheGuidesReadings: layout timeseries, of 100,000 devices that send readings alone.
// Its alarms watch 16 metrics, and 4 of each index.
func TestFleetsOnTheGuidesReadings(t *testing.T) {
	const (
		series = "dynamodb timeseries"
		rows   = 10_000 * 86_400 * 32.0
		keys   = len("deviceId"+"line-07/press-0000123") +
			len("timestamp"+"2026-01-01T00:00:00.123456Z")
		metric  = len("metric-0001") + 3
		reading = keys + 3*metric + len("ttl") + 6
		listed  = len("metricType" + "metric-0001")
	)
	fleet := func(more ...string) []string {
		return quiet(append([]string{"--store", "dynamodb", "--interval", "", "--readings-interval",
			"10s", "--devices", "100000"}, more...)...)
	}
	fixed := gb(rows, float64(reading))*0.45 + medium(4) + 16*0.10
	both := []string{"--dynamodb-latest-index", "all", "--dynamodb-metric-index", "metric-0001"}
	checkHand(t, []handCase{
		{"no index", fleet(), series, 0, demanded(10_000, 0) + fixed},
		{"the newest, eventual", fleet("--dynamodb-readings", "eventual", "--ask-reading", "100"),
			series, 0, demanded(10_000, 50) + fixed},
		{"both indexes, provisioned", fleet(both...), series, 1, hours(3*scaled(10_000), 3*5) +
			gb(rows, float64(reading+listed))*(2*0.25+0.20) +
			gb(rows, float64(keys+listed+metric))*0.25 + medium(4) + 24*0.10},
	})
	checkHolds(t, fleet("--dynamodb-latest-index", "all"), series, "")
	// The guide has one key for a metric: 10,000 a second, three times that at the peak.
	checkHolds(t, fleet(both...), series, "MetricGSI would take 30,000 units a second of one")
}

// TestFleetsOnCassandra: several processes, nodes by disk and by processors, designs and questions.
func TestFleetsOnCassandra(t *testing.T) {
	fleet := func(more ...string) []string {
		return quiet(append([]string{"--store", "cassandra"}, more...)...)
	}
	each := statements(1e4, events, changes)
	bytes := events * 86_400 * 30 * 631
	checkHand(t, []handCase{
		// 145 bytes a reading, and 10,000 a second: nodes by processors, machines for 31,000.
		{"readings each second, for a day", fleet("--readings-interval", "1s",
			"--readings-retention", "1d"), "cassandra buckets", 0,
			nodesOf(3, each+10_000*2*insert, bytes+1e4*86_400*145) +
				medium(math.Ceil((events+1e4)*3*45/1e6/0.5)+1)},
		{"ten years: nodes by disk", fleet("--retention", "3650d"), "cassandra buckets", 0,
			nodesOf(3, each, events*86_400*3650*631) + medium(2)},
		// A device, two for a log, 16 buckets and 100 devices, 102 for an operator, all of a board.
		{"questions", fleet("--ask-device", "1000", "--ask-log", "100", "--ask-list", "20",
			"--ask-operator", "10", "--ask-fleet", "0.1"), "cassandra buckets", 0,
			nodesOf(3, each+look*(1000+200+20*116+1020+0.1*1e4), bytes) +
				medium(math.Ceil(3*(events*45+1000*28+100*113+20*120+10*340+0.1*1.2e4)/1e6/0.5)+1)},
		{"64 buckets", fleet("--cassandra-buckets", "64", "--ask-list", "100"), "cassandra buckets",
			0, nodesOf(3, each+look*100*164, bytes) + medium(2)},
		// Four writes with each event, where buckets take two with each change.
		{"a view", fleet("--devices", "100000", "--interval", "10s", "--retention", "1d"),
			"cassandra view", 0, nodesOf(3, statements(1e5, 1e4, 1e3)-1e3*2*insert+1e4*4*insert,
				1e4*86_400*631) + medium(4)},
		{"people", fleet("--devices", "1000000", "--interval", "10s", "--retention", "1d",
			"--changes", "50%", "--escalated", "10%", "--assigned", "10%", "--batch", "1000"),
			"cassandra buckets", 0, nodesOf(3, statements(1e6, 1e5, 5e4)+
				5e3*(8*insert+4*look)+5e3*(8*insert+2*look), 1e5*86_400*631) + medium(3)},
		// Next to another writer a device is read before it is written, whoever sends it.
		{"routed by device", fleet("--routing", "any"), "cassandra buckets", 0,
			nodesOf(3, each, bytes) + medium(2)},
	})
}

// TestFleetsOnOneMachine: what decides the machine, and what its disk takes.
func TestFleetsOnOneMachine(t *testing.T) {
	const day = events * 86_400 * 115.7 // bytes of the quiet fleet
	own := filepath.Join(t.TempDir(), "own.yaml")
	text := "regions:\n  - name: cellar\n    machines: {source: us, date: 2026-01-01, kinds: " +
		"[{name: old, cores: 4, memory_gib: 8, hour: 0.01}]}\n" +
		"    disk: {gb_month: 0.02, most_gb: 4000, source: us, date: 2026-01-01}\n"
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	pebble := func(more ...string) []string {
		return quiet(append([]string{"--store", "pebble"}, more...)...)
	}
	cellar := math.Ceil((day*30*1.333 + 512*1024*1024) / math.Pow(2, 30))
	checkHand(t, []handCase{
		// 6 million devices are 6.1 GB, and the program, its cache and its memtable 1.1: 8 GiB.
		{"memory", pebble("--devices", "6000000", "--batch", "1000"), "pebble", 0,
			onMachine(2, 600*day, 30)},
		// 10,000 lists of 120 µs, three times at the peak, are 3.6 processors, of which 8 are half.
		{"questions", pebble("--ask-list", "10000"), "pebble", 0, onMachine(8, day, 30)},
		{"six metrics", pebble("--readings-interval", "10s", "--metrics", "6"), "pebble", 0,
			onMachine(1, day+1000*86_400*9.2, 30)},
		// A million devices for 1,584 days are 65,533 GB.
		{"the largest volume", pebble("--devices", "1000000", "--retention", "1584d"), "pebble", 0,
			onMachine(1, 100*day, 1584)},
		{"own prices", pebble("--region", "cellar", "--prices", own), "pebble", 0,
			0.01*730 + cellar*0.02},
	})
	checkHolds(t, pebble("--devices", "1000000", "--retention", "1585d"), "pebble",
		"GB, and 65,536 are the most that one has")
	checkHolds(t, pebble("--survive", "machine"), "pebble", "while its machine is down")
}

// TestNotesByHand: what a plan says next to the price.
func TestNotesByHand(t *testing.T) {
	million := quiet("--devices", "1000000", "--store", "dynamodb")
	for _, c := range []struct {
		args       []string
		name, note string
		said       bool
	}{
		{million, "dynamodb andon", "DeviceStateLog takes 10,000 write units a second at the " +
			"peak; when it is new it takes 4,000 on demand", true},
		{append(million, "--dynamodb-write-warm", "10000"), "dynamodb andon",
			"DeviceStateLog takes", false},
		// 5,000 a second, three times that at the peak, and 3.05 to count.
		{quiet("--store", "dynamodb", "--ask-device", "5000"), "dynamodb andon",
			"Devices takes 15,009 read units a second at the peak; when it is new it takes 12,000",
			true},
		// Half of 33.3 events a second are put in vain, and read twice: 27.375 + 10.95.
		{quiet("--store", "dynamodb", "--routing", "any"), "dynamodb andon",
			"$38.33 of it on demand is since 2 processes write to one device in turn", true},
		// 9.5 million devices in a state, of which 100,000 are in a partition: 95 partitions.
		{quiet("--store", "cassandra", "--devices", "10000000"), "cassandra buckets",
			"set cassandra.buckets to 128", true},
		{quiet("--store", "dynamodb", "--region", "eu-west-1"), "dynamodb andon",
			"without point-in-time recovery of the tables, of which eu-west-1 has no price", true},
		{quiet("--store", "dynamodb", "--region", "eu-west-1", "--dynamodb-recovery", "off"),
			"dynamodb andon", "recovery", false},
	} {
		all := planOf(t, c.args...).Results
		i := slices.IndexFunc(all, func(r plan.Result) bool { return r.Name() == c.name })
		notes := strings.Join(all[i].Notes, "; ")
		if strings.Contains(notes, c.note) != c.said {
			t.Errorf("%q: %s says %s", c.args, c.name, notes)
		}
	}
}

// TestFleetsWithDividedKeys: a million devices have 1,000 changes of one state a second at the
// peak, so it has four keys that take 250 each; and an operator of 1,200 entries has eight. A list
// asks each of them.
func TestFleetsWithDividedKeys(t *testing.T) {
	cost := func(more ...string) float64 {
		return planOf(t, quiet(append(more, "--store", "dynamodb")...)...).Results[0].Ways[0].Cost
	}
	for _, c := range []struct {
		fleet []string
		asked string
		want  float64 // read units
	}{
		// Names, four queries of 50 x 98 bytes eventual, the devices and their entries.
		{[]string{"--devices", "1000000"}, "--ask-list", 1 + 4*0.5*2 + 200},
		// 25 operators. Eight queries of 25 x 346 bytes, and the devices.
		{[]string{"--devices", "2500", "--interval", "250ms"}, "--ask-operator", 8*0.5*3 + 100},
		// One device of 1,000 entries a second at the peak is in two shards: its item, and four
		// queries of two states.
		{[]string{"--devices", "1", "--interval", "3ms"}, "--ask-log", 1 + 4*5},
	} {
		got := cost(append(c.fleet, c.asked, "1")...) - cost(c.fleet...)
		if want := demanded(0, c.want); math.Abs(got-want) > 0.005 {
			t.Errorf("%q %s costs $%.4f, and by hand $%.4f", c.fleet, c.asked, got, want)
		}
	}
}
