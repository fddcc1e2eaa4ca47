package walcheck

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A write-ahead log of Pebble is cut into blocks. A chunk lies within one block, and a record is
// one or more chunks. Where fewer bytes than a header are left in a block, they are zero.
//
//	crc 4, of what follows the length | length 2 | type 1 | log 4 | [synced 8] | payload
//
// All numbers are little-endian. log is the low half of the log's number: the file of a log is used
// again for a later log, and what is left of the former one after its end has the former number.
// synced rises with each sync of the log. A log that was closed ends in a chunk without payload
// whose log is one more.
const (
	blockSize      = 32 << 10
	headerSize     = 7              // without the log's number: types 1 to 4
	headerSizeLog  = headerSize + 4 // types 5 to 8: full, first, middle, last
	headerSizeSync = 11 + 8         // types 9 to 12
	typeLog        = 5
	typeSync       = 9
	typeLimit      = 13
	positionFull   = 0
	positionFirst  = 1
	positionMiddle = 2
)

// scan is what a log holds.
type scan struct {
	end     int64 // where replaying it ends
	clean   bool  // it ends as a log that was closed, or between two records at the end of the file
	size    int64
	after   int64 // bytes of valid chunks of this log after end
	records int   // that begin after end
	syncs   int   // how many values of synced those chunks have
}

// mostUnsynced is how many values of synced the chunks can have that were written since the last
// sync of a log: that before it, the one before that, while it went on, and one more where a chunk
// was being written while the value changed.
const mostUnsynced = 3

// provesDamage reports whether what follows the end was written after what is missing before it had
// been synced. Fewer values prove nothing: a power cut may keep a later block of what was not
// synced, and not an earlier one.
func (s *scan) provesDamage() bool { return s.syncs > mostUnsynced }

// scanLog reads a log, of whose number only the low half counts.
func scanLog(r io.Reader, number uint64) (scan, error) {
	w := walk{number: uint32(number), synced: map[uint64]bool{}}
	b := make([]byte, blockSize)
	for {
		n, err := io.ReadFull(r, b)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return w.scan, err
		}
		if n > 0 {
			w.block(b[:n])
			w.size += int64(n)
		}
		if n < blockSize {
			break
		}
	}
	if !w.ended {
		w.end, w.clean = w.size, !w.within
	}
	w.syncs = len(w.synced)
	return w.scan, nil
}

// walk goes through a log, block by block.
type walk struct {
	scan
	number uint32
	ended  bool // replaying has ended
	within bool // a record continues in the next chunk
	synced map[uint64]bool
}

// chunk is one chunk of a block.
type chunk struct {
	bytes    int // with its header; 0: there is none that could be skipped
	valid    bool
	position byte // positionFull and so on
	trailer  bool
	synced   uint64
}

// block goes through one block. After a chunk that can't be skipped it leaves the block.
func (w *walk) block(b []byte) {
	for offset := 0; offset < len(b); {
		if isPadding(b, offset) {
			return
		}
		c := readChunk(b[offset:], w.number)
		if !w.ended && (!c.valid || c.trailer && w.within) {
			w.stop(w.size+int64(offset), false)
		}
		switch {
		case c.trailer && !w.ended:
			w.stop(w.size+int64(offset+c.bytes), true)
			return
		case c.bytes == 0, c.trailer:
			return
		case c.valid && w.ended:
			w.count(c)
		case c.valid:
			w.within = c.position == positionFirst || c.position == positionMiddle
		}
		offset += c.bytes
	}
}

func (w *walk) stop(end int64, clean bool) { w.end, w.clean, w.ended = end, clean, true }

// count counts a chunk after the end.
func (w *walk) count(c chunk) {
	w.after += int64(c.bytes)
	if c.position == positionFull || c.position == positionFirst {
		w.records++
	}
	if c.synced != 0 {
		w.synced[c.synced] = true
	}
}

// isPadding reports whether a block has only padding from an offset on: fewer bytes than a header,
// and where the shorter header would fit, zeros.
func isPadding(b []byte, offset int) bool {
	left := blockSize - offset
	if left < headerSizeLog {
		return true
	}
	if left >= headerSizeSync || len(b) < blockSize {
		return false
	}
	for _, c := range b[offset:] {
		if c != 0 {
			return false
		}
	}
	return true
}

func readChunk(b []byte, number uint32) (c chunk) {
	if len(b) < headerSizeLog || b[6] < typeLog || b[6] >= typeLimit {
		return c
	}
	header := headerSizeLog
	if c.position = b[6] - typeLog; b[6] >= typeSync {
		header, c.position = headerSizeSync, b[6]-typeSync
	}
	length := int(binary.LittleEndian.Uint16(b[4:]))
	log := binary.LittleEndian.Uint32(b[7:])
	if log == number+1 && length == 0 && header == headerSizeLog {
		return chunk{bytes: header, valid: true, trailer: true}
	}
	if log != number || header+length > len(b) {
		return c
	}
	c.bytes = header + length
	c.valid = checksum(b[6:c.bytes]) == binary.LittleEndian.Uint32(b)
	if c.valid && header == headerSizeSync {
		c.synced = binary.LittleEndian.Uint64(b[headerSizeLog:])
	}
	return c
}

// checksum is that of a chunk.
func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
