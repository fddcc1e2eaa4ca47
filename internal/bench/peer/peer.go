// Package peer has the servers that Andon is measured beside. Each does the least that does a part
// of Andon's work over HTTP: "read" only reads what is sent, "key" keeps each event under one key,
// and "keys" keeps a key for every question and answers it.
//
// They are yardsticks and not for use. They know one tenant, check nothing but the form of an
// event, and write what the fleet of package bench sends, which needs no escaping. They are plain
// net/http and plain Pebble, with Andon's own decoder and the options that its store measured best,
// so that what is measured is the difference of design.
package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// Kinds returns the names of the peers, from the least on.
func Kinds() []string { return []string{"read", "key", "keys"} }

// Able returns what a peer can do.
func Able(kind string) bench.Abilities {
	switch kind {
	case "keys":
		return bench.Answers | bench.TakesReadings | bench.AnswersReadings
	case "read":
		return bench.Echoes | bench.TakesReadings
	}
	return bench.TakesReadings
}

// Open opens raw Pebble in a directory.
func Open(dir string) (*pebble.DB, error) {
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

// quiet is a pebble.Logger that tells only what ends the peer.
type quiet struct{ pebble.Logger }

// Infof is of pebble.Logger.
func (quiet) Infof(string, ...any) {}

// Errorf is of pebble.Logger.
func (quiet) Errorf(string, ...any) {}

// Fatalf is of pebble.Logger.
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

type server struct {
	db   *pebble.DB // nil: nothing is kept
	keys *keys      // nil: there is one key an event
}

// Serve serves a peer until its listener is closed.
func Serve(l net.Listener, kind, dir string) (err error) {
	s := &server{}
	mux := http.NewServeMux()
	if kind == "read" {
		mux.HandleFunc("GET /api/v1/states", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, []byte("{}\n"), nil)
		})
	} else {
		if s.db, err = Open(dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.db.Close()) }()
	}
	mux.HandleFunc("POST /api/v1/events", s.post)
	mux.HandleFunc("POST /api/v1/readings", s.postReadings)
	mux.HandleFunc("GET /metrics", s.metrics)
	if kind == "keys" {
		s.keys = newKeys(s.db)
		s.keys.route(mux)
	}
	if err := http.Serve(l, mux); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// post takes events and answers once they are on the disk.
func (s *server) post(w http.ResponseWriter, r *http.Request) { s.take(w, r, s.keep) }

func (s *server) postReadings(w http.ResponseWriter, r *http.Request) {
	s.take(w, r, s.keepReadings)
}

func (s *server) take(w http.ResponseWriter, r *http.Request, keep func(body string) error) {
	body := make([]byte, max(r.ContentLength, 0))
	_, err := io.ReadFull(r.Body, body)
	if err == nil && s.db != nil {
		err = keep(unsafe.String(unsafe.SliceData(body), len(body)))
	}
	answer(w, []byte("{}\n"), err)
}

func (s *server) keep(body string) error {
	sent, err := jsonfeed.Events(body, jsonfeed.NDJSON, andon.Milliseconds, nil)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	if s.keys != nil {
		return s.keys.keep(b, sent.Items)
	}
	return keepOne(b, func(yield func(*andon.Event) bool) {
		for i := range sent.Items {
			if !yield(&sent.Items[i].Value) {
				return
			}
		}
	})
}

// keepOne keeps each event under one key.
func keepOne(b *pebble.Batch, events iter.Seq[*andon.Event]) error {
	var key, value []byte
	for e := range events {
		key = append(appendNewest(appendPart(key[:0], string(e.Device)), e.Time), e.State...)
		value = appendPart(appendPart(value[:0], string(e.Operator)), e.Message)
		value = append(value, e.Attributes...)
		if err := b.Set(key, value, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// answer sends a body, or what went wrong.
func answer(w http.ResponseWriter, body []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body)
}

// metrics says what the peer has used, by the names that Andon has for it. What a process has used
// is read where Linux has it; elsewhere it is not said.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	const ticks = 100 // of Linux, a second
	stat, _ := os.ReadFile("/proc/self/stat")
	// Behind the name, which may hold anything, are the state and what is counted from there.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) > 21 {
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		pages, _ := strconv.Atoi(fields[21])
		fmt.Fprintf(w, "process_cpu_seconds_total %f\n", float64(user+system)/ticks)
		fmt.Fprintf(w, "process_resident_memory_bytes %d\n", pages*os.Getpagesize())
	}
	if s.db != nil {
		kept, written := filesOf(s.db)
		fmt.Fprintf(w, "andon_pebble_disk_bytes %d\n", kept)
		fmt.Fprintf(w, "andon_pebble_written_bytes_total %d\n", written)
	}
}

// filesOf returns how many bytes all files have now, and how many were ever written. In a total of
// levels, what was flushed has the log in it.
func filesOf(db *pebble.DB) (kept, written uint64) {
	m := db.Metrics()
	total := m.Total()
	return m.DiskSpaceUsage(), total.TableBytesFlushed + total.TableBytesCompacted
}
