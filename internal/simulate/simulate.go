// Package simulate is a simulated factory: a fleet whose devices report their states and readings,
// with storms, flapping, silent devices, and messages that come late or twice; and people on shifts
// who take devices over and escalate. The demo and tests share it.
//
// It is pure: the same options give the same messages on every machine, whatever the steps of the
// clock, which the caller passes in. It knows no network, no store and no real time.
package simulate

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/andonhq/andon"
)

// Options are what a fleet is made with. Start must be given.
type Options struct {
	Seed    uint64
	Devices int        // 500 unless set
	Start   andon.Time // when the factory begins, all of its devices normal
	// Every is a round: the time between two reports of a device, 5 minutes unless set, at least a
	// millisecond. All that takes time in the factory is counted in rounds, 288 to its day. So a
	// factory with rounds of 5 seconds changes 60 times as fast, on the same clock.
	Every andon.Duration
}

// What holds unless the options say otherwise.
const (
	DefaultDevices = 500
	DefaultEvery   = andon.Duration(300_000_000)
)

// Messages are what arrived in some time, each list in the order of arrival. A late event or
// reading is of an earlier time, and one of this time may arrive later.
type Messages struct {
	Events   []andon.Event
	Readings []andon.Reading
	// Assignments name device and operator; they take effect when they arrive, which From says.
	// Without an operator no one answers for the device any more.
	Assignments []andon.Assignment
	// Escalations name the entry, which arrived earlier or is among Events. Without To they
	// withdraw.
	Escalations []andon.Escalation
}

// Fleet is the factory. It must not be used concurrently.
type Fleet struct {
	dice
	sky      dice // of the storms alone: they come when they do whatever else happens
	every    andon.Duration
	next     andon.Time // when the next round begins
	lines    []line
	machines []machine

	events      queue[andon.Event]
	readings    queue[andon.Reading]
	assignments queue[andon.Assignment]
	escalations queue[andon.Escalation]
	sightings   queue[sighting]
}

// New builds the factory as it is at its start.
func New(o Options) *Fleet {
	if o.Devices <= 0 {
		o.Devices = DefaultDevices
	}
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	f := &Fleet{
		dice:  newDice(o.Seed, 0x616e646f6e),
		sky:   newDice(o.Seed, 0x73746f726d),
		every: o.Every,
		next:  o.Start,
		lines: newLines(),
	}
	f.machines = make([]machine, o.Devices)
	for i := range f.machines {
		f.machines[i] = f.newMachine(i)
	}
	return f
}

// Advance lets the factory live up to a time and returns what arrived before it since the last
// call. Nothing that it returns is of that time or later. A time that does not advance returns
// nothing.
func (f *Fleet) Advance(to andon.Time) Messages {
	for f.next < to {
		f.round()
	}
	return Messages{
		Events:      f.events.take(to),
		Readings:    f.readings.take(to),
		Assignments: f.assignments.take(to),
		Escalations: f.escalations.take(to),
	}
}

// round lets one round pass. All that happens in it is drawn at once, so that the numbers do not
// depend on when the caller looks.
func (f *Fleet) round() {
	f.see()
	for i := range f.lines {
		f.storms(&f.lines[i])
	}
	for i := range f.machines {
		f.work(&f.machines[i])
		f.look(&f.machines[i])
	}
	f.next = f.next.Add(f.every)
}

// dice are numbers drawn by chance, the same ones for the same seed and stream.
type dice struct{ rand *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// chance is true once in so many times, on average.
func (d dice) chance(oneIn int) bool { return d.rand.IntN(oneIn) == 0 }

// between returns a number from least to most, both included.
func (d dice) between(least, most int) int { return least + d.rand.IntN(most-least+1) }

// within returns a length of time shorter than all. It draws one number whatever the length is, so
// that a fleet with shorter rounds behaves alike.
func (d dice) within(all andon.Duration) andon.Duration {
	return andon.Duration(d.rand.Float64() * float64(all))
}

// noise returns a number around 0 with a standard deviation of so much.
func (d dice) noise(deviation float64) float64 { return d.rand.NormFloat64() * deviation }

type queue[T any] []timed[T]

// timed is something under way, and when it arrives.
type timed[T any] struct {
	at   andon.Time
	what T
}

func (q *queue[T]) push(at andon.Time, what T) { *q = append(*q, timed[T]{at, what}) }

// take takes out what arrives before a time, in the order of arrival: of two that arrive at once,
// the first sent is first.
func (q *queue[T]) take(before andon.Time) (taken []T) {
	slices.SortStableFunc(*q, func(a, b timed[T]) int { return cmp.Compare(a.at, b.at) })
	for len(taken) < len(*q) && (*q)[len(taken)].at < before {
		taken = append(taken, (*q)[len(taken)].what)
	}
	*q = slices.Delete(*q, 0, len(taken))
	return taken
}
