package walcheck

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/record"
)

// A file of records is cut into blocks, and a record into chunks that lie within one block. Where
// less than a header is left in a block, it is zero.
// A closed log ends in a chunk of a header alone.
const (
	blockSize     = 32 << 10
	longestHeader = 19
	closingChunk  = 11
)

type scan struct {
	end    int64 // where replaying it ends
	closed bool  // it ends as a log that was closed, or between two records at the end of the file
	proven bool  // what follows the end was written once what is missing before it was on the disk
}

// lacks reports whether a record is missing of a log of which so many bytes were on the disk.
func (s *scan) lacks(synced int64) bool { return synced > s.end+closingChunk }

// scanLog reads a log as Pebble replays it, of whose number only the low half counts.
func scanLog(f io.Reader, number uint64) (s scan, err error) {
	b := make([]byte, blockSize)
	for r := newReader(record.NewReader, f, number); err == nil; {
		s.end = r.Offset()
		var chunk io.Reader
		if chunk, err = r.Next(); err != nil {
			break
		}
		for {
			s.end = r.Offset() // after a chunk whose checksum is right
			if _, err = chunk.Read(b); err != nil {
				break
			}
		}
		if err == io.EOF {
			err = nil // of the record
		}
	}
	if left := blockSize - s.end%blockSize; left < longestHeader {
		s.end += left
	}
	switch {
	case err == io.EOF:
		s.closed = true
	case errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
		s.proven = true
	case !errors.Is(err, record.ErrUnexpectedEOF):
		return s, err
	}
	return s, nil
}

// newReader calls record.NewReader, whose type of the number of a file only Pebble can name.
func newReader[N ~uint64](
	read func(io.Reader, N) *record.Reader, f io.Reader, number uint64,
) *record.Reader {
	return read(f, N(number))
}
