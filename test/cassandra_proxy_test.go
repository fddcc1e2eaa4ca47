package test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// What is known here of CQL's native protocol, version 5. A conversation begins with frames:
//
//	version  1 byte   0x85 of an answer
//	flags    1 byte
//	stream   2 bytes
//	opcode   1 byte
//	length   4 bytes  of the body, which follows
//
// After the answer READY they come in segments, one or more whole frames in each, or a part of one
// that is large:
//
//	header   3 bytes, the lowest first: 17 bits length, 1 bit whether its frames are whole
//	sum      3 bytes, the lowest first: CRC-24 of the header
//	frames
//	sum      4 bytes, the lowest first: CRC-32 of four fixed bytes and the frames
const (
	frameHeader   = 9
	segmentHeader = 6
	segmentSum    = 4
	wholeFrames   = 1 << 17 // in the header of a segment

	opError   = 0x00
	opStartup = 0x01
	opReady   = 0x02
	opQuery   = 0x07
	opResult  = 0x08

	resultVoid = 1 // what a write is answered with
)

// proxy is between a driver and a node. A driver that is given its address as the only contact
// point sends everything through it, whatever address the node says it has.
type proxy struct {
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	fault   fault
	changed chan struct{} // closed when fault changes
	open    map[net.Conn]struct{}
	met     met
}

// fault is what the proxy does; the zero value is to pass everything on.
type fault struct {
	delay   time.Duration // that an answer comes late at most
	breaks  int           // the connection breaks in the middle of one of so many large requests
	swallow bool          // answers to writes are lost, and nothing else
	silent  bool          // nothing comes through; what waits does so once this is over
	cut     bool          // there is no connection
}

// met is how often the faults met something.
type met struct{ delayed, broken, swallowed, held int }

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		target: target, listener: l,
		changed: make(chan struct{}), open: map[net.Conn]struct{}{},
	}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.set(fault{cut: true})
		p.work.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// set changes what the proxy does from now on.
func (p *proxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
	if f.cut {
		for c := range p.open {
			c.Close()
		}
	}
}

// now returns what the proxy is to do, and notes what that met.
func (p *proxy) now(note func(f fault, m *met)) (fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if note != nil {
		note(p.fault, &p.met)
	}
	return p.fault, p.changed
}

// faultsMet returns how often the faults met something so far.
func (p *proxy) faultsMet() met {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

func (p *proxy) accept() {
	for {
		driver, err := p.listener.Accept()
		if err != nil {
			return
		}
		node, err := net.DialTimeout("tcp", p.target, time.Second)
		if err != nil || !p.keep(driver, node) {
			driver.Close()
			if node != nil {
				node.Close()
			}
			continue
		}
		passing := func(pass func(from, to net.Conn) error, from, to net.Conn) {
			_ = pass(from, to) // one of them ended, so both do
			p.end(from, to)
		}
		p.work.Go(func() { passing(p.requests, driver, node) })
		p.work.Go(func() { passing(p.answers, node, driver) })
	}
}

// keep takes note of connections, so that they can be cut.
func (p *proxy) keep(all ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		p.open[c] = struct{}{}
	}
	return !p.fault.cut
}

func (p *proxy) end(all ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		c.Close()
		delete(p.open, c)
	}
}

// hold waits while nothing comes through.
func (p *proxy) hold() fault {
	f, changed := p.now(func(f fault, m *met) {
		if f.silent {
			m.held++
		}
	})
	for f.silent {
		<-changed
		f, changed = p.now(nil)
	}
	return f
}

var errBroken = errors.New("broken on purpose")

// requests passes on what a driver sends.
func (p *proxy) requests(driver, node net.Conn) error {
	const large = 400 // bytes: a write of an entry or more, not a look at a device
	buffer := make([]byte, 64<<10)
	for {
		n, err := driver.Read(buffer)
		if err != nil {
			return err
		}
		f := p.hold()
		if f.breaks > 0 && n >= large && rand.IntN(f.breaks) == 0 {
			p.now(func(_ fault, m *met) { m.broken++ })
			node.Write(buffer[:n/2])
			return errBroken
		}
		if _, err := node.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

// answers passes on what a node answers.
func (p *proxy) answers(node, driver net.Conn) error {
	a := answering{from: bufio.NewReader(node)}
	for {
		part, whole, err := a.next()
		if err != nil {
			return err
		}
		f := p.hold()
		if f.swallow && whole {
			rest, lost := withoutWrites(part)
			p.now(func(_ fault, m *met) { m.swallowed += lost })
			if part = rest; len(part) == 0 {
				continue
			}
		}
		if f.delay > 0 {
			p.now(func(_ fault, m *met) { m.delayed++ })
			<-time.After(rand.N(f.delay))
		}
		if _, err := driver.Write(part); err != nil {
			return err
		}
	}
}

// answering takes the answers of one connection apart.
type answering struct {
	from      *bufio.Reader
	segmented bool
}

// next returns the next frame or segment, and whether it is a segment of whole frames.
func (a *answering) next() (part []byte, whole bool, err error) {
	if a.segmented {
		return a.segment()
	}
	part, err = a.read(nil, frameHeader)
	if err == nil {
		part, err = a.read(part, int(binary.BigEndian.Uint32(part[5:])))
	}
	if err != nil {
		return nil, false, err
	}
	a.segmented = part[0] == 0x85 && part[4] == opReady
	return part, false, nil
}

func (a *answering) segment() (part []byte, whole bool, err error) {
	if part, err = a.read(nil, segmentHeader); err != nil {
		return nil, false, err
	}
	header := uint32(part[0]) | uint32(part[1])<<8 | uint32(part[2])<<16
	part, err = a.read(part, int(header&(wholeFrames-1))+segmentSum)
	return part, header&wholeFrames != 0, err
}

// read appends so many bytes.
func (a *answering) read(to []byte, n int) ([]byte, error) {
	all := append(to, make([]byte, n)...)
	_, err := io.ReadFull(a.from, all[len(to):])
	return all, err
}

// withoutWrites takes the answers to writes out of a segment, and says how many. Others may be in
// it: one that is lost to a statement which is to be prepared keeps a write from being sent at all.
func withoutWrites(segment []byte) (rest []byte, lost int) {
	var kept []byte
	frames := segment[segmentHeader : len(segment)-segmentSum]
	for len(frames) >= frameHeader {
		length := frameHeader + int(binary.BigEndian.Uint32(frames[5:]))
		body := frames[frameHeader:length]
		if frames[4] == opResult && binary.BigEndian.Uint32(body) == resultVoid {
			lost++
		} else {
			kept = append(kept, frames[:length]...)
		}
		frames = frames[length:]
	}
	switch {
	case lost == 0:
		return segment, 0
	case len(kept) == 0:
		return nil, lost
	}
	return segmentOf(kept), lost
}

// segmentOf makes a segment of whole frames.
func segmentOf(frames []byte) []byte {
	header := uint32(len(frames)) | wholeFrames
	all := []byte{byte(header), byte(header >> 8), byte(header >> 16)}
	sum := crc24(all)
	all = append(append(all, byte(sum), byte(sum>>8), byte(sum>>16)), frames...)
	fixed := crc32.ChecksumIEEE([]byte{0xfa, 0x2d, 0x55, 0xca})
	return binary.LittleEndian.AppendUint32(all, crc32.Update(fixed, crc32.IEEETable, frames))
}

func crc24(header []byte) uint32 {
	sum := uint32(0x875060)
	for _, b := range header {
		sum ^= uint32(b) << 16
		for range 8 {
			if sum <<= 1; sum&(1<<24) != 0 {
				sum ^= 0x1974f0b
			}
		}
	}
	return sum
}
