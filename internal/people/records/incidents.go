package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/seq"
)

// Kinds of the records of incidents.
const (
	OpenKind   andon.RecordKind = "incident"
	closedKind andon.RecordKind = "incident_closed"
	ofKind     andon.RecordKind = "incident_of"
	endedKind  andon.RecordKind = "incident_ended"
)

// Incidents keeps the incidents of all tenants.
//
//	kind             id                    data
//	incident         H                     an open incident of H, the hashes of device and kind;
//	                                       due when something is to be done about it
//	incident_closed  N-H                   a closed one; N counts down from the end of time to
//	                                       when what opened it arrived: the newest comes first
//	incident_of      hash of device/N-H    where the closed ones of a device are: when it began,
//	                                       the time of its entry, and when it ended
//	incident_ended   N-H                   that a device was silent, or a metric absent: N counts
//	                                       down to when that incident ended
//
// T-H is the ID of an incident, where T is when what opened it arrived. H makes a second open
// one of a kind on a device impossible: of two writers one has a conflict.
//
// What is open is also in memory, by tenant, while somebody asks for it, and a minute after that:
// read again when it is older than a second, or than ten times what reading it takes. What this
// process changes is there at once.
type Incidents struct {
	store andon.Store
	now   func() andon.Time

	mu   sync.Mutex
	open map[andon.TenantID]*opened

	// Setting returns what decisions about incidents of a tenant depend on. Effects is called once
	// an action with effects is stored. Both are set before the first call, or nil.
	Setting func(context.Context, andon.TenantID) (*people.Setting, error)
	Effects func(context.Context, andon.TenantID, *Held) error
}

// Held is an incident as it was read, with the version of its record.
type Held struct {
	*people.Incident
	Version uint64
}

// NewIncidents makes Incidents on a store.
func NewIncidents(store andon.Store, now func() andon.Time) *Incidents {
	return &Incidents{store: store, now: now, open: map[andon.TenantID]*opened{}}
}

// hashOf returns the first n bytes of a hash in hex.
func hashOf(text string, n int) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:n])
}

// deviceHash returns what the H of all incidents of a device begin with.
func deviceHash(device andon.DeviceID) string { return hashOf(string(device), 10) }

// Place returns the H of the incidents of a kind on a device.
func Place(device andon.DeviceID, kind people.Kind) string {
	return deviceHash(device) + hashOf(string(kind), 4)
}

// IDOf returns the ID of an incident that was first seen to open at a time.
func IDOf(at andon.Time, place string) string { return fmt.Sprintf("%014x-%s", int64(at), place) }

// placeOf returns the H of an ID, in the memory of the ID.
func placeOf(id string) string { return id[strings.IndexByte(id, '-')+1:] }

// split returns the parts of an ID.
func split(id string) (at andon.Time, place string, err error) {
	first, place, ok := strings.Cut(id, "-")
	n, wrong := strconv.ParseInt(first, 16, 64)
	if !ok || wrong != nil || IDOf(andon.Time(n), place) != id {
		return 0, "", noIncident(id)
	}
	return andon.Time(n), place, nil
}

// keyOf returns the id of the record of a closed incident: the newest come first.
func keyOf(at andon.Time, place string) string {
	return fmt.Sprintf("%014x-%s", int64(andon.MaxTime-at), place)
}

func noIncident(id string) error {
	return andon.Errorf(andon.NotFound, "there is no incident %q", id)
}

func decode(r *andon.Record) (*people.Incident, error) {
	in := &people.Incident{}
	return in, r.Decode(in)
}

// EachOpen yields the incidents of a tenant and a kind that are open, as they are stored, and keeps
// none of them in memory. Absent: of all kinds.
func (in *Incidents) EachOpen(
	ctx context.Context, tenant andon.TenantID, kind people.Kind,
) iter.Seq2[*people.Incident, error] {
	has := `"kind":"` + string(kind) // to decode those of other kinds would be most of the work
	return seq.Of(func(yield func(*people.Incident) bool) error {
		o := in.opened(tenant)
		in.mu.Lock()
		scan := o.places.begin()
		in.mu.Unlock()
		q := andon.RecordQuery{Limit: math.MaxInt}
		for r, err := range in.store.Records(ctx, tenant, OpenKind, q) {
			if err != nil {
				return err
			}
			in.mu.Lock()
			o.places.add(r.ID)
			in.mu.Unlock()
			if kind != "" && !strings.Contains(string(r.Data), has) {
				continue // one that is damaged is found by whoever wants all kinds
			}
			is, err := decode(&r)
			if err != nil || is.Ended == 0 && (kind == "" || kind == is.Kind) && !yield(is) {
				return err
			}
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		o.places.end(scan)
		return nil
	})
}

// MayBeOpen reports whether an incident may be open in a place: false where this process, which
// keeps the incidents of the tenant, knows of none.
func (in *Incidents) MayBeOpen(tenant andon.TenantID, place string) bool {
	o := in.opened(tenant)
	in.mu.Lock()
	defer in.mu.Unlock()
	return !o.places.scanned || o.places.holds(place)
}

// Read returns the open incident of a place as it is stored; nil where there is none.
func (in *Incidents) Read(
	ctx context.Context, tenant andon.TenantID, place string,
) (*Held, error) {
	r, err := in.store.Record(ctx, tenant, OpenKind, place)
	if andon.KindOf(err) == andon.NotFound && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	is, err := decode(&r)
	return &Held{is, r.Version}, err
}

// HeldIn returns the open incident of a record; nil where it is to be read again, because it is
// closed or damaged.
func HeldIn(r *andon.Record) *Held {
	is, err := decode(r)
	if err != nil || is.Ended != 0 {
		return nil
	}
	return &Held{is, r.Version}
}

// retryEffects is when effects are done again that are not known to be done.
const retryEffects = andon.Duration(5_000_000)

// retry returns when effects are tried again: later and later, if the newest can't be done.
func retry(doing []people.Effect, now andon.Time) andon.Time {
	const longest = 60 * retryEffects
	newest := andon.Time(0)
	for _, e := range doing {
		newest = max(newest, e.Time)
	}
	return now.Add(min(max(retryEffects, now.Sub(newest)/4), longest))
}

// Put stores an open incident over the version it was read with, and moves it where it is closed
// and its effects are done. It takes the new version.
func (in *Incidents) Put(ctx context.Context, tenant andon.TenantID, h *Held) error {
	place := Place(h.Device, h.Kind)
	r := andon.Record{
		Tenant: tenant, Kind: OpenKind, ID: place, Version: h.Version, Due: h.Due(),
	}
	switch {
	case len(h.Doing) > 0:
		r.Due = andon.Earlier(r.Due, retry(h.Doing, in.now()))
	case h.Ended != 0:
		r.Due = in.now()
	}
	text, err := h.text()
	if err != nil {
		return err
	}
	r.Data = text
	kept, err := in.store.PutRecord(ctx, r)
	if err != nil {
		return err
	}
	o := in.opened(tenant)
	in.mu.Lock()
	if h.Version == 0 {
		o.places.add(place)
	}
	h.Version = kept.Version
	if o.by[place].Version < h.Version {
		o.set(place, h)
	}
	in.mu.Unlock()
	if h.Ended != 0 && len(h.Doing) == 0 {
		return in.Move(ctx, tenant, h)
	}
	return nil
}

// text is the document of an incident. Of one whose log is too long, lines after the first go.
func (h *Held) text() (andon.JSON, error) {
	for {
		text, err := json.Marshal(h.Incident)
		if err != nil || len(text) < andon.MaxRecordBytes*3/4 || len(h.Steps) < 8 {
			return andon.JSON(text), err
		}
		rest := h.Steps[1+len(h.Steps)/4:]
		h.Steps = append(append([]people.Step{}, h.Steps[0]), rest...)
	}
}

// Get returns an incident, open or closed, as Follow has it; NotFound when there is none.
func (in *Incidents) Get(
	ctx context.Context, tenant andon.TenantID, id string,
) (people.Incident, error) {
	h, err := in.find(ctx, tenant, id)
	return in.followed(ctx, tenant, h, err)
}

// followed is an incident that was read without an error, as Follow has it; as it is stored, where
// the log of its device is damaged.
func (in *Incidents) followed(
	ctx context.Context, tenant andon.TenantID, h *Held, err error,
) (people.Incident, error) {
	if err != nil {
		return people.Incident{}, err
	}
	all := []people.Incident{*h.Incident}
	if err = in.Follow(ctx, tenant, all); err != nil && andon.KindOf(err) == andon.Damaged {
		return *h.Incident, nil
	}
	return all[0], err
}

// find reads an incident. The version of a closed one is 0.
func (in *Incidents) find(ctx context.Context, tenant andon.TenantID, id string) (*Held, error) {
	if device, at, is := people.ParseLateID(id); is {
		found, err := in.late(ctx, tenant, device, at)
		return &Held{Incident: found}, err
	}
	at, place, err := split(id)
	if err != nil {
		return nil, err
	}
	h, err := in.Read(ctx, tenant, place)
	if err != nil || h != nil && h.ID == id {
		return h, err
	}
	r, err := in.store.Record(ctx, tenant, closedKind, keyOf(at, place))
	if err != nil {
		if andon.KindOf(err) == andon.NotFound {
			return nil, noIncident(id)
		}
		return nil, err
	}
	is, err := decode(&r)
	return &Held{Incident: is}, err
}

// Newest returns the closed incidents of a device that opened last: of a kind, and of all; nil
// where there is none.
func (in *Incidents) Newest(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, kind people.Kind,
) (of, last *people.Incident, _ error) {
	prefix, place := deviceHash(device)+"/", Place(device, kind)
	q := andon.RecordQuery{Prefix: prefix, Limit: math.MaxInt}
	for at, err := range in.store.Records(ctx, tenant, ofKind, q) {
		if err != nil {
			return nil, nil, err
		}
		key := strings.TrimPrefix(at.ID, prefix)
		is := strings.HasSuffix(key, place)
		if !is && last != nil {
			continue
		}
		r, err := in.store.Record(ctx, tenant, closedKind, key)
		if andon.KindOf(err) == andon.NotFound && err != nil {
			continue
		}
		if err == nil {
			of, err = decode(&r)
		}
		if last == nil {
			last = of
		}
		if is || err != nil {
			return of, last, err
		}
	}
	return nil, last, nil
}

// Knows reports whether an incident has taken in what is true at a place in the feed. The feed may
// have another name since: that of an embedded store has one for each opening.
func (in *Incidents) Knows(
	ctx context.Context, tenant andon.TenantID, is *people.Incident, at andon.Position,
) (bool, error) {
	switch {
	case is.Seen.Sequence == 0, at == (andon.Position{}), at.Compare(is.Seen) > 0:
		return false, nil
	case is.Seen.Feed == at.Feed:
		return true, nil
	}
	for _, err := range in.store.Changes(ctx, tenant, is.Seen) {
		if andon.KindOf(err) == andon.Gone && err != nil {
			return false, nil // it is no place of this feed, or one before all that is read
		}
		return err == nil, err
	}
	return true, nil
}

// Postpone has an open incident that can't be dealt with looked at again later, so that it keeps
// nobody from the others.
func (in *Incidents) Postpone(ctx context.Context, r andon.Record) {
	r.Due = in.now().Add(retryEffects)
	_, _ = in.store.PutRecord(ctx, r) // or it is looked at again at once
}

// Decide has a decision made about the open incident of a place, and stores what follows: again
// where another writer was faster. decide gets a copy, or one without an Incident where there is
// none, and reports whether it changed it. The result is nil where there is none.
func (in *Incidents) Decide(
	ctx context.Context, tenant andon.TenantID, place string, decide func(*Held) (bool, error),
) (*Held, error) {
	return in.DecideFrom(ctx, tenant, place, nil, decide)
}

// DecideFrom is Decide that reads nothing at first, because the caller knows what is stored. decide
// may change what is known. Where it changes nothing, nobody checks that it was stored.
func (in *Incidents) DecideFrom(
	ctx context.Context, tenant andon.TenantID, place string, known *Held,
	decide func(*Held) (bool, error),
) (*Held, error) {
	for h := known; ; h = nil {
		if h == nil {
			var err error
			if h, err = in.Read(ctx, tenant, place); err != nil {
				return nil, err
			}
		}
		if h == nil {
			h = &Held{}
		}
		changed, err := decide(h)
		if err == nil && h.Incident != nil {
			err = h.Unread
		}
		if err != nil || h.Incident == nil {
			return nil, err
		}
		if changed {
			err = in.Put(ctx, tenant, h)
		}
		if err == nil || andon.KindOf(err) != andon.Conflict {
			return h, err
		}
	}
}

// Act has people.Act decide on an action, and stores what follows. It returns the incident as Get
// does afterwards. Conflict, with who was first, when somebody else was.
func (in *Incidents) Act(
	ctx context.Context, tenant andon.TenantID, id string, a people.Action,
) (people.Incident, error) {
	h, err := in.act(andon.Urgent(ctx), tenant, id, &a)
	return in.followed(ctx, tenant, h, err)
}

func (in *Incidents) act(
	ctx context.Context, tenant andon.TenantID, id string, a *people.Action,
) (*Held, error) {
	s := &people.Setting{Known: &people.Known{}}
	if in.Setting != nil {
		var err error
		if s, err = in.Setting(ctx, tenant); err != nil {
			return nil, err
		}
	}
	s.Now = in.now()
	found, err := in.find(ctx, tenant, id)
	if err == nil && found.Version == 0 {
		found, err = in.standing(ctx, tenant, found)
	}
	if err != nil {
		return nil, err
	}
	if id = found.ID; found.Version == 0 {
		_, err := found.Act(s, a)
		return found, err
	}
	moved := false // to those that are closed
	h, err := in.Decide(ctx, tenant, Place(found.Device, found.Kind), func(h *Held) (bool, error) {
		if moved = h.Incident == nil || h.ID != id; moved {
			return false, nil
		}
		var err error
		if a.Undone, err = in.undone(ctx, tenant, h, a); err != nil {
			return false, err
		}
		advanced := h.Advance(s)
		changed, err := h.Act(s, a)
		return changed || advanced && err == nil, err
	})
	if err == nil && moved {
		return in.act(ctx, tenant, id, a)
	}
	if err == nil && len(h.Doing) > 0 && in.Effects != nil {
		err = in.Effects(ctx, tenant, h)
	}
	return h, err
}

// undone reports whether the device of an incident is not escalated to whom an action escalates it:
// it was withdrawn through the device, or escalated to somebody else.
func (in *Incidents) undone(
	ctx context.Context, tenant andon.TenantID, h *Held, a *people.Action,
) (bool, error) {
	if a.Do != people.EscalateTo || h.Kind != people.StateKind {
		return false, nil
	}
	d, err := in.store.Device(ctx, tenant, h.Device)
	if andon.KindOf(err) == andon.NotFound {
		return false, nil
	}
	return err == nil && d.EscalatedTo != a.To, err
}

// standing returns the open incident that is of the same run as a closed one, by entries that came
// late: what is done about the one is done about the other. Otherwise it is the closed one.
func (in *Incidents) standing(
	ctx context.Context, tenant andon.TenantID, closed *Held,
) (*Held, error) {
	open, err := in.Read(ctx, tenant, Place(closed.Device, closed.Kind))
	if err != nil || open == nil || open.Ended != 0 {
		return closed, err
	}
	now, err := in.followed(ctx, tenant, closed, nil)
	if err != nil || now.Ended != 0 {
		return closed, err
	}
	return open, nil
}
