package bench

import (
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// The kinds of loads, by which some can be chosen. The fleet is always filled in first: all others
// go on from there.
const (
	kindFill      = "fill"
	kindQuestions = "questions"
	kindSingle    = "single"
	kindBatch     = "batch"
	kindStates    = "states"
	kindImport    = "import"
	kindList      = "list"
	kindSoak      = "soak"
	kindReadings  = "readings"
)

// StoreLoads are the kinds of loads that a store is measured with in process.
func StoreLoads() []string {
	return []string{kindFill, kindQuestions, kindSingle, kindBatch, kindImport}
}

// ServerLoads are the kinds of loads that a server is measured with.
func ServerLoads() []string {
	return []string{
		kindFill, kindQuestions, kindSingle, kindBatch, kindStates, kindList, kindSoak,
		kindReadings,
	}
}

// CheckLoads reports as Invalid what is chosen and not among the known kinds.
func (o *Options) CheckLoads(known []string) error {
	for _, l := range o.Loads {
		if !slices.Contains(known, l) {
			return andon.Errorf(andon.Invalid, "loads: there is no %q here: there are %s",
				l, strings.Join(known, ", "))
		}
	}
	return nil
}

// wants says whether a kind of load is to be measured.
func (o *Options) wants(kind string) bool {
	return kind == kindFill || len(o.Loads) == 0 || slices.Contains(o.Loads, kind)
}
