package records

import "encoding/hex"

// places are where incidents of a tenant are open, as far as this process knows: all of them, once
// a scan of the records has ended. There may be a million, so they have no pointers.
type places struct {
	by      map[placeHash]uint32 // the newest scan that had begun when it was seen
	begun   uint32               // scans
	scanned bool
}

// placeHash is of both hashes of a place, enough to tell the places of a tenant apart.
type placeHash [8]byte

func hashOfPlace(place string) (h placeHash) {
	var of [14]byte
	_, _ = hex.Decode(of[:], []byte(place[:min(len(place), 2*len(of))])) // or what is no place
	copy(h[:], of[:])
	for i, b := range of[10:] {
		h[i] ^= b
	}
	return h
}

// begin begins a scan, of which add is to be called for each record.
func (p *places) begin() (scan uint32) {
	p.begun++
	return p.begun
}

// end ends a scan: what was not seen since it began is not there any more.
func (p *places) end(scan uint32) {
	p.scanned = true
	for h, seen := range p.by {
		if seen < scan {
			delete(p.by, h)
		}
	}
}

func (p *places) add(place string) {
	if p.by == nil {
		p.by = map[placeHash]uint32{}
	}
	p.by[hashOfPlace(place)] = p.begun
}

func (p *places) remove(place string) { delete(p.by, hashOfPlace(place)) }

func (p *places) holds(place string) bool {
	_, is := p.by[hashOfPlace(place)]
	return is
}
