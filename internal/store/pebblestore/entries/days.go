package entries

// dayNumbers are numbers of devices by day: those of which a directory is known to have the day. A
// row that is there is not written again. One that is not known may be there as well.
type dayNumbers map[uint32][]uint64

// mostDayNumbers bounds the memory of those that report for many days at once.
const mostDayNumbers = 8 // days

// add enters a device, and reports whether it was not known.
func (d *dayNumbers) add(day, number uint32) bool {
	if *d == nil || len(*d) == mostDayNumbers && (*d)[day] == nil {
		*d = dayNumbers{}
	}
	bits, word, bit := (*d)[day], int(number/64), uint64(1)<<(number%64)
	if word >= len(bits) {
		bits = append(bits, make([]uint64, max(word+1, 2*len(bits))-len(bits))...)
		(*d)[day] = bits
	}
	if bits[word]&bit != 0 {
		return false
	}
	bits[word] |= bit
	return true
}
