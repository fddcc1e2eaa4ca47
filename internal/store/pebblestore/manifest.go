package pebblestore

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
)

// The manifest lists the tables of the store. It has the chunks of a log (logscan.go) in their
// oldest form, of the types 1 to 4, 1 and 2 of which begin a record. Pebble takes it up to the
// first chunk that it can't read, without a word, and deletes the tables that it has not met by
// then.

// checkManifest refuses a store whose manifest is damaged. Each record is on the disk before the
// next one is written, so what a power cut leaves is a last record that can't be read.
func checkManifest(fs vfs.FS, desc *pebble.DBDesc) error {
	if !desc.Exists {
		return nil
	}
	content, err := readFile(fs, desc.ManifestFilename)
	if err != nil {
		return err
	}
	if at, _, proven := manifestDamage(content); proven {
		return andon.Errorf(andon.Damaged, "%s is damaged at byte %d of %d. Starting would delete "+
			"the tables that it lists behind that place. Restore the store from a backup. Nothing "+
			"was changed", desc.ManifestFilename, at, len(content))
	}
	return nil
}

// manifestDamage returns where a manifest can't be read on, if that is likely no end that a crash
// tore, and whether it is none for certain.
func manifestDamage(content []byte) (at int, likely, proven bool) {
	for at < len(content) {
		if left := logBlock - at%logBlock; left < chunkHead {
			at += left
			continue
		}
		length, whole := oldChunk(content[at:])
		if length == 0 {
			proven = recordFollows(content[at:])
			return at, whole || proven, proven
		}
		at += length
	}
	return at, false, false
}

// oldChunk returns the length of a chunk that is valid, else 0, and then whether all of it is
// there.
func oldChunk(b []byte) (length int, whole bool) {
	if len(b) < chunkHead || b[6] == 0 || b[6] >= typeLog {
		return 0, false
	}
	length = chunkHead + int(binary.LittleEndian.Uint16(b[4:]))
	if length > len(b) {
		return 0, false
	}
	if chunkSum(b[6:length]) != binary.LittleEndian.Uint32(b) {
		return 0, true
	}
	return length, true
}

// recordFollows reports whether a valid record begins behind a chunk that is not.
func recordFollows(b []byte) bool {
	const first = 2
	for at := 1; at < min(len(b), logBlock); at++ {
		if length, _ := oldChunk(b[at:]); length > 0 && b[at+6] <= first {
			return true
		}
	}
	return false
}
