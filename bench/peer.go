package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
	"github.com/andonhq/andon/internal/jsonout"
)

// A peer is a server that does the least that does a part of Andon's work: "key" keeps each event
// under one key, and "keys" keeps a key for every query and answers them. They are yardsticks and
// not for use: they know one tenant, check nothing but the form of an event, and write texts that
// need no escaping. They are plain net/http and plain Pebble, with Andon's own decoder and with
// options of Pebble that suit them, so that what is measured is the difference of design.
type peer struct {
	db   *pebble.DB
	keys *keys // nil: there is one key an event
}

// raw is the name of the target that rawTarget makes.
const raw = "raw Pebble"

func openPebble(dir string) (*pebble.DB, error) {
	const memTable = 64 << 20
	db, err := pebble.Open(dir, &pebble.Options{
		FormatMajorVersion: pebble.FormatValueSeparation,
		MemTableSize:       memTable, CacheSize: 128<<20 + 2*memTable,
		L0CompactionThreshold: 12, L0StopWritesThreshold: 64, BytesPerSync: 1 << 20,
		Logger: quiet{},
	})
	if err != nil {
		return nil, fmt.Errorf("open Pebble in %s: %w", dir, err)
	}
	return db, nil
}

// quiet implements pebble.Logger: it prints only what ends the process.
type quiet struct{ pebble.Logger }

// Infof implements pebble.Logger.
func (quiet) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (quiet) Errorf(string, ...any) {}

// servePeer serves a peer of the kind that its directory is named after, until the context
// ends.
func servePeer(ctx context.Context, dir string) (err error) {
	db, err := openPebble(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, mux := &peer{db: db}, http.NewServeMux()
	mux.HandleFunc("POST /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, p.keepEvents)
	})
	mux.HandleFunc("POST /api/v1/readings", func(w http.ResponseWriter, r *http.Request) {
		take(w, r, p.keepReadings)
	})
	mux.Handle("GET /metrics", metrics(db))
	if filepath.Base(dir) == "keys" {
		p.keys = newKeys(db)
		p.keys.route(mux)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// take reads a body and answers once it is durable.
func take(w http.ResponseWriter, r *http.Request, keep func(body string) error) {
	body := make([]byte, max(r.ContentLength, 0))
	_, err := io.ReadFull(r.Body, body)
	if err == nil {
		err = keep(string(body))
	}
	answer(w, []byte("{}\n"), err)
}

func answer(w http.ResponseWriter, body []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func (p *peer) keepEvents(body string) error {
	sent, err := jsonfeed.Events(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
	if err != nil {
		return err
	}
	b := p.db.NewBatch()
	defer b.Close()
	for i := range sent.Items {
		e := &sent.Items[i].Value
		if p.keys != nil {
			err = p.keys.keep(b, e)
		} else {
			err = keepOne(b, e)
		}
		if err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

func keepOne(b *pebble.Batch, e *andon.Event) error {
	key := append(appendNewest(appendPart(nil, string(e.Device)), e.Time), e.State...)
	value := appendPart(appendPart(nil, string(e.Operator)), e.Message)
	return b.Set(key, append(value, e.Attributes...), nil)
}

// keepReadings keeps each reading as JSON under one key.
func (p *peer) keepReadings(body string) error {
	sent, err := jsonfeed.Readings(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
	if err != nil {
		return err
	}
	b := p.db.NewBatch()
	defer b.Close()
	for i := range sent.Items {
		r := &sent.Items[i].Value
		key := appendNewest(partsOf('r', string(r.Device)), r.Time)
		text, err := jsonout.Append(nil, r)
		if err != nil {
			return err
		}
		if err := b.Set(key, text, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// metrics says what the peer has used, by Andon's names of it.
func metrics(db *pebble.DB) http.Handler {
	bytes := func(name string, of func(bench.Usage) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name}, func() float64 {
			return float64(of(filesOf(db)))
		})
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		bytes("andon_pebble_disk_bytes", func(u bench.Usage) int64 { return u.Kept }),
		bytes("andon_pebble_written_bytes_total", func(u bench.Usage) int64 { return u.Written }))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// filesOf returns how many bytes all files have now, and how many were written. Of a total of
// levels, the flushed bytes include the log.
func filesOf(db *pebble.DB) bench.Usage {
	m := db.Metrics()
	total := m.Total()
	return bench.Usage{
		Kept:    int64(m.DiskSpaceUsage()),
		Written: int64(total.TableBytesFlushed + total.TableBytesCompacted),
	}
}

// rawTarget is Pebble in this process: it gets events without HTTP and JSON, and keeps what the
// peer "key" keeps. Its processor time can't be told apart from that of the measuring.
func rawTarget(db *pebble.DB) bench.Target {
	t := bench.Direct(raw, func(_ context.Context, events []andon.Event) error {
		b := db.NewBatch()
		defer b.Close()
		for i := range events {
			if err := keepOne(b, &events[i]); err != nil {
				return err
			}
		}
		return b.Commit(pebble.Sync)
	})
	t.Usage = func(context.Context, bool) (bench.Usage, error) { return filesOf(db), nil }
	return t
}
