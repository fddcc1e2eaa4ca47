package planner

import (
	"math"
	"strings"
	"testing"
)

// These are the fleets of an audit of the planner, by hand once more. See byhand_test.go.

// scaled is what auto scaling provides for so many units a second.
func scaled(units float64) float64 { return max(5, math.Ceil(units/0.7)) }

// metricNames are what the names of three metrics add to the item of a device.
const metricNames = len(`,"metrics":["metric-0001","metric-0002","metric-0003"]`)

// readingBytes are those of a reading of three metrics.
const readingBytes = len("deviceId"+"default#line-07/press-0000123") +
	len("timestamp"+"2026-01-01T00:00:00.123456Z#") + 12 + // the hash of the message, to base 36
	len("metrics") + 3 + 3*(1+len("metric-0001")+3) + len("Delivery") + 9 + len("ttl") + 6

// metricRow says that a device has a metric. The three of a device are one row of a plan.
const metricRow = len("Key"+"metric#default#metric-0001#0") + len("Sort"+"line-07/press-0000123")

// TestAuditOnDynamoDB: what the audit asked for on demand is in TestFleetsByHand; here it is
// provisioned.
func TestAuditOnDynamoDB(t *testing.T) {
	const andon = "dynamodb andon"
	large := kept(events*86_400*367, 346+3700, 10_000)
	million := kept(100*entries, 346, 1e6)
	asked := quiet("--store", "dynamodb", "--ask-device", "10", "--ask-log", "1", "--ask-list", "1",
		"--ask-operator", "0.1", "--ask-fleet", "0.001")
	// A device, a log, a list, an operator, and a board of 10,000 devices.
	questions := 10*2 + 19 + 202.5 + 0.1*104.5 + 0.001*(1+0.5*240+2*10_000)
	checkHand(t, []handCase{
		// log and GSI1 4 units an event; Devices 48, ByState 10, Records 8, and five others 5.
		{"4,000 bytes for a year", quiet("--store", "dynamodb", "--event-bytes", "4000",
			"--retention", "365d"), andon, 1,
			hours(2*scaled(4*events)+48+10+8+25, 50) + large + machines + alarms},
		// A change each time: 2 units in ByState, one in Records, and half of one in vain.
		{"each event changes the state", quiet("--store", "dynamodb", "--changes", "100%"), andon,
			1, hours(3*48+scaled(2*events)+scaled(1.5*events)+25, scaled(events/2)+45) +
				kept(entries, 346, 10_000) + machines + alarms},
		{"eu-west-1, which has no price of machines, recovery and alarms",
			quiet("--store", "dynamodb", "--region", "eu-west-1"), andon, 1,
			((3*48+10+8+25)*0.000735+50*0.000147)*730 +
				(2*gb(entries, 346)+devicesGB(10_000))*0.283},
		{"a million devices", quiet("--store", "dynamodb", "--devices", "1000000"), andon, 1,
			hours(3*scaled(100*events)+scaled(200*changes)+scaled(150*changes)+25,
				scaled(scan(1e6, device))+scaled(100*reads)+40) + million + machines + alarms},
		{"what is asked unless it is set", asked, andon, 0,
			demanded(writes, reads+scan(10_000, device)+questions) +
				kept(entries, 346, 10_000) + machines + alarms},
	})
}

// TestAuditOfReadings: 100,000 devices with readings every 10 seconds, for which Andon takes four
// machines: 31,000 entries a second at the peak x 45 µs are 1.395 processors, of which half are
// used, and one more.
func TestAuditOfReadings(t *testing.T) {
	const events, changes, readings = 1e5 / 300.0, 1e5 / 3000.0, 1e4
	const item = device + metricNames
	rows := readings * 86_400 * 32
	metrics := gb(1e5, float64(3*(metricRow+100)-100)) // as one item, of three
	fixed := kept(10*entries, 346, 0) + gb(rows, float64(readingBytes))*0.45 +
		(gb(1e5, float64(item))+metrics)*0.45 + (gb(1e5, 100)+gb(1e5, 90))*0.25 +
		4*0.0408*730 + alarms
	// With the names of metrics the item of a device that changes is above 1 KB: a unit more.
	devices := events + changes + readings
	byHand := func(devices, read float64) []float64 {
		// Three of four changes follow one of another process: 1.75 puts and 0.75 reads.
		scans := 4 * math.Ceil(1e5*float64(item)/4096) / 600
		return []float64{
			demanded(2*events+devices+2*changes+1.75*changes+readings, 0.75*changes+scans+read) +
				fixed,
			hours(2*scaled(events)+scaled(devices)+scaled(2*changes)+scaled(1.75*changes)+
				scaled(readings)+4*5, scaled(scans+read)+scaled(0.75*changes)+8*5) + fixed,
		}
	}
	fleet := quiet("--devices", "100000", "--readings-interval", "10s", "--store", "dynamodb")
	alone := byHand(devices, 0)
	// And three of four events follow one of another process: a put in vain, and two reads.
	shared := byHand(devices+events*3/4, 2*events*3/4)
	for way := range alone {
		checkHand(t, []handCase{
			{"one process a device", fleet, "dynamodb andon", way, alone[way]},
			{"any process", append(fleet, "--routing", "any"), "dynamodb andon", way,
				shared[way]},
		})
	}
}

// onMachine is what a fleet costs on one machine of so many processors, with so many bytes a day
// kept for some days.
func onMachine(processors, day, days float64) float64 {
	disk := math.Ceil((day*days*1.333 + 512*1024*1024) / math.Pow(2, 30))
	return processors*0.0408*730 + disk*0.08
}

// nodesOf is what nodes cost of which half of the processors and of the disk is used: of the two
// kinds those that cost less. micros are of one replica and second, bytes of one replica.
func nodesOf(replicas, micros, bytes float64) float64 {
	busy := micros * 3 / 1e6 * replicas // at the peak
	small := max(replicas, math.Ceil(busy/(4*0.5)), math.Ceil(bytes*replicas/(937e9*0.5)))
	large := max(replicas, math.Ceil(busy/(8*0.5)), math.Ceil(bytes*replicas/(1875e9*0.5)))
	return min(small*0.343, large*0.686) * 730
}

// Statements of Cassandra, in µs of one replica.
const (
	insert = 143.0
	look   = 388.0
)

// statements are what a fleet with buckets takes that nobody asks about: of devices with so many
// events a second each at most one.
func statements(devices, events, changes float64) float64 {
	return events*(2*insert+look) + // the log, the device, and it is read before
		changes*(3*insert+look+4*insert+2*insert) + // marks, the feed, the design
		devices/3600*insert + 2*devices/86_400*insert // operators by the hour, the directory
}

// medium are so many machines for Andon.
func medium(n float64) float64 { return n * 0.0408 * 730 }

// TestAuditOfMachines: one machine, and Cassandra.
func TestAuditOfMachines(t *testing.T) {
	const pebble, buckets = "pebble", "cassandra buckets"
	fast := quiet("--devices", "1000000", "--interval", "10s", "--retention", "1d", "--batch",
		"1000", "--store", pebble)
	ten := quiet("--devices", "10000000", "--store", "pebble,cassandra")
	year := quiet("--retention", "365d", "--event-bytes", "200", "--store", "pebble,cassandra")
	checkHand(t, []handCase{
		// 300,000 a second x 2.2428 µs are 0.67 processors: two.
		{"a million devices every 10 s", fast, pebble, 0, onMachine(2, 1e5*86_400*115.7, 1)},
		// 100,000 x 45 µs are 4.5 processors: 16.
		{"ten million", ten, pebble, 0, onMachine(16, 1e7/300*86_400*115.7, 30)},
		{"ten million", ten, buckets, 0, nodesOf(3, statements(1e7, 1e7/300, 1e6/300),
			1e7/300*86_400*30*631) + medium(10)},
		// 45 bytes of message: 20 + 45 x 0.66, and 486 + 45.
		{"a year of 200 bytes", year, pebble, 0, onMachine(1, events*86_400*49.7, 365)},
		{"a year of 200 bytes", year, buckets, 0,
			nodesOf(3, statements(1e4, events, changes), events*86_400*365*531) + medium(2)},
		{"five replicas", quiet("--store", "cassandra", "--replication", "5"), buckets, 0,
			nodesOf(5, statements(1e4, events, changes), events*86_400*30*631) + medium(2)},
	})
}

// TestAuditOfLimits: what the audit's fleets do not fit into.
func TestAuditOfLimits(t *testing.T) {
	for _, c := range []struct {
		args      []string
		name, why string
	}{
		{quiet("--devices", "10000000", "--store", "pebble"), "pebble",
			"at the peak 100,000 entries a second come"},
		// 3,494,881 / 300 x 0.1 x 3 changes of 293 bytes are 1,000.0001 KB of the log of a tenant.
		{quiet("--devices", "3494881", "--store", "dynamodb"), "dynamodb andon",
			"Records would take 1,001 units a second of one partition key"},
		{quiet("--devices", "3494880", "--store", "dynamodb"), "dynamodb andon", ""},
		{quiet("--devices", "4000001", "--store", "dynamodb", "--tenants", "2"), "dynamodb andon",
			""},
		// 4,000,001 / 300 x 0.1 x 3 of one key that is not divided.
		{quiet("--devices", "4000001", "--store", "dynamodb", "--dynamodb-shards", "1"),
			"dynamodb andon", "Devices/ByState would take 4,001 units a second of one"},
	} {
		checkHolds(t, c.args, c.name, c.why)
	}
}

// checkHolds holds a plan to why a store does not hold; "" where it does.
func checkHolds(t *testing.T, args []string, name, why string) {
	t.Helper()
	for _, r := range planOf(t, args...).Results {
		if r.Name() != name {
			continue
		}
		if got := strings.Join(r.Why, "; "); r.Holds != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%q: %s holds: %t, %s", args, name, r.Holds, got)
		}
		return
	}
	t.Errorf("%q: there is no %s", args, name)
}
