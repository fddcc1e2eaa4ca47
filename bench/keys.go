package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/jsonout"
)

// keys is the part of the peer "keys" that keeps a key for every query:
//
//	e device newest state              the event, as JSON
//	w device newest state              of a warning: the key of the event
//	o operator newest device           the key of the event
//	u supervisor state newest device   the key of the event
//	l device                           the newest event, as JSON
//	s state device                     the same
//	r device newest                    a reading, as JSON
//
// newest is the time, the latest first. How many devices are in a state is in memory.
type keys struct {
	db *pebble.DB

	mu     sync.Mutex
	newest map[string]andon.Event // without texts, by device
	counts map[andon.State]int
}

func newKeys(db *pebble.DB) *keys {
	return &keys{db: db, newest: map[string]andon.Event{}, counts: map[andon.State]int{}}
}

// appendPart appends a part of a key that no other part begins with.
func appendPart(b []byte, text string) []byte { return append(append(b, text...), 0) }

func appendNewest(b []byte, t andon.Time) []byte {
	return binary.BigEndian.AppendUint64(b, ^uint64(t))
}

// partsOf begins a key with a table and its parts.
func partsOf(table byte, parts ...string) []byte {
	b := []byte{table}
	for _, part := range parts {
		b = appendPart(b, part)
	}
	return b
}

func (k *keys) keep(b *pebble.Batch, e *andon.Event) error {
	device := string(e.Device)
	text, err := jsonout.Append(nil, e)
	if err != nil {
		return err
	}
	rest := slices.Concat(appendNewest(appendPart(nil, device), e.Time), []byte(e.State))
	place := append([]byte{'e'}, rest...)
	sets := [][2][]byte{
		{place, text},
		{append(appendNewest(partsOf('o', string(e.Operator)), e.Time), device...), place},
	}
	if strings.HasPrefix(string(e.State), "WARNING") {
		sets = append(sets, [2][]byte{append([]byte{'w'}, rest...), place})
	}
	if e.EscalatedTo != "" {
		of := appendNewest(partsOf('u', string(e.EscalatedTo), string(e.State)), e.Time)
		sets = append(sets, [2][]byte{append(of, device...), place})
	}
	former, newer := k.show(e)
	if newer {
		sets = append(sets, [2][]byte{append([]byte{'l'}, device...), text},
			[2][]byte{append(partsOf('s', string(e.State)), device...), text})
	}
	if newer && former != "" && former != e.State {
		if err := b.Delete(append(partsOf('s', string(former)), device...), nil); err != nil {
			return err
		}
	}
	for _, s := range sets {
		if err := b.Set(s[0], s[1], nil); err != nil {
			return err
		}
	}
	return nil
}

// show counts the device in the state of an event, unless there is a newer one.
func (k *keys) show(e *andon.Event) (former andon.State, newer bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was, seen := k.newest[string(e.Device)]
	if seen && was.Time > e.Time {
		return "", false
	}
	is := andon.Event{Time: e.Time, State: andon.State(strings.Clone(string(e.State)))}
	k.newest[strings.Clone(string(e.Device))] = is
	if seen {
		k.counts[was.State]--
	}
	k.counts[is.State]++
	return was.State, true
}

func (k *keys) route(mux *http.ServeMux) {
	list := func(path string, prefix func(r *http.Request, state string) []byte) {
		mux.HandleFunc("GET /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
			k.list(w, r, prefix(r, r.URL.Query().Get("state")))
		})
	}
	list("/devices/{device}/events", func(r *http.Request, state string) []byte {
		table := byte('e')
		if state != "" {
			table = 'w'
		}
		return partsOf(table, r.PathValue("device"))
	})
	list("/operators/{person}/events", func(r *http.Request, _ string) []byte {
		return partsOf('o', r.PathValue("person"))
	})
	list("/supervisors/{person}/events", func(r *http.Request, state string) []byte {
		return partsOf('u', r.PathValue("person"), state)
	})
	list("/devices/{device}/readings", func(r *http.Request, _ string) []byte {
		return partsOf('r', r.PathValue("device"))
	})
	mux.HandleFunc("POST /api/v1/readings/latest", k.latest)
	list("/devices", func(_ *http.Request, state string) []byte { return partsOf('s', state) })
	mux.HandleFunc("GET /api/v1/devices/{device}", func(w http.ResponseWriter, r *http.Request) {
		text, err := k.read(nil, append([]byte{'l'}, r.PathValue("device")...))
		answer(w, append(text, '\n'), err)
	})
	mux.HandleFunc("GET /api/v1/states", k.states)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, []byte("{}\n"), nil)
	})
}

// latest answers with the newest reading of each of some devices.
func (k *keys) latest(w http.ResponseWriter, r *http.Request) {
	var sent struct{ Devices []string }
	err := json.NewDecoder(r.Body).Decode(&sent)
	found, readErr := k.db.NewIter(nil)
	if err = errors.Join(err, readErr); err != nil {
		answer(w, nil, err)
		return
	}
	defer found.Close()
	text := []byte(`{"items":[`)
	for _, device := range sent.Devices {
		of := partsOf('r', device)
		if !found.SeekGE(of) || !bytes.HasPrefix(found.Key(), of) {
			continue
		}
		if text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = append(text, found.Value()...)
	}
	answer(w, append(text, "]}\n"...), found.Error())
}

func (k *keys) states(w http.ResponseWriter, _ *http.Request) {
	var items []string
	k.mu.Lock()
	for state, n := range k.counts {
		items = append(items, fmt.Sprintf(`{"state":%q,"count":%d}`, state, n))
	}
	k.mu.Unlock()
	answer(w, fmt.Appendf(nil, `{"items":[%s]}`+"\n", strings.Join(items, ",")), nil)
}

func (k *keys) read(b, key []byte) ([]byte, error) {
	value, closer, err := k.db.Get(key)
	if err != nil {
		return b, err
	}
	defer func() { _ = closer.Close() }()
	return append(b, value...), nil
}

// list answers with the values after a prefix, or with what they are the keys of, between two times
// where they are given.
func (k *keys) list(w http.ResponseWriter, r *http.Request, prefix []byte) {
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
	text, n := []byte(`{"items":[`), 0
	for more := found.First(); more && n < limit && err == nil; more = found.Next() {
		if n++; n > 1 {
			text = append(text, ',')
		}
		if strings.IndexByte("wou", prefix[0]) >= 0 {
			text, err = k.read(text, found.Value())
		} else {
			text = append(text, found.Value()...)
		}
	}
	answer(w, append(text, "]}\n"...), err)
}
