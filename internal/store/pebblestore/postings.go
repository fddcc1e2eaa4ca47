package pebblestore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/eventlog"
)

// A posting says which devices may have entries of an operator in an hour, and between which times:
// for each its number, as a count from the one before, the millisecond of its oldest entry in that
// hour, and how many more until that of its newest. Rounds write it, and a large one in parts.
const postingDevices = 4096 // of one part

type inHour = eventlog.InHour

// joined puts devices into ascending order, each once.
func joined(devices []inHour) []inHour {
	if !slices.IsSortedFunc(devices, byDevice) { // else it is one posting
		slices.SortFunc(devices, byDevice)
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

func byDevice(a, b inHour) int { return cmp.Compare(a.Device, b.Device) }

func appendPosting(b []byte, devices []inHour) []byte {
	last := uint32(0)
	for _, d := range devices {
		b = binary.AppendUvarint(b, uint64(d.Device-last))
		b = binary.AppendUvarint(b, uint64(d.Oldest))
		b = binary.AppendUvarint(b, uint64(d.Newest-d.Oldest))
		last = d.Device
	}
	return b
}

// readPosting reads numbers without a wire, which takes twice as long for a thousand devices.
func readPosting(devices []inHour, value []byte) ([]inHour, error) {
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
			return devices, errDamaged
		}
		devices = append(devices,
			inHour{Device: uint32(last), Oldest: uint32(oldest), Newest: uint32(oldest + more)})
	}
	return devices, nil
}

// inOrder compares devices of an hour in the order of a list: first the one whose entries may come
// first.
func inOrder(order andon.Order) func(a, b inHour) int {
	if order == andon.Desc {
		return func(a, b inHour) int { return cmp.Compare(b.Newest, a.Newest) }
	}
	return func(a, b inHour) int { return cmp.Compare(a.Oldest, b.Oldest) }
}

// readPostings are postings that were read lately, in the order of a list. A page of an operator
// has some of the devices of an hour. To decode all and to find those took as long as to read what
// is on the page, so that is done once. A posting stays as it is, but for one of a round that is
// done again: so its bytes are compared.
type readPostings struct {
	mu    sync.Mutex
	of    [2]map[string]*posting // by order and key
	bytes int
	most  int // bytes that are kept; 0: postingsBytes
}

type posting struct {
	value   []byte
	devices []inHour // is not changed
}

const (
	postingsBytes = 8 << 20
	inHourBytes   = 12
	postingBytes  = 128 // about what one takes beside its value and devices
)

func (p *posting) size(key string) int {
	return len(key) + len(p.value) + inHourBytes*len(p.devices) + postingBytes
}

// read returns the devices of a posting in an order. The caller must not change them.
func (p *readPostings) read(key, value []byte, order andon.Order) ([]inHour, error) {
	p.mu.Lock()
	known := p.of[order][string(key)]
	p.mu.Unlock()
	if known != nil && bytes.Equal(known.value, value) {
		return known.devices, nil
	}
	devices, err := readPosting(nil, value)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(devices, inOrder(order))
	devices = slices.Clone(devices) // no longer than they are
	p.keep(string(key), order, &posting{bytes.Clone(value), devices})
	return devices, nil
}

// keep keeps a posting, in place of others where there are many.
func (p *readPostings) keep(key string, order andon.Order, read *posting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[order] == nil {
		p.of[order] = map[string]*posting{}
	}
	p.forget(key, order)
	p.of[order][key] = read
	p.bytes += read.size(key)
	for of := range p.of {
		for other := range p.of[of] { // in any order
			if p.bytes <= cmp.Or(p.most, postingsBytes) {
				return
			}
			p.forget(other, andon.Order(of))
		}
	}
}

func (p *readPostings) forget(key string, order andon.Order) {
	if known := p.of[order][key]; known != nil {
		p.bytes -= known.size(key)
		delete(p.of[order], key)
	}
}
