// Package config reads the configuration of Andon: one YAML file, ANDON_ variables of the
// environment and flags, each above the one before. One list (Settings) is the source of all three
// spellings, of the help and of the reference page.
//
// It knows the names, forms and defaults of the settings. It must not know what they do, and it
// opens no file but the one it is told of. No file is read unless it is named: a program that
// behaves differently in another directory surprises.
package config

import (
	"time"
)

// Config is all that can be configured.
type Config struct {
	Listen    string // address to listen on
	Data      string // directory of the embedded store
	Store     string // name of the store
	TokenFile string // file that holds the token; "" for none
	TLSCert   string // file of the certificate chain; "" for plain HTTP
	TLSKey    string // file of its key
	PlainHTTP string // warn, allow: HTTP beyond loopback without TLS
	Log       Log
	Limits    Limits
	Timeouts  Timeouts
	Expiry    Expiry
	Pebble    Pebble
	Cassandra Cassandra
	Pprof     Pprof
}

// Log says what is logged, and how.
type Log struct {
	Level  string        // debug, info, warn, error
	Format string        // text, json
	Slow   time.Duration // requests that take longer are logged; 0: none
	Audit  string        // on, off: a line for each change that a person answers for
}

// Limits bound what requests may take.
type Limits struct {
	Headers  int64         // bytes of a request's headers
	Memory   int64         // bytes of requests and answers in memory at once
	Requests int64         // writing requests worked at at once
	Reads    int64         // reading requests worked at at once
	Wait     time.Duration // for a request's turn
	States   int64         // states outside its set that a tenant may have
}

// Timeouts bound how long things may take.
type Timeouts struct {
	Headers time.Duration // reading a request's headers
	Body    time.Duration // reading a request's body
	Request time.Duration // working at a request
	Idle    time.Duration // between two requests of a connection
	Drain   time.Duration // between "not ready" and closing the listener
	Stop    time.Duration // for requests under way, once the listener is closed
}

// Expiry says how what has expired is swept away.
type Expiry struct {
	Every time.Duration
	Clock string // the time that a person says it is, where the clock was put right
}

// Pebble is the embedded store's own part.
type Pebble struct {
	Cache   int64 // bytes of blocks kept in memory
	Reserve int64 // bytes kept free on the disk
}

// Pprof is where the program shows what it is busy with.
type Pprof struct {
	Listen string // address on loopback; "" for none
}

// Default returns the configuration that holds where nothing is said.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8080",
		Data:   "andon-data",
		Store:  "pebble",

		PlainHTTP: "warn",

		Log: Log{Level: "info", Format: "text", Slow: time.Second, Audit: "on"},
		Limits: Limits{
			Headers: 64 << 10, Memory: 256 << 20, Requests: 1024, Reads: 32, Wait: time.Second,
			States: 1000,
		},
		Timeouts: Timeouts{
			Headers: 10 * time.Second,
			Body:    30 * time.Second,
			Request: time.Minute,
			Idle:    2 * time.Minute,
			Stop:    20 * time.Second,
		},
		Expiry: Expiry{Every: time.Hour},
		Pebble: Pebble{Cache: 128 << 20, Reserve: 512 << 20},

		Cassandra: defaultCassandra(),
	}
}

// Sources are the places that a configuration is read from, in rising order.
type Sources struct {
	File  string            // path of the YAML file; "" for the one that ANDON_CONFIG names, if any
	Env   []string          // "NAME=value", as os.Environ has it
	Flags map[string]string // by key
}

// Load reads a configuration. Its error is Invalid and holds a line for each thing that is wrong,
// which begins with the place: "andon.yaml:3", "ANDON_LISTEN", "--listen".
func Load(from Sources) (Config, error) {
	c, _, err := Trace(from)
	return c, err
}
