package peer

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/ingest"
)

// keys is the peer with a key for every question:
//
//	e device newest state              the event, as JSON
//	w device newest state              of a warning: the key of the event
//	o operator newest device           the key of the event
//	u supervisor state newest device   the key of the event
//	l device                           the newest event, as JSON
//	s state device                     the same
//
// newest is the time, the latest first. How many devices are in a state is in memory.
type keys struct {
	db *pebble.DB

	mu     sync.Mutex
	shown  map[andon.DeviceID]shown
	counts map[andon.State]int
}

type shown struct {
	time  andon.Time
	state andon.State
}

func newKeys(db *pebble.DB) *keys {
	return &keys{db: db, shown: map[andon.DeviceID]shown{}, counts: map[andon.State]int{}}
}

// appendPart appends a part of a key, which no other part begins with.
func appendPart(b []byte, text string) []byte { return append(append(b, text...), 0) }

func appendNewest(b []byte, t andon.Time) []byte {
	return binary.BigEndian.AppendUint64(b, ^uint64(t))
}

// keep keeps events with all that finds them.
func (k *keys) keep(b *pebble.Batch, events []ingest.Item[andon.Event]) error {
	var err error
	set := func(key, value []byte) {
		if err == nil {
			err = b.Set(key, value, nil)
		}
	}
	for i := range events {
		e := &events[i].Value
		at := appendNewest(nil, e.Time)
		place := slices.Concat([]byte{'e'}, appendPart(nil, string(e.Device)), at, []byte(e.State))
		text := bench.AppendEvent(nil, e)
		set(place, text)
		if strings.HasPrefix(string(e.State), "WARNING") {
			set(append([]byte{'w'}, place[1:]...), place)
		}
		set(slices.Concat([]byte{'o'}, appendPart(nil, string(e.Operator)), at, []byte(e.Device)),
			place)
		if e.EscalatedTo != "" {
			of := appendPart(appendPart([]byte{'u'}, string(e.EscalatedTo)), string(e.State))
			set(slices.Concat(of, at, []byte(e.Device)), place)
		}
		k.show(e, text, set, func(key []byte) {
			if err == nil {
				err = b.Delete(key, nil)
			}
		})
	}
	if err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// show keeps an event as what its device shows, unless it shows a newer one.
func (k *keys) show(e *andon.Event, text []byte, set func(key, value []byte), drop func([]byte)) {
	device := strings.Clone(string(e.Device)) // not the body that it is a part of
	k.mu.Lock()
	former, seen := k.shown[e.Device]
	if seen && former.time > e.Time {
		k.mu.Unlock()
		return
	}
	is := shown{e.Time, andon.State(strings.Clone(string(e.State)))}
	k.shown[andon.DeviceID(device)] = is
	if seen {
		k.counts[former.state]--
	}
	k.counts[is.state]++
	k.mu.Unlock()
	if seen && former.state != e.State {
		drop(append(appendPart([]byte{'s'}, string(former.state)), device...))
	}
	set(append([]byte{'l'}, device...), text)
	set(append(appendPart([]byte{'s'}, string(e.State)), device...), text)
}

func (k *keys) route(mux *http.ServeMux) {
	list := func(path string, prefix func(r *http.Request, state string) []byte, direct bool) {
		mux.HandleFunc("GET /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
			of := prefix(r, r.URL.Query().Get("state"))
			k.list(w, r, of, direct || of[0] == 'e')
		})
	}
	list("/devices/{device}/events", func(r *http.Request, state string) []byte {
		table := byte('e')
		if state != "" {
			table = 'w'
		}
		return appendPart([]byte{table}, r.PathValue("device"))
	}, false)
	list("/operators/{person}/events", func(r *http.Request, _ string) []byte {
		return appendPart([]byte{'o'}, r.PathValue("person"))
	}, false)
	list("/supervisors/{person}/events", func(r *http.Request, state string) []byte {
		return appendPart(appendPart([]byte{'u'}, r.PathValue("person")), state)
	}, false)
	list("/devices", func(_ *http.Request, state string) []byte {
		return appendPart([]byte{'s'}, state)
	}, true)
	list("/devices/{device}/readings", func(r *http.Request, _ string) []byte {
		return appendPart([]byte{'r'}, r.PathValue("device"))
	}, true)
	mux.HandleFunc("POST /api/v1/readings/latest", k.latest)
	mux.HandleFunc("GET /api/v1/devices/{device}", k.device)
	mux.HandleFunc("GET /api/v1/states", k.states)
}

func (k *keys) device(w http.ResponseWriter, r *http.Request) {
	text, err := k.read(nil, append([]byte{'l'}, r.PathValue("device")...))
	answer(w, append(text, '\n'), err)
}

func (k *keys) states(w http.ResponseWriter, _ *http.Request) {
	text, total := []byte(`{"items":[`), 0
	k.mu.Lock()
	for state, n := range k.counts {
		if total++; total > 1 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"state":%q,"count":%d}`, state, n)
	}
	k.mu.Unlock()
	answer(w, fmt.Appendf(text, "],\"total\":%d}\n", total), nil)
}

func (k *keys) read(b, key []byte) ([]byte, error) {
	value, closer, err := k.db.Get(key)
	if err != nil {
		return b, err
	}
	defer func() { _ = closer.Close() }()
	return append(b, value...), nil
}

// list answers with the values behind a prefix, or with what they are the keys of, between two
// times where they are given.
func (k *keys) list(w http.ResponseWriter, r *http.Request, prefix []byte, direct bool) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	bounds := pebble.IterOptions{
		LowerBound: prefix, UpperBound: append(slices.Clone(prefix[:len(prefix)-1]), 1),
	}
	if to, err := andon.ParseTime(query.Get("to")); err == nil {
		bounds.LowerBound = appendNewest(slices.Clone(prefix), to)
	}
	if from, err := andon.ParseTime(query.Get("from")); err == nil {
		bounds.UpperBound = appendNewest(slices.Clone(prefix), from-1)
	}
	found, err := k.db.NewIter(&bounds)
	if err != nil {
		answer(w, nil, err)
		return
	}
	defer found.Close()
	text := []byte(`{"items":[`)
	n := 0
	for more := found.First(); more && n < limit && err == nil; more = found.Next() {
		if n++; n > 1 {
			text = append(text, ',')
		}
		if direct {
			text = append(text, found.Value()...)
		} else {
			text, err = k.read(text, found.Value())
		}
	}
	answer(w, append(text, "]}\n"...), err)
}
