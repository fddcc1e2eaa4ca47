package records

import "testing"

// TestPlaces: nothing is ruled out before a scan has ended; what is seen or added while scans
// overlap stays, and what is gone goes.
func TestPlaces(t *testing.T) {
	one, two, three := Place("d1", "state"), Place("d2", "state"), Place("d1", "silent")
	var p places
	p.add(one)
	first := p.begin()
	p.add(two)
	if p.scanned {
		t.Error("scanned before the scan has ended")
	}
	second := p.begin()
	p.end(first)
	if !p.scanned || p.holds(one) || !p.holds(two) {
		t.Errorf("after the first scan: %t, %v", p.scanned, p.by)
	}
	p.add(three)
	p.end(second)
	if p.holds(two) || !p.holds(three) {
		t.Errorf("after the second scan: %v", p.by)
	}
	if p.remove(three); p.holds(three) {
		t.Error("it is there after it was removed")
	}
}
