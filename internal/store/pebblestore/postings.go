package pebblestore

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// inOrder compares devices of an hour in the order of a list: first the one whose entries may come
// first.
func inOrder(order andon.Order) func(a, b layout.InHour) int {
	if order == andon.Desc {
		return func(a, b layout.InHour) int { return cmp.Compare(b.Newest, a.Newest) }
	}
	return func(a, b layout.InHour) int { return cmp.Compare(a.Oldest, b.Oldest) }
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
	devices []layout.InHour // is not changed
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
func (p *readPostings) read(key, value []byte, order andon.Order) ([]layout.InHour, error) {
	p.mu.Lock()
	known := p.of[order][string(key)]
	p.mu.Unlock()
	if known != nil && bytes.Equal(known.value, value) {
		return known.devices, nil
	}
	devices, err := layout.ReadPosting(nil, value)
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
