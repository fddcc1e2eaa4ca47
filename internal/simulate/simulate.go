// Package simulate is a factory that never was: a fleet whose devices report their state round by
// round, with storms, flapping, silences, and messages that come late or twice. Demo, bench and
// tests share it.
//
// It is pure: the same options give the same messages on every machine. Its clock is its own and
// advances by one round at a time; it knows no network, no store and no real time.
package simulate

import (
	"math/rand/v2"

	"github.com/andonhq/andon"
)

// Options are what a fleet is made with. Start must be given.
type Options struct {
	Seed    uint64
	Devices int            // 60 unless set
	Start   andon.Time     // of the first round
	Every   andon.Duration // a round, in which each device reports; 5 minutes unless set
}

const (
	defaultDevices = 60
	defaultEvery   = andon.Duration(300_000_000)
)

// Fleet is the factory. It must not be used concurrently.
type Fleet struct {
	rand     *rand.Rand
	every    andon.Duration
	now      andon.Time // when the next round begins
	lines    []line
	machines []machine
	pending  []delivery // under way, by arrival
}

// New builds the factory as it is before the first round: all devices normal.
func New(o Options) *Fleet {
	if o.Devices <= 0 {
		o.Devices = defaultDevices
	}
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	f := &Fleet{
		rand:  rand.New(rand.NewPCG(o.Seed, 0x616e646f6e)), // the second number names the stream
		every: o.Every,
		now:   o.Start,
		lines: newLines(),
	}
	for i := range o.Devices {
		f.machines = append(f.machines, f.newMachine(i))
	}
	return f
}

// Now returns when the next round begins. All messages so far arrived before.
func (f *Fleet) Now() andon.Time { return f.now }

// Round lets one round pass and returns what arrived in it, in the order of arrival. A late message
// is of an earlier round; one of this round may arrive in a later one.
func (f *Fleet) Round() []andon.Event {
	for i := range f.lines {
		f.weather(&f.lines[i])
	}
	for i := range f.machines {
		f.work(&f.machines[i])
	}
	f.now = f.now.Add(f.every)
	return f.arrived()
}

// chance is true once in so many times, on average.
func (f *Fleet) chance(oneIn int) bool { return f.rand.IntN(oneIn) == 0 }

// between returns a number from least to most, both included.
func (f *Fleet) between(least, most int) int { return least + f.rand.IntN(most-least+1) }

// within returns a length of time shorter than d.
func (f *Fleet) within(d andon.Duration) andon.Duration {
	return andon.Duration(f.rand.Int64N(int64(d)))
}
