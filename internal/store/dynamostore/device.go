package dynamostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/shared"
)

// device is the item of a device: what is needed to fold its next entry and to find its rows. The
// zero value is a device of which nothing is stored.
type device struct {
	folded
	version int64          // 0: there is no item
	pending *pending       // the change that its put made, if that may not be in the log
	cause   andon.EntryRef // the entry that made the change under way
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
	// Incarnation is the version at which the device was purged last. It is in the keys of its
	// rows, so nothing that was written before is found again, not even what another writer writes
	// at that moment.
	Incarnation int64 `json:"life,omitempty"`
	// Withdrawn and EverEscalated span the times of the entries that ever were withdrawn or
	// escalated. Outside them no one has to look for such records.
	Withdrawn     reach `json:"withdrawn,omitzero"`
	EverEscalated reach `json:"escalated,omitzero"`
	// Metrics are those of which a row says that the device may have them. It names the first ones,
	// up to mostMetricBytes.
	Metrics []andon.MetricName `json:"metrics,omitempty"`
}

// mostMetricBytes bounds what the names of metrics take in the item of a device, since each put
// writes the whole item. Rows of further metrics are cached by each process, and written again by
// one that has not cached them.
const mostMetricBytes = 512

// reach is the first and the last time of some entries; the zero value means none.
type reach struct{ From, To andon.Time }

func (r *reach) add(at andon.Time) {
	if r.To == 0 {
		r.From = at
	}
	r.From, r.To = min(r.From, at), max(r.To, at)
}

func (r reach) covers(at andon.Time) bool { return r.To != 0 && r.From <= at && at <= r.To }

const (
	attrShown   = "Shown"
	attrVersion = "Version"
	attrList    = "List"
	attrID      = "ID"
	attrSince   = "Since"
	attrAnswers = "AnswersTo"
)

func (d *device) shards() int { return max(d.Shards, 1) }

// clone returns a copy that may be changed. The elements of slices are never changed in place.
func (d *device) clone() *device {
	c := *d
	c.cause = andon.EntryRef{}
	c.States, c.Metrics = slices.Clip(c.States), slices.Clip(c.Metrics)
	return &c
}

// measures notes that the rows of the metrics of some messages are written.
func (d *device) measures(all []message) {
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

// rows returns <d>, with which the partitions of the device begin.
func (d *device) rows(t *tenant) string {
	key := deviceKey(t.Key, d.ID)
	if d.Incarnation == 0 {
		return key
	}
	return key + "#life" + strconv.FormatInt(d.Incarnation, 36)
}

// devicesKey returns the key of the item of a device.
func devicesKey(tenant string, id andon.DeviceID) ddb.Item {
	return ddb.Item{attrDevice: ddb.Text(deviceKey(tenant, id))}
}

// decodeDevice reads an item; nil is a device of which nothing is stored.
func decodeDevice(id andon.DeviceID, i ddb.Item) (*device, error) {
	d := &device{version: i.Int(attrVersion)}
	if i != nil {
		if err := json.Unmarshal([]byte(i.Text(attrShown)), &d.folded); err != nil {
			return nil, andon.Errorf(andon.Damaged, "the item of device %q is damaged: %w", id, err)
		}
	}
	if text := i.Text(attrPending); text != "" {
		if err := json.Unmarshal([]byte(text), &d.pending); err != nil {
			return nil, andon.Errorf(andon.Damaged, "the change of device %q is damaged: %w", id, err)
		}
	}
	d.ID = id
	return d, nil
}

// item returns what is put, with the keys of the lists that the device is in.
func (d *device) item(t *tenant, version int64) (ddb.Item, error) {
	is, err := json.Marshal(d.folded)
	if err != nil {
		return nil, err
	}
	i := devicesKey(t.Key, d.ID)
	i[attrShown], i[attrVersion] = ddb.Text(string(is)), ddb.Number(version)
	i[attrID] = ddb.Text(string(d.ID))
	if d.pending != nil {
		text, err := json.Marshal(d.pending)
		if err != nil {
			return nil, err
		}
		i[attrPending] = ddb.Text(string(text))
	}
	bucket := bucketOf(string(d.ID))
	switch {
	case d.Alive():
		i[attrList] = ddb.Text(join(t.Key, listState, string(d.State), bucket))
		i[attrSince] = ddb.Number(d.Since)
	case d.Retired != 0:
		i[attrList] = ddb.Text(join(t.Key, listRetired, bucket))
	default:
		i[attrList] = ddb.Text(join(t.Key, listSilent, bucket))
	}
	show := d.Show(t.Record.States)
	if d.Alive() && show.Operator != "" {
		i[attrAnswers] = ddb.Text(join(t.Key, string(show.Operator)))
	}
	if d.Alive() && show.EscalatedTo != "" {
		i[attrEscalated] = ddb.Text(join(t.Key, string(show.EscalatedTo)))
	}
	return i, nil
}

// slots are the slots of the devices of one request.
type slots = shared.Taken[device]

// fill reads the devices whose slots are empty.
func (s *Store) fill(ctx context.Context, t *tenant, taken *slots) error {
	var missing []andon.DeviceID
	at := map[andon.DeviceID]int{}
	for i, slot := range taken.Slots {
		if slot.View == nil {
			at[slot.Key.Device] = i
			missing = append(missing, slot.Key.Device)
		}
	}
	found, err := s.readDevices(ctx, t, missing)
	if err != nil {
		return err
	}
	for _, d := range found {
		taken.Slots[at[d.ID]].View = d
	}
	return nil
}

// readDevices reads devices as they are now, each named once, in the order in which they are named.
func (s *Store) readDevices(
	ctx context.Context, t *tenant, ids []andon.DeviceID,
) ([]*device, error) {
	all := make([]*device, len(ids))
	at := map[andon.DeviceID]int{}
	keys := make([]ddb.Item, len(ids))
	for i, id := range ids {
		at[id], keys[i] = i, devicesKey(t.Key, id)
		all[i], _ = decodeDevice(id, nil)
	}
	found, err := s.db.BatchGet(ctx, tableDevices, keys)
	for _, i := range found {
		_, id := splitDevice(i.Text(attrDevice))
		if all[at[id]], err = decodeDevice(ids[at[id]], i); err != nil {
			return nil, err
		}
	}
	return all, err
}

// readDevice reads one device.
func (s *Store) readDevice(ctx context.Context, t *tenant, id andon.DeviceID) (*device, error) {
	all, err := s.readDevices(ctx, t, []andon.DeviceID{id})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// find returns a device as it is now, and its tenant.
func (s *Store) find(
	ctx context.Context, tenant andon.TenantID, id andon.DeviceID,
) (*tenant, *device, error) {
	t, err := s.tenant(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.readDevice(ctx, t, id)
	return t, d, err
}

// listOfDevice yields what walk yields of a device.
func listOfDevice[T any](
	ctx context.Context, s *Store, tenant andon.TenantID, id andon.DeviceID,
	walk func(t *tenant, d *device, yield func(T) bool) error,
) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		t, d, err := s.find(ctx, tenant, id)
		if err != nil {
			return err
		}
		return walk(t, d, yield)
	})
}

// view reads one device as it is now, folded by the current severities.
func (s *Store) view(ctx context.Context, t *tenant, id andon.DeviceID) (*device, error) {
	d, err := s.readDevice(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return d, s.present(ctx, t, d)
}

// present folds a device again that was folded by earlier severities.
func (s *Store) present(ctx context.Context, t *tenant, d *device) error {
	if d.version == 0 || d.Generation >= t.Generation {
		return nil
	}
	return s.history(ctx, t, d).refold()
}

// update applies a change to a device, again until no other writer is faster. change is called with
// the device as it is, and changes it. It returns whether there is anything to put. What the device
// shows differently since is in the feed once update returns nil, as a change of a kind.
func (s *Store) update(
	ctx context.Context, t *tenant, slot *shared.Slot[device], kind andon.ChangeKind,
	change func(t *tenant, d *device) (put bool, err error),
) error {
	for tries := 0; ; tries++ {
		if slot.View == nil {
			d, err := s.readDevice(ctx, t, slot.Key.Device)
			if err != nil {
				return err
			}
			slot.View = d
		}
		if slot.View.Generation > t.Generation {
			return errOldSeverities
		}
		if err := s.appendPending(ctx, t, slot.View); err != nil {
			return err
		}
		is := slot.View.clone()
		if err := s.present(ctx, t, is); err != nil {
			return err
		}
		put, err := change(t, is)
		if err != nil || !put {
			return err
		}
		err = s.notePending(ctx, t, is, slot.View.shown(t), kind)
		if err == nil {
			err = s.putDevice(ctx, t, slot.View.version, is)
		}
		if err == nil {
			slot.View = is
			s.count(t.Key, is)
			return s.appendPending(ctx, t, is)
		}
		slot.View = nil
		if !errors.Is(err, ddb.ErrRaced) {
			return err
		}
		if err := s.db.Pause(ctx, tries, "PutItem", tableDevices); err != nil {
			return err
		}
	}
}

// putDevice puts a device over the version that was read. A new item begins with a version that
// none before it had.
func (s *Store) putDevice(ctx context.Context, t *tenant, was int64, d *device) error {
	d.Generation = t.Generation
	d.version = max(was+1, s.stamp())
	i, err := d.item(t, d.version)
	if err != nil {
		return err
	}
	c := ddb.Absent(attrDevice)
	if was != 0 {
		c = ddb.Unchanged(attrVersion, was)
	}
	err = s.db.Swap(ctx, tableDevices, devicesKey(t.Key, d.ID), i, c)
	if andon.KindOf(err) == andon.Invalid {
		err = fmt.Errorf("device %q, whose item names the %d states that it has had: %w", d.ID,
			len(d.States), err)
	}
	return err
}

// errOldSeverities means that another process uses later severities than this one knows.
var errOldSeverities = errors.New("the severities were changed just now")

// following does something with a tenant's settings, again where those were changed meanwhile.
func (s *Store) following(
	ctx context.Context, id andon.TenantID, do func(*tenant) error,
) error {
	for tries := 0; ; tries++ {
		t, err := s.tenant(ctx, id)
		if err == nil {
			err = do(t)
		}
		if !errors.Is(err, errOldSeverities) {
			return err
		}
		s.Stale(id)
		if err := s.db.Pause(ctx, tries, "follow changed severities in", tableDevices); err != nil {
			return err
		}
	}
}

// withDevice updates one device as it is now.
func (s *Store) withDevice(
	ctx context.Context, t *tenant, id andon.DeviceID, kind andon.ChangeKind,
	change func(t *tenant, d *device) (put bool, err error),
) error {
	taken, err := s.devices.Take(ctx, t.Key, id)
	if err != nil {
		return err
	}
	defer taken.Give()
	return s.following(ctx, t.Record.ID, func(t *tenant) error {
		taken.Forget()
		return s.update(ctx, t, taken.Slots[0], kind, change)
	})
}
