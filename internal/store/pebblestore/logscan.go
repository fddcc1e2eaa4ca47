package pebblestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Pebble's write-ahead log, as far as finding its end needs it. It is cut into blocks; a chunk lies
// within one block, and a record is one or more chunks. Where fewer bytes than a header are left in
// a block, they are zero.
//
//	crc 4, of what follows the length | length 2 | type 1 | log 4 | [synced 8] | payload
//
// All numbers are little-endian. log is the low half of the log's number: a log file is used again
// for a later log, and what is left of the former one behind its end has the former number. synced
// rises with each sync of the log. A log that was closed ends in a chunk without payload whose log
// is one more.
const (
	logBlock       = 32 << 10
	chunkHead      = 7      // without the log's number: of chunks that Pebble no longer writes
	chunkHeadLog   = 7 + 4  // types 5 to 8: full, first, middle, last
	chunkHeadSync  = 11 + 8 // types 9 to 12
	typeLog        = 5
	typeSync       = 9
	typesBehind    = 13
	positionFull   = 0
	positionFirst  = 1
	positionMiddle = 2
)

// logScan is what a log holds.
type logScan struct {
	end     int64 // where replaying it ends
	clean   bool  // it ends as a log that was closed, or between two records at the end of the file
	size    int64
	behind  int64 // bytes of valid chunks of this log behind end
	records int   // that begin behind end
	syncs   int   // how many values of synced those chunks have
}

// unsynced is how many values of synced the chunks can have that were written since the last sync
// of a log: that before it, the one before that, while it went on, and one more where a chunk was
// being written while the value changed.
const unsynced = 3

// provesDamage reports whether what stands behind the end was written after what is missing before
// it had been synced. Fewer values prove nothing: a power cut may keep a later block of what was
// not synced, and not an earlier one.
func (s *logScan) provesDamage() bool { return s.syncs > unsynced }

// scanLog reads a log, of which only the low half of its number counts.
func scanLog(r io.Reader, number uint64) (logScan, error) {
	w := logWalk{number: uint32(number), synced: map[uint64]bool{}}
	b := make([]byte, logBlock)
	for {
		n, err := io.ReadFull(r, b)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return w.logScan, err
		}
		if n > 0 {
			w.block(b[:n])
			w.size += int64(n)
		}
		if n < logBlock {
			break
		}
	}
	if !w.ended {
		w.end, w.clean = w.size, !w.within
	}
	w.syncs = len(w.synced)
	return w.logScan, nil
}

// logWalk goes through a log, block by block.
type logWalk struct {
	logScan
	number uint32
	ended  bool // replaying has ended
	within bool // a record goes on in the next chunk
	synced map[uint64]bool
}

// chunk is one chunk of a block.
type chunk struct {
	bytes    int // with its head; 0: there is none that could be skipped
	valid    bool
	position byte // of positionFull and so on
	trailer  bool
	synced   uint64
}

// block goes through one block. Behind a chunk that can't be skipped, the next block goes on.
func (w *logWalk) block(b []byte) {
	for at := 0; at < len(b); {
		if isPadding(b, at) {
			return
		}
		c := readChunk(b[at:], w.number)
		if !w.ended && (!c.valid || c.trailer && w.within) {
			w.stop(w.size+int64(at), false)
		}
		switch {
		case c.trailer && !w.ended:
			w.stop(w.size+int64(at+c.bytes), true)
			return
		case c.bytes == 0, c.trailer:
			return
		case c.valid && w.ended:
			w.found(c)
		case c.valid:
			w.within = c.position == positionFirst || c.position == positionMiddle
		}
		at += c.bytes
	}
}

func (w *logWalk) stop(end int64, clean bool) { w.end, w.clean, w.ended = end, clean, true }

func (w *logWalk) found(c chunk) {
	w.behind += int64(c.bytes)
	if c.position == positionFull || c.position == positionFirst {
		w.records++
	}
	if c.synced != 0 {
		w.synced[c.synced] = true
	}
}

// isPadding reports whether a block has only padding from a place on: fewer bytes than a head, and
// where the shorter head would fit, zeros.
func isPadding(b []byte, at int) bool {
	left := logBlock - at
	if left < chunkHeadLog {
		return true
	}
	if left >= chunkHeadSync || len(b) < logBlock {
		return false
	}
	for _, c := range b[at:] {
		if c != 0 {
			return false
		}
	}
	return true
}

func readChunk(b []byte, number uint32) (c chunk) {
	if len(b) < chunkHeadLog || b[6] < typeLog || b[6] >= typesBehind {
		return c
	}
	head := chunkHeadLog
	if c.position = b[6] - typeLog; b[6] >= typeSync {
		head, c.position = chunkHeadSync, b[6]-typeSync
	}
	length := int(binary.LittleEndian.Uint16(b[4:]))
	log := binary.LittleEndian.Uint32(b[7:])
	if log == number+1 && length == 0 && head == chunkHeadLog {
		return chunk{bytes: head, valid: true, trailer: true}
	}
	if log != number || head+length > len(b) {
		return c
	}
	c.bytes = head + length
	c.valid = chunkSum(b[6:c.bytes]) == binary.LittleEndian.Uint32(b)
	if c.valid && head == chunkHeadSync {
		c.synced = binary.LittleEndian.Uint64(b[chunkHeadLog:])
	}
	return c
}

// chunkSum is the checksum of a chunk.
func chunkSum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
