package layout

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
)

// PostingDevices is how many devices one posting has at most. A posting says which devices may have
// entries of an operator in an hour, and between which times: for each its number, as a count from
// the one before, the millisecond of its oldest entry in that hour, and how many more until that of
// its newest. Flushes write postings, large ones in parts.
const PostingDevices = 4096

// InHour is a device of a posting.
type InHour = eventlog.InHour

// JoinDevices puts devices into ascending order, each once.
func JoinDevices(devices []InHour) []InHour {
	if !slices.IsSortedFunc(devices, ByDevice) { // else they are of one posting
		slices.SortFunc(devices, ByDevice)
	}
	all := devices[:0]
	for _, d := range devices {
		last := len(all) - 1
		if last < 0 || all[last].Device != d.Device {
			all = append(all, d)
			continue
		}
		all[last].Oldest = min(all[last].Oldest, d.Oldest)
		all[last].Newest = max(all[last].Newest, d.Newest)
	}
	return all
}

// ByDevice compares devices by number.
func ByDevice(a, b InHour) int { return cmp.Compare(a.Device, b.Device) }

// AppendPosting encodes devices in ascending order.
func AppendPosting(b []byte, devices []InHour) []byte {
	last := uint32(0)
	for _, d := range devices {
		b = binary.AppendUvarint(b, uint64(d.Device-last))
		b = binary.AppendUvarint(b, uint64(d.Oldest))
		b = binary.AppendUvarint(b, uint64(d.Newest-d.Oldest))
		last = d.Device
	}
	return b
}

// ReadPosting appends the devices of a posting. It decodes without a Reader, which takes twice as
// long for a thousand devices.
func ReadPosting(devices []InHour, value []byte) ([]InHour, error) {
	last := uint64(0)
	for at := 0; at < len(value); {
		device, n := binary.Uvarint(value[at:])
		at += max(n, 0)
		oldest, m := binary.Uvarint(value[at:])
		at += max(m, 0)
		more, k := binary.Uvarint(value[at:])
		at += max(k, 0)
		last += device
		if min(n, m, k) <= 0 || max(device, last) > math.MaxUint32 || max(oldest, more) >= 1<<31 {
			return devices, ErrDamaged
		}
		devices = append(devices,
			InHour{Device: uint32(last), Oldest: uint32(oldest), Newest: uint32(oldest + more)})
	}
	return devices, nil
}
