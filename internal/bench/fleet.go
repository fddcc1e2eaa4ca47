package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
)

// fleet is made up so that it is known how many devices are in each state: the factory of package
// simulate lives as it likes. Every device reports once a round, with an operator and attributes.
// One report in twenty is of another state than the device is at home in, so that states change as
// they do in a plant.
type fleet struct {
	devices   []andon.DeviceID // ascending
	operators []andon.PersonID
	weather   []andon.JSON // attributes
	homes     []home
	ranks     permutation // who is at home in which state
	turns     permutation // in which order devices report one by one
	past      int         // rounds before anything is measured
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
		devices:   make([]andon.DeviceID, devices),
		operators: make([]andon.PersonID, (devices-1)/devicesOfOperator+1),
		weather:   make([]andon.JSON, 64),
		homes:     homesOf(devices),
		ranks:     newPermutation(dice, devices),
		turns:     newPermutation(dice, devices),
		past:      busyRounds + rounds,
	}
	for i := range f.devices {
		f.devices[i] = andon.DeviceID(fmt.Sprintf("line-%02d/press-%07d", i*lines/devices, i))
	}
	for i := range f.operators {
		f.operators[i] = andon.PersonID(fmt.Sprintf("operator-%04d", i))
	}
	for i := range f.weather {
		f.weather[i] = andon.JSON(fmt.Sprintf(`{"line":"L%d","temperature":%.1f}`,
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

// rest is how many devices are at home in none of the homes: they are normal.
func (f *fleet) rest() int {
	n := len(f.devices)
	for _, h := range f.homes {
		n -= h.devices
	}
	return n
}

// stateOf is what a device reports in a round. At the end of the past all are at home.
func (f *fleet) stateOf(device, round int) andon.State {
	rank := f.ranks.at(device)
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

// slice is a part of what the fleet reports: some devices beside each other, in some rounds.
type slice struct {
	device, devices int
	round, rounds   int
}

// events returns what is reported, in the order that a store takes events in.
func (f *fleet) events(s slice) []andon.Event {
	events := make([]andon.Event, 0, s.devices*s.rounds)
	for device := s.device; device < s.device+s.devices; device++ {
		for round := s.round; round < s.round+s.rounds; round++ {
			e := andon.Event{
				Device: f.devices[device], Time: f.timeOf(device, round),
				State:      f.stateOf(device, round),
				Operator:   f.operators[device/devicesOfOperator],
				Attributes: f.weather[(device*7+round)%len(f.weather)],
			}
			if e.State != "NORMAL" {
				e.Message = "overheat"
			}
			events = append(events, e)
		}
	}
	return events
}

// busy returns the device that is the i-th of those with a past of their own.
func (f *fleet) busy(i int) int { return i * (len(f.devices) / busyDevices) }

// permutation puts numbers below n into another order, each of them once.
type permutation struct{ n, step, start int }

func newPermutation(dice *rand.Rand, n int) permutation {
	p := permutation{n: n, step: 1 + dice.IntN(n), start: dice.IntN(n)}
	for divisor(p.step, n) != 1 { // else some numbers would come twice
		p.step++
	}
	return p
}

func (p permutation) at(i int) int { return (i*p.step + p.start) % p.n }

// divisor is the greatest that two numbers have in common.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// median of at least one number.
func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// grouped shows a number with its thousands apart: 1,234,567.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
