package items

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Keep notes that the device has entries of a state, and returns a copy of it.
func (d *Device) Keep(state andon.State) andon.State {
	if i := slices.Index(d.States, state); i >= 0 {
		return d.States[i]
	}
	state = andon.State(strings.Clone(string(state)))
	d.States = append(d.States, state)
	return state
}

// Pending is a change that may not be in the log yet. What the device shows since, and the version,
// are those of its item.
type Pending struct {
	From   uint64           `json:"from"`
	Kind   andon.ChangeKind `json:"kind"`
	Entry  andon.EntryRef   `json:"entry,omitzero"`
	Before *andon.Device    `json:"before,omitempty"`
}

// attrPending holds a Pending, as JSON.
const attrPending = "Change"

// Shown returns what a device shows; nil: nothing.
func (d *Device) Shown() *andon.Device {
	if !d.Alive() {
		return nil
	}
	is := d.Show(d.Tenant.Record.States)
	return &is
}

// Device is the item of a device: what is needed to fold its next entry and to find its rows. The
// zero value is a device of which nothing is stored.
type Device struct {
	folded
	Tenant  *tenant        // that it is of, as it is read or written
	Version int64          // 0: there is no item, or a damaged one
	Pending *Pending       // the change that its put made, if that may not be in the log
	Cause   andon.EntryRef // the entry that made the change under way
}

// folded is what the attribute Shown holds, as JSON.
type folded struct {
	current.Device
	also
}

// also is what the item has in addition to current.Device.
type also struct {
	// States are those that the device has entries of, and so the ranges of its partitions.
	States []andon.State `json:"states,omitempty"`
	// Generation is that of the severities by which the device was folded.
	Generation int32 `json:"generation,omitempty"`
	// Shards is the largest number of partitions that any writer used; 0 is 1.
	Shards int `json:"shards,omitempty"`
	// Incarnation is of the last purge of the device, and only rises. It is in the keys of its
	// rows, so nothing that was written before is found again, not even what another writer writes
	// at that moment.
	Incarnation int64 `json:"life,omitempty"`
	// Former are the incarnations that were purged, and may still have rows.
	Former []Former `json:"former,omitempty"`
	// Withdrawn and EverEscalated span the times of the entries that ever were withdrawn or
	// escalated. Outside them no one has to look for such records.
	Withdrawn     Reach `json:"withdrawn,omitzero"`
	EverEscalated Reach `json:"escalated,omitzero"`
	// Rewritten spans the times of the entries that were perhaps written more than once. Outside it
	// an index can't have an entry as it was before.
	Rewritten Reach `json:"rewritten,omitzero"`
	// EscalatedLast is the greatest time of an escalation record of any entry.
	EscalatedLast andon.Time `json:"escalatedLast,omitempty"`
	// Metrics are those of which a row says that the device may have them. It names the first ones,
	// up to mostMetricBytes.
	Metrics []andon.MetricName `json:"metrics,omitempty"`
}

// Former is an incarnation of a device, with what finds its rows.
type Former struct {
	Incarnation int64 `json:"life,omitempty"`
	Shards      int   `json:"shards,omitempty"`
}

// Purge begins the next incarnation of the device, of which nothing is known.
func (d *Device) Purge(next int64) {
	was := *d
	*d = Device{}
	d.Tenant, d.ID, d.Incarnation = was.Tenant, was.ID, next
	d.Former = append(slices.Clip(was.Former), Former{was.Incarnation, was.Shards})
}

// Purged reports whether nothing is known of the device since it was purged.
func (d *Device) Purged() bool {
	return d.Incarnation != 0 && !d.Known() && len(d.States) == 0
}

// mostMetricBytes bounds what the names of metrics take in the item of a device, since each put
// writes the whole item. Rows of further metrics are cached by each process, and written again by
// one that has not cached them.
const mostMetricBytes = 512

// Reach is the first and the last time of some entries; the zero value means none.
type Reach struct{ From, To andon.Time }

// Add takes in the time of an entry.
func (r *Reach) Add(at andon.Time) {
	if r.To == 0 {
		r.From = at
	}
	r.From, r.To = min(r.From, at), max(r.To, at)
}

// Covers reports whether an entry of a time may be among them.
func (r Reach) Covers(at andon.Time) bool { return r.To != 0 && r.From <= at && at <= r.To }

// The attributes of a device.
const (
	AttrShown   = "Shown"
	AttrVersion = "Version"
	AttrList    = "List"
	AttrID      = "ID"
	AttrSince   = "Since"
	AttrAnswers = "AnswersTo"
)

// Partitions returns how many partitions its entries and messages may be in, each.
func (d *Device) Partitions() int { return max(d.Shards, 1) }

// Clone returns a copy that may be changed. The elements of slices are never changed in place.
func (d *Device) Clone() *Device {
	c := *d
	c.Cause = andon.EntryRef{}
	c.States, c.Metrics = slices.Clip(c.States), slices.Clip(c.Metrics)
	return &c
}

// Measures notes that the rows of the metrics of some messages are written.
func (d *Device) Measures(all []Message) {
	bytes := 0
	for _, name := range d.Metrics {
		bytes += len(name)
	}
	for i := range all {
		for _, m := range all[i].Metrics {
			if bytes+len(m.Name) > mostMetricBytes || slices.Contains(d.Metrics, m.Name) {
				continue
			}
			bytes += len(m.Name)
			d.Metrics = append(d.Metrics, andon.MetricName(strings.Clone(string(m.Name))))
		}
	}
}

// Rows returns <d>, with which the partitions of the device begin.
func (d *Device) Rows() string {
	key := DeviceKey(d.Tenant.Key, d.ID)
	if d.Incarnation == 0 {
		return key
	}
	return key + "#life" + strconv.FormatInt(d.Incarnation, 36)
}

// Formerly returns the device as it was in its former incarnations, as far as rows go by that.
func (d *Device) Formerly() (all []*Device) {
	for _, f := range d.Former {
		was := &Device{Tenant: d.Tenant}
		was.ID, was.Incarnation, was.Shards = d.ID, f.Incarnation, f.Shards
		all = append(all, was)
	}
	return all
}

// Parts returns the partitions of its entries, and those of its messages.
func (d *Device) Parts() []string {
	all := make([]string, d.Partitions())
	for shard := range all {
		all[shard] = ShardKey(d.Rows(), shard)
	}
	return all
}

// Owns reports whether a partition of the log or of the readings is of the present incarnation.
func (d *Device) Owns(partition string) bool {
	part, is := strings.CutPrefix(partition, d.Rows())
	return is && (part == "" || part == "#"+PartEscalated || strings.HasPrefix(part, shardMark))
}

// Escalates notes a record of an entry of a time.
func (d *Device) Escalates(entry, at andon.Time) {
	d.EverEscalated.Add(entry)
	d.EscalatedLast = max(d.EscalatedLast, at)
}

// DevicesKey returns the key of the item of a device.
func DevicesKey(tenant string, id andon.DeviceID) ddb.Item {
	return ddb.Item{AttrDevice: ddb.Text(DeviceKey(tenant, id))}
}

// DecodeDevice reads an item; nil is a device of which nothing is stored. Of one that is damaged it
// returns the device as its key has it, with all partitions that a device may have.
func DecodeDevice(t *tenant, id andon.DeviceID, i ddb.Item) (*Device, error) {
	d := &Device{Version: i.Int(AttrVersion)}
	var err error
	if i != nil {
		err = json.Unmarshal([]byte(i.Text(AttrShown)), &d.folded)
	}
	if text := i.Text(attrPending); err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &d.Pending)
	}
	if err != nil {
		d = &Device{folded: folded{also: also{Shards: MostShards}}}
		err = andon.Errorf(andon.Damaged, "the item of device %q is damaged: %w", id, err)
	}
	d.Tenant, d.ID = t, id
	return d, err
}

// Item returns what is put, with the keys of the lists that the device is in.
func (d *Device) Item(version int64) (ddb.Item, error) {
	is, err := json.Marshal(d.folded)
	if err != nil {
		return nil, err
	}
	t := d.Tenant
	i := DevicesKey(t.Key, d.ID)
	i[AttrShown], i[AttrVersion] = ddb.Text(string(is)), ddb.Number(version)
	i[AttrID] = ddb.Text(string(d.ID))
	if d.Pending != nil {
		text, err := json.Marshal(d.Pending)
		if err != nil {
			return nil, err
		}
		i[attrPending] = ddb.Text(string(text))
	}
	switch {
	case d.Alive():
		i[AttrSince] = ddb.Number(d.Since)
	case d.Retired != 0:
		i[AttrList] = ddb.Text(Join(t.Key, ListRetired, BucketOf(string(d.ID))))
	default:
		i[AttrList] = ddb.Text(Join(t.Key, ListSilent, BucketOf(string(d.ID))))
	}
	for _, x := range d.Listed() {
		i[listAttributes[x.Of]] = ddb.Text(indexKey(t, x.Of, x.Name, string(d.ID)))
	}
	return i, nil
}

// listAttributes are the keys of the indexes of Devices.
var listAttributes = map[string]string{
	OfState: AttrList, OfOperator: AttrAnswers, OfSupervisor: AttrEscalated,
}

// Shows reports whether the device shows the entry of an escalation.
func (d *Device) Shows(r andon.Escalation) bool {
	shown := d.Show(d.Tenant.Record.States)
	return d.Alive() && shown.Shows(andon.EntryRef{Time: r.Time, State: r.State})
}

// ListQueries returns the queries for lists of devices that show nothing, one for each bucket.
func ListQueries(t *tenant, lists ...string) (all []ddb.Query) {
	for _, list := range lists {
		for n := range Buckets {
			all = append(all, ddb.Query{
				Table: TableDevices, Index: IndexList, Order: andon.Asc,
				Key:       ddb.Keys{Hash: AttrList, Sort: AttrID},
				Partition: Join(t.Key, list, strconv.Itoa(n)),
			})
		}
	}
	return all
}

// DevicesOf returns the queries for the devices of a state, an operator or a supervisor.
func DevicesOf(t *tenant, of, name string) []ddb.Query {
	index := map[string]string{
		OfState: IndexList, OfOperator: IndexAnswers, OfSupervisor: IndexEscalated,
	}[of]
	return IndexQueries(t, of, name, ddb.Query{
		Table: TableDevices, Index: index, Order: andon.Asc,
		Key: ddb.Keys{Hash: listAttributes[of], Sort: AttrID},
	})
}
