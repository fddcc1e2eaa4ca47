package andon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// A cursor is the place where a page ended, as opaque text, so that no state is kept between pages:
//
//	base64url( version 1 byte | scope 8 bytes | position as JSON | CRC-32C of the rest, 4 bytes )
//
// The scope is the head of the SHA-256 of the query that the cursor belongs to.
const cursorVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EncodeCursor writes a position (EventKey, DevicePosition, MetricPosition, Time) for the query
// that scope spells out: everything that selects and orders, without the size of a page.
func EncodeCursor(scope string, position any) string {
	text, err := json.Marshal(position)
	if err != nil {
		panic("andon: a cursor's position can't be written: " + err.Error())
	}
	b := append([]byte{cursorVersion}, scopeSum(scope)...)
	b = append(b, text...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor reads into position what EncodeCursor wrote for the same scope. A changed cursor and
// one of another query are Invalid, and their messages tell them apart.
func DecodeCursor(scope, cursor string, position any) error {
	const frame = 1 + 8 + 4
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < frame {
		return AtField("query.cursor", "the cursor is damaged: use it as it was given")
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	switch {
	case crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum):
		return AtField("query.cursor", "the cursor is damaged: use it as it was given")
	case body[0] != cursorVersion:
		return AtField("query.cursor",
			"the cursor is of another version of Andon: start again without it")
	case !bytes.Equal(body[1:9], scopeSum(scope)):
		return AtField("query.cursor",
			"the cursor belongs to another query: keep all parameters but limit as they were")
	}
	if err := json.Unmarshal(body[9:], position); err != nil {
		return AtField("query.cursor", "the cursor is damaged: use it as it was given")
	}
	return nil
}

func scopeSum(scope string) []byte {
	sum := sha256.Sum256([]byte(scope))
	return sum[:8]
}
