package peer

import (
	"encoding/json"
	"net/http"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// keepReadings keeps each reading, as JSON, under one key; the peer "keys" keeps the newest of each
// device, too, which is the one that came last:
//
//	r device newest   a reading
//	q device          the newest
func (s *server) keepReadings(body string) error {
	sent, err := jsonfeed.Readings(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	var key, text []byte
	for i := range sent.Items {
		r := &sent.Items[i].Value
		text = bench.AppendReading(text[:0], r)
		key = appendNewest(appendPart(append(key[:0], 'r'), string(r.Device)), r.Time)
		err := b.Set(key, text, nil)
		if err == nil && s.keys != nil {
			err = b.Set(append(append(key[:0], 'q'), r.Device...), text, nil)
		}
		if err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// latest answers with the newest reading of each device that it is asked about.
func (k *keys) latest(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Devices []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		answer(w, nil, err)
		return
	}
	var err error
	text := []byte(`{"items":[`)
	for i, device := range asked.Devices {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = k.read(text, append([]byte{'q'}, device...)); err != nil {
			break
		}
	}
	answer(w, append(text, "]}\n"...), err)
}
