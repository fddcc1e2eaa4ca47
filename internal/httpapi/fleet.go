package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// fleetJSON is what all devices of a tenant show, as briefly as a picture of the fleet needs it.
type fleetJSON struct {
	Position andon.Position   `json:"position" doc:"where the stream goes on"`
	States   []andon.StateDef `json:"states" doc:"those of the set by severity, others after them"`
	Devices  [][]any          `json:"devices" doc:"device, index into states, since in seconds"`
	Silent   []int            `json:"silent" doc:"the silent ones, as indices into devices"`
}

func (a *API) fleetRoute() *route {
	return &route{
		method: http.MethodGet, path: "/fleet", name: "getFleet", tag: "devices",
		summary: "All devices, briefly, and where the stream goes on",
		detail: "`/events/stream` from this `position` on continues it without a gap. A million " +
			"devices are about 40 MB.",
		statuses: []int{http.StatusOK}, errors: []int{429, 501}, serve: a.fleet,
		answer: &content{Kind: reflect.TypeFor[fleetJSON](), Example: fleetJSON{
			Position: andon.Position{Feed: 1 << 60, Sequence: 1042},
			States:   andon.DefaultStates().Defs()[:2],
			Devices:  [][]any{{"press-7", 1, exampleTime.Std().Unix()}}, Silent: []int{},
		}},
	}
}

// fleet is a picture of a fleet while it is taken.
type fleet struct {
	tenant andon.Tenant
	states []andon.StateDef
	index  map[andon.State]int // into states
	rows   []fleetRow
	// changed is what the feed says of devices that changed while the list was read: a row, or nil
	// where nothing is shown any more.
	changed map[andon.DeviceID]*fleetRow
	at      andon.Position
	before  andon.Time // silent are the devices of which nothing arrived since
}

type fleetRow struct {
	id     andon.DeviceID
	since  int64 // seconds
	state  int32 // index into states
	silent bool
}

func (a *API) fleet(c *call) error {
	tenant, err := c.record()
	if err != nil {
		return err
	}
	f := fleet{
		tenant: tenant, states: tenant.States.Defs(), index: map[andon.State]int{},
		changed: map[andon.DeviceID]*fleetRow{},
		before:  andon.SilentBefore(a.options.Now(), tenant.SilentAfter),
	}
	for i, s := range f.states {
		f.index[s.Name] = i
	}
	if err := f.read(c); err != nil {
		return err
	}
	s := c.newBuffer()
	if err := f.write(s); err != nil {
		return err
	}
	s.send()
	return nil
}

// read reads the list part by part, and what changed meanwhile from the feed.
func (f *fleet) read(c *call) error {
	_, at, err := c.store.ChangesKept(c.ctx(), c.tenant)
	if err != nil {
		return err
	}
	const part = 4096
	q := andon.DeviceQuery{Limit: part, Brief: true}
	for more := true; more; {
		found := 0
		for d, err := range c.store.Devices(c.ctx(), c.tenant, q) {
			if err != nil {
				return err
			}
			f.rows = append(f.rows, f.row(&d))
			q.After, found = new(d.Position()), found+1
		}
		more = found == part
	}
	for change, err := range c.store.Changes(c.ctx(), c.tenant, at) {
		switch {
		case err != nil:
			return err
		case change.Kind == andon.OfTenant:
		case change.After == nil:
			f.changed[change.Device] = nil
		default:
			f.changed[change.Device] = new(f.row(change.After))
		}
		at = change.Position
	}
	f.at = at
	return nil
}

func (f *fleet) row(d *andon.Device) fleetRow {
	state, ok := f.index[d.State]
	if !ok {
		state = len(f.states)
		f.states = append(f.states, f.tenant.States.Look(d.State))
		f.index[d.State] = state
	}
	return fleetRow{
		id: d.ID, state: int32(state), since: d.Since.Std().Unix(), silent: d.Received < f.before,
	}
}

// write writes the picture.
func (f *fleet) write(s *buffer) error {
	states, err := json.Marshal(f.states)
	if err != nil {
		return err
	}
	text := append([]byte(`{"position":"`), f.at.String()...)
	text = append(append(text, `","states":`...), states...)
	text = append(text, `,"devices":[`...)
	count := 0
	silent := []byte(`],"silent":[`)
	add := func(r *fleetRow) error {
		if count > 0 {
			text = append(text, ',')
		}
		if r.silent {
			if silent[len(silent)-1] != '[' {
				silent = append(silent, ',')
			}
			silent = strconv.AppendInt(silent, int64(count), 10)
		}
		count++
		text = r.append(text)
		_, err := s.Write(text)
		text = text[:0]
		return err
	}
	for i := range f.rows {
		r := &f.rows[i]
		if _, changed := f.changed[r.id]; changed {
			continue
		}
		if err := add(r); err != nil {
			return err
		}
	}
	for _, r := range f.changed {
		if r == nil {
			continue
		}
		if err := add(r); err != nil {
			return err
		}
	}
	_, err = s.Write(slices.Concat(text, silent, []byte("]}\n")))
	s.c.x.answers = count
	return err
}

// append writes a row as JSON.
func (r *fleetRow) append(b []byte) []byte {
	b = append(b, '[')
	if id := string(r.id); strings.ContainsAny(id, `"\`) {
		quoted, _ := json.Marshal(id) // valid UTF-8 without control characters
		b = append(b, quoted...)
	} else {
		b = append(append(append(b, '"'), id...), '"')
	}
	b = strconv.AppendInt(append(b, ','), int64(r.state), 10)
	b = strconv.AppendInt(append(b, ','), r.since, 10)
	return append(b, ']')
}
