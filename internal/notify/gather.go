package notify

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
)

const (
	gatheringKind andon.RecordKind = "gathering"

	heldPrefix = "held-" // of the IDs of what waits for the end of quiet hours

	second     andon.Duration = 1e6
	afterLast                 = 2 * second // a message waits for more so long after each notice
	afterFirst                = 3 * second // and at most so long
	maxKnown                  = 4096       // keys of notices that a gathering knows
	keyBytes                  = 8          // of each a hash is kept
	gatherers                 = 64         // people for whom notices are stored at once

	// A message about more than flood devices is of a flood. What follows, and is no severer, is
	// listed and not sent: for stormFor, and on as long as there is no pause of stormPause, but not
	// longer than afterFlood. What comes after that waits until afterFlood.
	flood      = 10
	stormFor   = 30 * second
	stormPause = 10 * second
	afterFlood = 2 * 60 * second
)

// gathering is the document of a record of gatheringKind.
type gathering struct {
	To    andon.PersonID `json:"to"`
	First andon.Time     `json:"first,omitempty"` // of Open
	Last  andon.Time     `json:"last,omitempty"`  // of Open: when something was added
	Until andon.Time     `json:"until,omitempty"` // when Open becomes messages
	Flood *sentFlood     `json:"flood,omitempty"` // the newest message, if it was of a flood
	Open  *Summary       `json:"open,omitempty"`
	// Devices of Open: hashes by the state that each is counted for.
	Devices map[andon.State][]byte `json:"devices,omitempty"`
	Leaving *leaving               `json:"leaving,omitempty"` // is being made into messages
	Known   []byte                 `json:"known,omitempty"`   // hashes of keys, the newest last
}

// leaving is what becomes messages. Their IDs follow from ID.
type leaving struct {
	ID      string     `json:"id"`
	At      andon.Time `json:"at"`
	Summary Summary    `json:"summary"`
	Listed  bool       `json:"listed,omitempty"` // and not sent
	Over    bool       `json:"over,omitempty"`   // nothing of it needs attention: listed, too
}

// sentFlood is a message about many devices.
type sentFlood struct {
	At       andon.Time `json:"at"`
	Until    andon.Time `json:"until"`    // the end of what belongs to it
	Severity uint8      `json:"severity"` // of the worst that was told
}

// goesOn takes note that more comes at a time. Where the storm lasts longer than what can belong to
// a message, what comes then waits as long again.
func (f *sentFlood) goesOn(now andon.Time) {
	end := f.At.Add(afterFlood)
	switch {
	case now <= f.Until:
		f.Until = min(max(f.Until, now.Add(stormPause)), end)
	case f.Until == end && now <= end.Add(stormPause):
		f.At = end
	}
}

// covers reports whether what is open needs no message: it belongs to the flood that was told last,
// whose message says where the rest is listed.
func (g *gathering) covers() bool {
	return g.Flood != nil && g.Last <= g.Flood.Until && g.Open.severity() <= g.Flood.Severity
}

// due returns when what is open becomes messages.
func (g *gathering) due() andon.Time {
	soon := min(g.Last.Add(afterLast), g.First.Add(afterFirst))
	switch {
	case g.Flood == nil || g.Open.severity() > g.Flood.Severity:
		return soon
	case g.covers():
		return g.Flood.Until
	}
	return max(soon, g.Flood.At.Add(afterFlood))
}

// close makes of what is open what becomes messages.
func (g *gathering) close(id string, now andon.Time) *leaving {
	out := &leaving{ID: id, At: now, Summary: *g.Open, Listed: g.covers()}
	out.Summary.shorten(maxItems)
	severity, within := out.Summary.severity(), g.Flood != nil && g.Last <= g.Flood.Until
	switch {
	case out.Listed:
	case out.Summary.Count > flood:
		g.Flood = &sentFlood{At: now, Until: now.Add(stormFor), Severity: severity}
	case within: // what is severer is told, and the flood goes on
		g.Flood.Severity = severity
	default:
		g.Flood = nil
	}
	g.Leaving = out
	g.clear()
	return out
}

// clear has nothing open.
func (g *gathering) clear() { g.Open, g.Devices, g.First, g.Last, g.Until = nil, nil, 0, 0, 0 }

// hash is short enough for a part of an ID, and long enough to be unique.
func hash(parts ...string) string {
	all, _ := json.Marshal(parts) // texts can always be written
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:12])
}

// add adds a notice, unless its key is known. Of most incidents it is known which they are.
func (g *gathering) add(n *Notice, most int) bool {
	if find(g.Known, n.Key) >= 0 {
		return false
	}
	g.Known = remember(g.Known, n.Key)
	if g.Open == nil {
		g.Open = &Summary{}
	}
	g.count(g.Open.add(n, most), string(n.Incident.Device))
	return true
}

// count counts a device once, for its newest state. More devices than are known here may be counted
// twice.
func (g *gathering) count(state andon.State, device string) {
	if g.Devices == nil {
		g.Devices, g.Open.States = map[andon.State][]byte{}, map[andon.State]int{}
	}
	known := g.uncount(device)
	if g.Open.States[state] == 0 && len(g.Open.States) >= maxStates {
		state = "others"
	}
	g.Open.Count++
	g.Open.States[state]++
	if known < maxKnown*keyBytes {
		g.Devices[state] = remember(g.Devices[state], device)
	}
}

// uncount has a device not counted, and returns how many bytes are kept of others.
func (g *gathering) uncount(device string) (known int) {
	for was, all := range g.Devices {
		if at := find(all, device); at >= 0 {
			g.Devices[was] = slices.Delete(all, at, at+keyBytes)
			g.Open.Count--
			if g.Open.States[was]--; g.Open.States[was] == 0 {
				delete(g.Open.States, was)
			}
		}
		known += len(g.Devices[was])
	}
	return known
}

// find returns where the hash of a text is; -1: nowhere.
func find(all []byte, text string) int {
	sum := sha256.Sum256([]byte(text))
	key := binary.LittleEndian.Uint64(sum[:])
	for i := 0; i < len(all); i += keyBytes {
		if binary.LittleEndian.Uint64(all[i:]) == key {
			return i
		}
	}
	return -1
}

// remember adds the hash of a text, and forgets the oldest one where there are many.
func remember(all []byte, text string) []byte {
	sum := sha256.Sum256([]byte(text))
	all = append(all, sum[:keyBytes]...)
	return all[max(len(all)-maxKnown*keyBytes, 0):]
}

// keep stores notices in their gathering.
func (s *Service) keep(ctx context.Context, at place, b *batch) error {
	most := maxItems
	if b.due != 0 {
		most = maxHeld
	}
	return s.change(ctx, at, func(r *andon.Record, g *gathering) (bool, error) {
		g.To = b.to
		isFirst, isNew := g.Open == nil, false
		for i := range b.notices {
			isNew = g.add(&b.notices[i], most) || isNew
		}
		if !isNew {
			return false, nil
		}
		now := s.Now()
		if isFirst {
			g.First = now
		}
		if g.Flood != nil {
			g.Flood.goesOn(now)
		}
		if g.Last, g.Until = now, b.due; b.due == 0 {
			g.Until = g.due()
		}
		if r.Due == 0 || g.Leaving == nil {
			r.Due = g.Until
		}
		return true, nil
	})
}

// change changes a gathering by compare-and-swap, until it succeeds or there is nothing to change.
func (s *Service) change(
	ctx context.Context, at place, change func(*andon.Record, *gathering) (bool, error),
) error {
	for {
		r, err := s.Store.Record(ctx, at.tenant, gatheringKind, at.id)
		if andon.KindOf(err) == andon.NotFound {
			r, err = andon.Record{Tenant: at.tenant, Kind: gatheringKind, ID: at.id}, nil
		}
		var g gathering
		if err == nil && r.Version != 0 {
			err = json.Unmarshal([]byte(r.Data), &g)
		}
		if err != nil {
			return fmt.Errorf("read gathering: %w", err)
		}
		if changed, err := change(&r, &g); err != nil || !changed {
			return err
		}
		if _, err = s.put(ctx, r, &g); andon.KindOf(err) != andon.Conflict {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (s *Service) put(ctx context.Context, r andon.Record, is any) (andon.Record, error) {
	data, err := json.Marshal(is)
	if err != nil {
		return r, err
	}
	r.Data = andon.JSON(data)
	return s.Store.PutRecord(ctx, r)
}

// flush makes messages of a gathering that is due.
func (s *Service) flush(ctx context.Context, r andon.Record) error {
	at := place{r.Tenant, r.ID}
	var out *leaving
	var to andon.PersonID
	err := s.change(ctx, at, func(r *andon.Record, g *gathering) (bool, error) {
		now := s.Now()
		to, out = g.To, g.Leaving
		switch {
		case out != nil: // a process that died has closed it
			return false, nil
		case g.Open == nil || g.Until > now:
			was := r.Due
			r.Due = g.Until
			return r.Due != was, nil
		case g.Until.Add(triedFor) < now: // nobody sent anything for a day
			s.Log.Warn("notifications are dropped: they are older than a day", "to", g.To,
				"devices", g.Open.Count)
			g.clear()
			r.Due = 0
			return true, nil
		}
		id := hash(r.ID, fmt.Sprint(r.Version))
		if strings.HasPrefix(r.ID, heldPrefix) {
			over, err := s.lookUp(ctx, r.Tenant, g)
			if err != nil {
				return false, err
			}
			if over != nil {
				g.Leaving = &leaving{ID: id, At: now, Summary: *over, Over: true}
				g.clear()
			}
		}
		if out = g.Leaving; out == nil {
			out = g.close(id, now)
		}
		r.Due = now // as long as it is not cleared
		return true, nil
	})
	if err != nil || out == nil {
		return err
	}
	if err := s.makeMessages(ctx, r.Tenant, to, out); err != nil {
		return err
	}
	return s.change(ctx, at, func(r *andon.Record, g *gathering) (bool, error) {
		if g.Leaving == nil || g.Leaving.ID != out.ID {
			return false, nil
		}
		g.Leaving, r.Due = nil, g.Until
		return true, nil
	})
}

// lookUp makes of what was held what is so now, without what has ended or was acknowledged
// meanwhile. Where that is all, it returns what became of it. People are told of an incident before
// it is stored, so one that is not there stays as it was noted. So do those that are less bad than
// the first maxHeld: they are only counted.
func (s *Service) lookUp(
	ctx context.Context, tenant andon.TenantID, g *gathering,
) (over *Summary, err error) {
	items := slices.Clone(g.Open.Worst)
	err = parallel.Do(ctx, len(items), gatherers, func(ctx context.Context, i int) error {
		in, err := s.Incident(ctx, tenant, items[i].Incident)
		if err == nil {
			items[i] = itemOf(&in, items[i].Why)
		} else if andon.KindOf(err) != andon.NotFound {
			return fmt.Errorf("look up what was held: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	noted := *g.Open
	noted.States = maps.Clone(noted.States)
	for i := range items {
		g.uncount(string(items[i].Device))
	}
	var left []Item
	for i := len(items) - 1; i >= 0; i-- { // a device counts for its worst incident
		is, was := &items[i], g.Open.Worst[i].Acknowledged
		if is.Ended == 0 && (is.Acknowledged == 0 || is.Acknowledged == was) {
			left = append(left, *is)
			g.count(is.What(), string(is.Device))
		}
	}
	if g.Open.Count == 0 {
		noted.Worst = items
		noted.shorten(maxItems)
		return &noted, nil
	}
	g.Open.Worst = left
	g.Open.shorten(maxHeld)
	return nil, nil
}

// makeMessages makes a message for each contact of a person, unless it is there.
func (s *Service) makeMessages(
	ctx context.Context, tenant andon.TenantID, to andon.PersonID, out *leaving,
) error {
	known, err := s.Known(ctx, tenant)
	if err != nil {
		return err
	}
	p := known.People[to]
	if p == nil {
		p = &people.Person{Name: to}
	}
	contacts := p.Contacts
	if len(contacts) == 0 { // so that the log says why nobody was told
		contacts = []people.Contact{{}}
	}
	for _, c := range contacts {
		m := newMessage(p, c, out)
		_, err := s.put(ctx, m.record(tenant, out.At), m)
		if err != nil && andon.KindOf(err) != andon.Conflict {
			return fmt.Errorf("make message: %w", err)
		}
	}
	return nil
}

// quietUntil reports whether a time is in the quiet hours of a person, and when they end. Hours
// that can't be read are none.
func quietUntil(p *people.Person, at andon.Time) (end andon.Time, quiet bool) {
	zone, err := time.LoadLocation(p.Zone)
	var from, to clock
	if _, bad := fmt.Sscanf(p.Quiet, "%d:%d-%d:%d",
		&from.h, &from.m, &to.h, &to.m); bad != nil || err != nil || from == to {
		return 0, false
	}
	local := at.Std().In(zone)
	for _, day := range []int{-1, 0} { // the hours that began yesterday, and today
		begin, until := from.on(local, day), to.on(local, day)
		if !until.After(begin) {
			until = to.on(local, day+1)
		}
		if !local.Before(begin) && local.Before(until) {
			return andon.TimeOf(until), true
		}
	}
	return 0, false
}

// clock is a time of day.
type clock struct{ h, m int }

func (c clock) on(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, c.h, c.m, 0, 0, t.Location())
}
