package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/andonhq/andon"
)

// fleet is made up so that it is known how many devices are in each state, which the factory of
// package simulate does not say. Every device reports once a round, with an operator and
// attributes. One report in twenty has another state than the device's home, so that states change
// as they do in a plant.
type fleet struct {
	devices    []andon.DeviceID // ascending
	operators  []andon.PersonID
	attributes []andon.JSON
	homes      []home
	ranks      []int // which devices are at home in which state
	order      []int // in which devices report one by one
	past       int   // rounds before anything is measured
	escalate   bool
}

// home is a state that a known number of devices is in.
type home struct {
	state   andon.State
	devices int
}

const (
	base  = andon.Time(1_764_806_400_000_000) // 2025-12-04T00:00:00Z
	every = andon.Duration(300_000_000)       // a round: 5 minutes

	busyDevices = 10  // they have a past of their own
	busyRounds  = 100 // before the others begin

	devicesOfOperator = 1000
	lines             = 40
	awayOneIn         = 20 // reports
)

// newFleet makes a fleet that reports for so many rounds before anything is measured.
func newFleet(seed uint64, devices, rounds int) *fleet {
	dice := rand.New(rand.NewPCG(seed, 0x62656e6368))
	f := &fleet{
		devices:    make([]andon.DeviceID, devices),
		operators:  make([]andon.PersonID, (devices-1)/devicesOfOperator+1),
		attributes: make([]andon.JSON, 64),
		homes:      homesOf(devices),
		ranks:      dice.Perm(devices),
		order:      dice.Perm(devices),
		past:       busyRounds + rounds,
	}
	for i := range f.devices {
		f.devices[i] = andon.DeviceID(fmt.Sprintf("line-%02d/press-%07d", i*lines/devices, i))
	}
	for i := range f.operators {
		f.operators[i] = andon.PersonID(fmt.Sprintf("operator-%04d", i))
	}
	for i := range f.attributes {
		f.attributes[i] = andon.JSON(fmt.Sprintf(`{"line":"L%d","temperature":%.1f}`,
			dice.IntN(lines), 60+20*dice.Float64()))
	}
	return f
}

// homesOf returns how many devices are in which state: 100, 10,000 and 100,000, or a quarter of the
// fleet where it is too small for that.
func homesOf(devices int) (homes []home) {
	for _, h := range []home{{"WARNING4", 100}, {"WARNING3", 10_000}, {"WARNING2", 100_000}} {
		h.devices = min(h.devices, devices/4)
		if len(homes) == 0 || h.devices > homes[len(homes)-1].devices {
			homes = append(homes, h)
		}
	}
	return homes
}

// counts returns how many devices are in each state at the end of the past: those that are at home
// in none of the homes are normal.
func (f *fleet) counts() map[andon.State]int {
	counts, rest := map[andon.State]int{}, len(f.devices)
	for _, h := range f.homes {
		counts[h.state], rest = h.devices, rest-h.devices
	}
	counts["NORMAL"] = rest
	return counts
}

// stateOf is what a device reports in a round. At the end of the past all are at home.
func (f *fleet) stateOf(device, round int) andon.State {
	rank := f.ranks[device]
	if (rank+round)%awayOneIn == 0 && round != f.past-1 {
		return "WARNING1"
	}
	for _, h := range f.homes {
		if rank < h.devices {
			return h.state
		}
		rank -= h.devices
	}
	return "NORMAL"
}

// timeOf is when a device reports in a round: the fleet is spread over it.
func (f *fleet) timeOf(device, round int) andon.Time {
	phase := andon.Duration(device) * every / andon.Duration(len(f.devices))
	return base.Add(andon.Duration(round) * every).Add(phase)
}

// Part is a part of what the fleet reports: some devices in order, in some rounds.
type Part struct {
	Device, Devices int
	Round, Rounds   int
	Alternate       bool // every event changes the state of its device
	Event, Events   int  // of a mixed fleet, in place of devices and rounds
}

// events returns what is reported, in the order in which a store takes events.
func (f *fleet) events(p Part) []andon.Event {
	events := make([]andon.Event, 0, p.Devices*p.Rounds)
	for device := p.Device; device < p.Device+p.Devices; device++ {
		for round := p.Round; round < p.Round+p.Rounds; round++ {
			e := andon.Event{
				Device: f.devices[device], Time: f.timeOf(device, round),
				State:      f.stateOf(device, round),
				Operator:   f.operators[device/devicesOfOperator],
				Attributes: f.attributes[(device*7+round)%len(f.attributes)],
			}
			if e.State != "NORMAL" {
				e.Message = "overheat"
			}
			if f.escalate && e.State == "WARNING1" && e.Device[len(e.Device)-1]%4 == 0 {
				e.EscalatedTo = supervisorOf(e.Operator)
			}
			if p.Alternate {
				e.State = []andon.State{"WARNING2", "WARNING3"}[round%2]
			}
			events = append(events, e)
		}
	}
	return events
}

// supervisorOf is to whom the warnings of an operator's devices are escalated.
func supervisorOf(operator andon.PersonID) andon.PersonID {
	return "supervisor-" + operator[len(operator)-1:]
}

// busy returns the device that is the i-th of those with a past of their own.
func (f *fleet) busy(i int) int { return i * (len(f.devices) / busyDevices) }

// grouped shows a number with its thousands apart: 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func events(n int) string  { return plural(n, "event") }
func devices(n int) string { return plural(n, "device") }

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}
