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

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
)

const (
	gatheringKind andon.RecordKind = "gathering"

	heldPrefix = "held-"          // of the IDs of what waits for the end of quiet hours
	heldUp     = 10 * 60 * second // that nobody sent a message

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
	// Devices of Open: hashes by the state that each is counted for, and how severe those are.
	Devices    map[andon.State][]byte `json:"devices,omitempty"`
	Severities map[andon.State]uint8  `json:"severities,omitempty"`
	Leaving    *leaving               `json:"leaving,omitempty"` // is being made into messages
	Known      []byte                 `json:"known,omitempty"`   // hashes of keys, the newest last
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

// believe forgets times that have not come: the clock was ahead, and is set back. The clocks of
// processes may differ a little.
func (g *gathering) believe(now andon.Time) {
	if g.Flood != nil && g.Flood.At > now.Add(stormFor) {
		g.Flood = nil
	}
	g.First, g.Last = min(g.First, now), min(g.Last, now)
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
func (g *gathering) clear() {
	g.Open, g.Devices, g.Severities, g.First, g.Last, g.Until = nil, nil, nil, 0, 0, 0
}

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
	g.count(g.Open.add(n, most))
	return true
}

// count counts a device once, for the severest of its incidents. It has one of each kind, which
// counts for its newest state. More devices than are known here may be counted twice.
func (g *gathering) count(i *Item) {
	if g.Severities == nil {
		g.Devices, g.Open.States = map[andon.State][]byte{}, map[andon.State]int{}
		g.Severities = map[andon.State]uint8{}
	}
	state, device := i.What(), string(i.Device)
	for was, all := range g.Devices {
		other := isKind(was) || isKind(state)
		if other && g.Severities[was] > i.Severity && find(all, device) >= 0 {
			return
		}
	}
	known := g.uncount(device)
	if g.Open.States[state] == 0 && len(g.Open.States) >= maxStates {
		state = "others"
	} else {
		g.Severities[state] = i.Severity
	}
	g.Open.Count++
	g.Open.States[state]++
	if known < maxKnown*keyBytes {
		g.Devices[state] = remember(g.Devices[state], device)
	}
}

// isKind reports whether what an incident is counted for is its kind, and no state.
func isKind(what andon.State) bool {
	return what == andon.State(people.SilentKind) ||
		strings.HasPrefix(string(what), string(people.AbsentKind))
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
		if g.Open != nil && s.tooOld(g) {
			g.clear()
		}
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
		g.believe(s.Now())
		if changed, err := change(&r, &g); err != nil || !changed {
			return err
		}
		g.fit()
		if _, err = s.put(ctx, r, &g); andon.KindOf(err) != andon.Conflict {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// quietUntil returns when the quiet hours of a person end that what is open waits for; 0: it waits
// for none.
func (g *gathering) quietUntil(p *people.Person, now andon.Time) andon.Time {
	if p == nil {
		return 0
	}
	end, quiet := p.QuietUntil(g.Open.severity(), now)
	if !quiet {
		return 0
	}
	return end
}

// tooOld reports whether nobody sent what is open for a day.
func (s *Service) tooOld(g *gathering) bool { return g.Until.Add(triedFor) < s.Clock.Sure() }

// fit keeps as many of the worst incidents as a record holds.
func (g *gathering) fit() {
	for g.Open != nil && len(g.Open.Worst) > maxItems {
		if text, _ := written(g); len(text) <= andon.MaxRecordBytes {
			return
		}
		g.Open.Worst = g.Open.Worst[:max(len(g.Open.Worst)*7/8, maxItems)]
	}
}

// written is a document as JSON, in which "<" takes one byte.
func written(is any) (andon.JSON, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(is)
	return andon.JSON(strings.TrimSpace(text.String())), err
}

func (s *Service) put(
	ctx context.Context, r andon.Record, is any,
) (_ andon.Record, err error) {
	if r.Data, err = written(is); err != nil {
		return r, err
	}
	return s.Store.PutRecord(ctx, r)
}

// flush makes messages of a gathering that is due.
func (s *Service) flush(ctx context.Context, r andon.Record) error {
	at, isHeld := place{r.Tenant, r.ID}, strings.HasPrefix(r.ID, heldPrefix)
	known, err := s.Known(ctx, r.Tenant)
	if err != nil {
		return err
	}
	var out *leaving
	var to andon.PersonID
	err = s.change(ctx, at, func(r *andon.Record, g *gathering) (bool, error) {
		now := s.Now()
		if to, out = g.To, g.Leaving; isHeld && out == nil && g.Open != nil {
			g.Until = max(min(g.Until, now), g.quietUntil(known.People[to], now))
		}
		switch {
		case out != nil: // a process that died has closed it
			return false, nil
		case g.Open == nil || g.Until > now:
			was := r.Due
			r.Due = g.Until
			return r.Due != was, nil
		case s.tooOld(g):
			s.Log.Warn("notifications are dropped: they are older than a day", "to", g.To,
				"devices", g.Open.Count)
			g.clear()
			r.Due = 0
			return true, nil
		}
		id := hash(r.ID, fmt.Sprint(r.Version))
		// What waited longer than usual is told as what was held, if all of it is known.
		late := g.First.Add(2*afterFirst) < now && g.Open.Count <= len(g.Open.Worst)
		if isHeld || late {
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
// meanwhile. Where that is all, it returns what became of it. Those that are less bad than the
// first maxHeld stay as they were noted: they are only counted.
func (s *Service) lookUp(
	ctx context.Context, tenant andon.TenantID, g *gathering,
) (over *Summary, err error) {
	items, err := s.present(ctx, tenant, g.Open.Worst)
	if err != nil {
		return nil, err
	}
	noted := *g.Open
	noted.States = maps.Clone(noted.States)
	for i := range items {
		g.uncount(string(items[i].Device))
	}
	var left []Item
	for i := range items {
		if is := &items[i]; is.needed(&g.Open.Worst[i]) {
			left = append(left, *is)
			g.count(is)
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

// present returns incidents as they are now. People are told of one before it is stored, so one
// that is not there stays as it was noted.
func (s *Service) present(
	ctx context.Context, tenant andon.TenantID, noted []Item,
) ([]Item, error) {
	items := slices.Clone(noted)
	err := parallel.Do(ctx, len(items), gatherers, func(ctx context.Context, i int) error {
		in, err := s.Incident(ctx, tenant, items[i].Incident)
		if err == nil {
			items[i] = itemOf(&in, items[i].Why)
		} else if andon.KindOf(err) != andon.NotFound {
			return fmt.Errorf("read incident %s: %w", items[i].Incident, err)
		}
		return nil
	})
	return items, err
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
