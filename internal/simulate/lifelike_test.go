package simulate_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/simulate"
)

// census counts what there is to see in what arrived.
type census struct {
	entries                                      []andon.Event // each once
	late, doubled, backlog, silences, storms     int
	flaps, grave                                 int
	normal                                       float64 // part of the entries
	assigned, left, handed, escalated, withdrawn int
	announced, incidents                         int // slow ones
}

// TestLifelike: each thing that the fleet is there to show occurs in a day, with any seed.
func TestLifelike(t *testing.T) {
	for seed := range uint64(4) {
		m := live(simulate.Options{Seed: seed, Devices: 160}, rounds*every, every)
		c := count(m)
		for what, n := range map[string]int{
			"late": c.late, "doubled": c.doubled, "delivered after a silence": c.backlog,
			"silent": c.silences, "in a storm": c.storms, "flapping": c.flaps,
			"in WARNING4": c.grave, "assigned": c.assigned, "left alone again": c.left,
			"handed to the next shift": c.handed, "escalated": c.escalated,
			"withdrawn": c.withdrawn, "slowly going wrong": c.incidents,
		} {
			if n == 0 {
				t.Errorf("seed %d: nothing is %s", seed, what)
			}
		}
		if c.normal < 0.85 || c.normal > 0.98 {
			t.Errorf("seed %d: %.2f of the entries are normal", seed, c.normal)
		}
		if c.announced < c.incidents/3 { // of readings at random it would be one in 15
			t.Errorf("seed %d: readings announced %d of %d slow incidents",
				seed, c.announced, c.incidents)
		}
	}
}

func count(m simulate.Messages) (c census) {
	c.arrivals(m.Events)
	byDevice := map[andon.DeviceID][]andon.Event{}
	warnings := map[string]int{} // of a line in a round, that were normal before
	for _, e := range c.entries {
		byDevice[e.Device] = append(byDevice[e.Device], e)
	}
	for _, log := range byDevice {
		slices.SortFunc(log, func(a, b andon.Event) int { return int(a.Time - b.Time) })
		c.gaps(log)
		for i := 1; i < len(log); i++ {
			if begins(log, i) {
				kind, _, _ := strings.Cut(string(log[i].Device), "-")
				warnings[kind+strconv.Itoa(int(log[i].Time/andon.Time(every)))]++
			}
		}
	}
	for _, n := range warnings {
		if n > 5 { // of 20
			c.storms++
		}
	}
	c.people(m)
	c.announcements(byDevice, m.Readings)
	return c
}

func begins(log []andon.Event, i int) bool {
	return i > 0 && log[i].State != "NORMAL" && log[i-1].State == "NORMAL"
}

func (c *census) arrivals(events []andon.Event) {
	newest, was, normal := map[andon.DeviceID]andon.Time{}, map[andon.EventKey]bool{}, 0
	for _, e := range events {
		if was[e.Key(nil)] {
			c.doubled++
			continue
		}
		was[e.Key(nil)] = true
		c.entries = append(c.entries, e)
		if e.State == "NORMAL" {
			normal++
		}
		if e.State == "WARNING4" {
			c.grave++
		}
		if e.Time < newest[e.Device] {
			c.late++
		}
		newest[e.Device] = max(newest[e.Device], e.Time)
	}
	c.normal = float64(normal) / float64(len(c.entries))
}

// gaps looks for silences and flapping in the log of one device.
func (c *census) gaps(log []andon.Event) {
	for i := 1; i < len(log); i++ {
		if log[i].Time.Sub(log[i-1].Time) > 3*every {
			c.silences++
		}
		if i+1 < len(log) && begins(log, i) && log[i+1].State == "NORMAL" &&
			log[i+1].Time.Sub(log[i-1].Time) < every {
			c.flaps++
		}
	}
}

func (c *census) people(m simulate.Messages) {
	operator := map[andon.DeviceID]andon.PersonID{}
	for _, a := range m.Assignments {
		switch was := operator[a.Device]; {
		case a.Operator == "":
			c.left++
		case was != "" && was != a.Operator:
			c.handed++
		default:
			c.assigned++
		}
		operator[a.Device] = a.Operator
	}
	for _, e := range m.Escalations {
		if e.To == "" {
			c.withdrawn++
		} else {
			c.escalated++
		}
	}
	c.backlog = backlogs(m.Events)
}

// backlogs counts rows of messages that a device had to keep and that arrive together.
func backlogs(events []andon.Event) (n int) {
	place := map[andon.DeviceID][]int{}
	for i, e := range events {
		place[e.Device] = append(place[e.Device], i)
	}
	const most = 160 * 5 / 4 // messages of the fleet in a round
	for _, at := range place {
		for i := 5; i < len(at); i++ {
			if at[i]-at[i-5] < most && events[at[i]].Time.Sub(events[at[i-5]].Time) > 4*every {
				n++
			}
		}
	}
	return n
}

// announcements looks at the reading before a device leaves normal for at least two reports, other
// than together with its line: a metric of it is far from what it is in a day.
func (c *census) announcements(byDevice map[andon.DeviceID][]andon.Event, all []andon.Reading) {
	readings := map[andon.DeviceID]map[andon.Time]andon.Metrics{}
	for _, r := range all {
		if readings[r.Device] == nil {
			readings[r.Device] = map[andon.Time]andon.Metrics{}
		}
		readings[r.Device][r.Time] = r.Metrics
	}
	for device, log := range byDevice {
		usual := quartiles(log, readings[device])
		for i := 1; i+1 < len(log); i++ {
			before, there := readings[device][log[i-1].Time]
			slowly := begins(log, i) && log[i].State == "WARNING1" && log[i+1].State != "NORMAL"
			if !slowly || !there {
				continue
			}
			c.incidents++
			for j, x := range before {
				if x.Value > usual[j][1]+3*(usual[j][1]-usual[j][0]) {
					c.announced++
					break
				}
			}
		}
	}
}

// quartiles returns median and upper quartile of each metric while the device is normal.
func quartiles(log []andon.Event, readings map[andon.Time]andon.Metrics) (q [3][2]float64) {
	var values [3][]float64
	for _, e := range log {
		for j, x := range readings[e.Time] {
			if e.State == "NORMAL" {
				values[j] = append(values[j], x.Value)
			}
		}
	}
	for j, v := range values {
		slices.Sort(v)
		q[j] = [2]float64{v[len(v)/2], v[len(v)*3/4]}
	}
	return q
}

// TestMessagesSayWhatWasMeasured: the number in a warning is that of the reading of its time.
func TestMessagesSayWhatWasMeasured(t *testing.T) {
	m := live(simulate.Options{Seed: 9, Devices: 100}, 100*every, every)
	readings := map[andon.EventKey]andon.Metrics{}
	for _, r := range m.Readings {
		readings[andon.EventKey{Device: r.Device, Time: r.Time}] = r.Metrics
	}
	explained := 0
	for _, e := range m.Events {
		before, _, ok := strings.Cut(e.Message, ", limit ")
		metrics, arrived := readings[andon.EventKey{Device: e.Device, Time: e.Time}]
		if !ok || !arrived {
			continue
		}
		words := strings.Fields(before)
		said, err := strconv.ParseFloat(words[len(words)-2], 64)
		value, there := metrics.Get(andon.MetricName(words[len(words)-3]))
		if err != nil || !there || math.Abs(said-value) > 0.051 {
			t.Fatalf("%q, but the reading is %v", e.Message, metrics)
		}
		explained++
	}
	if explained < 100 {
		t.Errorf("%d entries are explained", explained)
	}
}

// TestEscalationsNameEntries: the person who escalates is assigned, and the entry has arrived.
func TestEscalationsNameEntries(t *testing.T) {
	f := simulate.New(simulate.Options{Seed: 10, Start: start, Devices: 200})
	there, escalated := map[andon.EventKey]bool{}, map[andon.EventKey]bool{}
	for i := range andon.Duration(rounds) {
		m := f.Advance(start.Add((i + 1) * every))
		for _, e := range m.Events {
			there[andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}] = true
		}
		for _, e := range m.Escalations {
			key := andon.EventKey{Device: e.Device, Time: e.Time, State: e.State}
			switch {
			case !there[key] || e.State == "NORMAL" || e.By == "":
				t.Errorf("%+v", e)
			case e.To == "" && !escalated[key]:
				t.Errorf("withdrawn before it was escalated: %+v", e)
			}
			escalated[key] = e.To != ""
		}
	}
	if len(escalated) == 0 {
		t.Error("nothing was escalated")
	}
}
