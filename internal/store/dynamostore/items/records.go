package items

import (
	"fmt"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// AssignmentKey returns the key of an earlier assignment.
func AssignmentKey(d *Device, from andon.Time) ddb.Item {
	return RecordKeys().Item("assignment#"+d.Rows(), TimeText(from))
}

// NumberText returns the number of an item of the log of changes as it sorts.
func NumberText(number uint64) string { return fmt.Sprintf("%020d", number) }

// LogItem returns an item of the log of changes.
func LogItem(partition string, i changelog.Item) ddb.Item {
	put := RecordKeys().Item("change#"+partition, NumberText(i.Number))
	put[AttrAt], put[AttrData] = ddb.Number(i.At), ddb.Binary(i.Data)
	if i.Expires != 0 {
		put[AttrTTL] = ddb.Number(i.Expires.Std().Unix())
	}
	return put
}

// Withdrawal returns the mark of the record that an entry was wrong.
func Withdrawal(d *Device, ref andon.EntryRef) Mark {
	return Mark{Records("withdrawal#" + d.Rows()), ref}
}

// Mark names an item about an entry, in a partition whose sort key is <state>#<time>.
type Mark struct {
	ddb.Query // for the partition
	andon.EntryRef
}

// Item returns the key of the item.
func (m Mark) Item() ddb.Item { return m.Key.Item(m.Partition, StateDate(m.State, m.Time)) }

// The attributes of a document.
const (
	AttrDue         = "Due"
	AttrData        = "Data"
	AttrIncarnation = "Life"
	AttrDueIn       = "DueIn"
	AttrDueAt       = "DueAt"
)

// ReadDocument reads the item of a record.
func ReadDocument(i ddb.Item) shared.Document {
	return shared.Document{
		Version: i.Int(AttrVersion), Due: i.Time(AttrDue), Data: i.Text(AttrData),
		Incarnations: int(i.Int(AttrIncarnation)),
	}
}

// DocumentsKey returns the partition of the documents of a kind, by the key of their tenant.
func DocumentsKey(tenant string, kind andon.RecordKind) string {
	return Join("record#"+tenant, string(kind))
}

// DocumentKey returns the key of a document.
func DocumentKey(tenant string, r *andon.Record) ddb.Item {
	return RecordKeys().Item(DocumentsKey(tenant, r.Kind), r.ID)
}

// DueRow is a row of the index as it sorts, followed by the partition of its record.
type DueRow string

// Key returns the key of the record.
func (d DueRow) Key() ddb.Item {
	at, partition, _ := strings.Cut(string(d), "\x00")
	_, id, _ := strings.Cut(at, "\t")
	return RecordKeys().Item(partition, id)
}
