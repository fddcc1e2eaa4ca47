package items

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// Message is one that a device sent, an item of its own. A hash of its content distinguishes it
// from others of its time: so one that is sent again is the same item, and messages are written in
// batches without reading before. Those of one time are joined at read, in the order of their
// deliveries.
type Message struct {
	andon.Reading
	Delivery  int64
	Partition string // that it is in
	Partial   bool   // it was read from an index that may lack its metadata
}

// Attributes of a message.
const (
	attrMetrics  = "metrics"
	AttrMetadata = "metadata"
)

// ReadingKeys are the keys of Readings.
func ReadingKeys() ddb.Keys { return ddb.Keys{Hash: AttrReadingOf, Sort: AttrTimestamp} }

// Micros returns its time.
func (m *Message) Micros() int64 { return int64(m.Time) }

// Place returns what its key in MetricGSI begins with.
func (m *Message) Place() string {
	return TimeText(m.Time) + "#" + Escape(string(m.Device)) + "#"
}

// Item returns what is stored of a message in one of n shards.
func (m *Message) Item(d *Device, n int, expires Expiry, x *ReadingIndexes) ddb.Item {
	at := TimeText(m.Time)
	i := ReadingKeys().Item(ShardKey(d.Rows(), ShardOf(at, n)),
		at+"#"+strconv.FormatUint(shared.MessageHash(&m.Reading), 36))
	i.SetMetrics(attrMetrics, m.Metrics)
	i[attrDelivery] = ddb.Number(m.Delivery)
	i.SetText(AttrMetadata, string(m.Metadata))
	if m.Metadata == "" && x.LatestIndex == ProjectsMetrics {
		i[attrWhole] = ddb.Number(1)
	}
	x.setMetric(i, d.Tenant, m)
	expires.Set(i, m.Time)
	return i
}

// ReadMessage reads a message, from the table or an index.
func ReadMessage(i ddb.Item) (m Message, ok bool, err error) {
	at, _, _ := strings.Cut(i.Text(AttrTimestamp), "#")
	if m.Time, err = ParseTime(at); err != nil {
		return m, false, err
	}
	m.Partition = i.Text(AttrReadingOf)
	_, m.Device = SplitDevice(m.Partition)
	m.Delivery, m.Metadata = i.Int(attrDelivery), andon.JSON(i.Text(AttrMetadata))
	m.Partial = m.Metadata == "" && i.Int(attrWhole) == 0
	m.Metrics, err = i.Metrics(attrMetrics)
	return m, true, err
}

// UnitsOfMessages returns what the items of messages cost.
func UnitsOfMessages(all []Message) (units int64) {
	const keys, metric = 150, 30
	for i := range all {
		units += UnitsOf(keys + metric*len(all[i].Metrics) + len(all[i].Metadata))
	}
	return units
}

// Joined joins the messages of one time.
func Joined(found []Message) andon.Reading {
	slices.SortFunc(found, func(a, b Message) int { return cmp.Compare(a.Delivery, b.Delivery) })
	r := found[0].Reading
	for i := range found[1:] {
		shared.JoinReading(&r, &found[i+1].Reading)
	}
	return r
}
