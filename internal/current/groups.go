package current

import "github.com/andonhq/andon"

// groupState is the number of a group with that of a state in Fleet.names.
type groupState struct{ group, state uint32 }

// count is how many devices of a group are in a state.
type count struct {
	shown  int
	silent int // those that were heard last before silence.until
}

// countShown adds to the count of the devices like one, if that is shown.
func (f *Fleet) countShown(s *Slot, n int) {
	if f.alive(s) {
		f.addTo(s, count{shown: n})
	}
}

func (f *Fleet) countSilent(s *Slot, n int) { f.addTo(s, count{silent: n}) }

func (f *Fleet) addTo(s *Slot, more count) {
	of := groupState{s.group, s.state}
	is := f.counts[of]
	is.shown, is.silent = is.shown+more.shown, is.silent+more.silent
	if f.counts[of] = is; is == (count{}) {
		delete(f.counts, of) // the number of its state may become that of another one
	}
}

// Regroup gives devices the numbers that of says, and those that are new from now on. It needs the
// fleet for itself.
func (f *Fleet) Regroup(of func(andon.DeviceID) uint32, devices []andon.DeviceID) {
	f.group = of
	for _, id := range devices {
		s := f.Slot(id)
		if s == nil {
			continue
		}
		heard := f.uncounted(s)
		f.countShown(s, -1)
		s.group = of(id)
		f.countShown(s, 1)
		f.counted(s, heard)
	}
}
