package walcheck

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/engine"
)

// The manifest lists the tables of the store. Its chunks are those of a log in their oldest form:
//
//	crc 4, of what follows the length | length 2 | type 1 | payload
//
// All numbers are little-endian. Types 1 and 2 begin a record, 1 and 4 end one, and 3 is between.
// Pebble reads the manifest up to the first chunk that it can't read, reports nothing, and deletes
// the tables that it has not met by then.
const (
	headerSize = 7

	wholeChunk = 1
	firstChunk = 2
	lastChunk  = 4
)

// ManifestDamage is where a manifest can't be read any further. Each record is on the disk before
// the next one is written, so a power cut leaves at most one record that can't be read, the last;
// and none of those that andon.synced counts.
type ManifestDamage struct {
	File         string // its name
	Offset, Size int
	proven       bool // it is certainly not the end that a crash tore
}

// readManifest finds out where the manifest is damaged, unless a crash is the likely reason, and
// which log is the first that is not in tables, by what comes before the damage.
func (l *Logs) readManifest(path string) error {
	content, err := engine.ReadFile(l.fs, path)
	if err != nil {
		return err
	}
	d := &ManifestDamage{File: l.fs.PathBase(path), Offset: len(content), Size: len(content)}
	onDisk := 0
	if is := l.synced.manifest; is.number == manifestNumber(l.fs, path) {
		onDisk = int(is.bytes)
	}
	var edit []byte
	for offset := 0; offset < len(content); {
		if left := blockSize - offset%blockSize; left < headerSize {
			offset += left
			continue
		}
		chunk := content[offset:]
		length, complete := oldChunk(chunk)
		if length == 0 {
			d.Offset, d.proven = offset, offset < onDisk || recordFollows(chunk)
			if complete || d.proven {
				l.Manifest = d
			}
			return nil
		}
		offset += length
		if chunk[6] <= firstChunk {
			edit = nil
		}
		edit = append(edit, chunk[headerSize:length]...)
		if chunk[6] == wholeChunk || chunk[6] == lastChunk {
			l.first = max(l.first, editedLog(edit))
		}
	}
	if len(content) < onDisk {
		d.Size, d.proven = onDisk, true
		l.Manifest = d
	}
	return nil
}

// manifestNumber returns the number of a manifest by its path, 0 where it is not one.
func manifestNumber(fs vfs.FS, path string) uint64 {
	digits, ok := strings.CutPrefix(fs.PathBase(path), "MANIFEST-")
	if number, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
		return number
	}
	return 0
}

// oldChunk returns the length of a valid chunk. Of another one it returns 0, and whether all of its
// bytes are there.
func oldChunk(b []byte) (length int, complete bool) {
	if len(b) < headerSize || b[6] == 0 || b[6] > lastChunk {
		return 0, false
	}
	length = headerSize + int(binary.LittleEndian.Uint16(b[4:]))
	if length > len(b) {
		return 0, false
	}
	if checksum(b[6:length]) != binary.LittleEndian.Uint32(b) {
		return 0, true
	}
	return length, true
}

func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}

// recordFollows reports whether a valid record begins after a chunk that is not valid.
func recordFollows(b []byte) bool {
	for i := 1; i < min(len(b), blockSize); i++ {
		if length, _ := oldChunk(b[i:]); length > 0 && b[i+6] <= firstChunk {
			return true
		}
	}
	return false
}

// editedLog returns the log number that an edit in the manifest sets, 0 where it sets none. It is
// one of the fields with a number, which come first in an edit.
func editedLog(edit []byte) uint64 {
	const comparer, logNumber, nextFile, lastSequence, formerLog = 1, 2, 3, 4, 9
	uvarint := func() uint64 {
		v, n := binary.Uvarint(edit)
		edit = edit[max(n, 0):]
		return v
	}
	for len(edit) > 0 {
		switch uvarint() {
		case comparer:
			edit = edit[min(uvarint(), uint64(len(edit))):]
		case logNumber:
			return uvarint()
		case nextFile, lastSequence, formerLog:
			uvarint()
		default:
			return 0
		}
	}
	return 0
}
