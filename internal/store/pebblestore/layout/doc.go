// Package layout defines every byte that the embedded store keeps: the keys of its tables and the
// values under them. It encodes and decodes, and nothing else: it must not know Pebble, files,
// locks, clocks, or what a row is read for.
//
// There are three kinds of data, each with its codec:
//
//   - Keys (keys.go). A key begins with the byte of its table. The comment there draws every table.
//     A Key is built by appending parts, and taken apart by the Split and Take functions.
//   - Small values (values.go, run.go, posting.go, changes.go): one record each.
//   - Rows (record.go, rows.go): one row holds what one request brought, its entries and how they
//     changed its devices. Package eventlog below has the entries of a row, and the blocks that
//     entries are flushed to. Package readingblock has the blocks of readings. Both use package
//     varint, which has counts and texts.
//
// Every decoder expects damage. Any bytes give a value or an error, never a panic, and never more
// memory than a small multiple of the input or a constant bound. Each decoder is fuzzed. Bytes that
// are not of their form are ErrDamaged, which andon.KindOf classes as Damaged: the query that needs
// them fails, and all else goes on.
//
// Devices and tenants are numbers here, which the store gives and never gives twice. Names of
// states and people are texts, once in each row and block. A dictionary for the tenant would save
// two bytes an entry before compression and nearly nothing after it, and would be one more thing
// that a client can grow and damage can reach. So each row and block can be read by itself.
//
// Nothing here keeps what it was passed. A decoder says of each result how long it is valid: texts
// mostly for as long as the bytes they came from, names for good.
package layout
