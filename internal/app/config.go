package app

import (
	"fmt"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/archive"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/forward"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/kinesis"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/all"
)

// Config is all that can be configured.
type Config struct {
	Listen    string // address to listen on
	Data      string // directory of an embedded store
	Store     string // name of the store
	TokenFile string // file that holds the token; "" for none
	TLSCert   string // file of the certificate chain; "" for plain HTTP
	TLSKey    string // file of its key
	PlainHTTP string // warn, allow: HTTP beyond loopback without TLS
	Direct    bool   // short requests are served below net/http

	Forward *forward.Config // of a gateway of another Andon; nil: the program is none

	Log      LogConfig
	Limits   Limits
	Timeouts Timeouts
	Expiry   Expiry
	Kafka    []kafka.Source
	Feeds    []FeedConfig
	Notify   NotifyConfig
	Alerts   AlertsConfig
	Kinesis  []kinesis.Source
	// Rejections is about how many of the entries are listed that sources refused.
	Rejections int
	Profiles   string // address on loopback that profiles are served at; "" for none

	Archives []archive.Config

	Incidents bool // are kept by this process, and served

	Engines all.Engines // with their settings; copies of a Config share them
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  string        // debug, info, warn, error
	Format string        // text, json
	Slow   time.Duration // requests that take longer are logged; 0: none
	Audit  bool          // a line for each change that a person answers for
}

// Limits bound what requests may take.
type Limits struct {
	Headers  int64         // bytes of a request's headers
	Memory   int64         // bytes of requests and answers in memory at once
	Requests int           // writing requests worked at at once
	Reads    int           // reading requests worked at at once
	Wait     time.Duration // for a request's turn
	States   int           // states outside its set that a tenant may have
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

// DefaultConfig returns the configuration that holds where nothing is said.
func DefaultConfig() Config { return NewConfig(all.New()) }

// NewConfig is DefaultConfig with other engines than those of this build.
func NewConfig(engines all.Engines) Config {
	return Config{
		Listen: "127.0.0.1:8080", Data: "andon-data", Store: engines[0].Name(), PlainHTTP: "warn",
		Direct: true,
		Log:    LogConfig{Level: "info", Format: "text", Slow: time.Second, Audit: true},
		Limits: Limits{
			Headers: 64 << 10, Memory: 256 << 20, Requests: 1024, Reads: 32, Wait: time.Second,
			States: 1000,
		},
		Timeouts: Timeouts{
			Headers: 10 * time.Second, Body: 30 * time.Second, Request: time.Minute,
			Idle: 2 * time.Minute, Stop: 20 * time.Second,
		},
		Expiry: Expiry{Every: time.Hour}, Rejections: 10_000, Incidents: true,
		Alerts:  AlertsConfig{Tenant: string(andon.DefaultTenant)},
		Engines: engines,
	}
}

// LoadConfig reads a configuration, and says where each setting has its value from. Its error is
// that of config.Load.
func LoadConfig(from config.Sources) (Config, []config.Origin, error) {
	c := DefaultConfig()
	origins, err := config.Load(from, c.Groups()...)
	return c, origins, err
}

// Engine returns the engine of the store that is chosen.
func (c *Config) Engine() (adapter.Engine, error) { return c.Engines.Find(c.Store) }

// Place is where the store that is chosen keeps what it has; Elsewhere where there is none such.
func (c *Config) Place() adapter.Place {
	e, err := c.Engine()
	if err != nil {
		return adapter.Elsewhere
	}
	return e.Place()
}

// Takes is what the store that is chosen takes of this machine by its settings.
func (c *Config) Takes() adapter.Takes {
	e, err := c.Engine()
	if err != nil {
		return adapter.Takes{}
	}
	return e.Takes()
}

// Groups lists all settings, bound to c.
func (c *Config) Groups() []config.Group {
	own := config.Group{
		Settings: append(c.ofServer(), c.ofBounds()...),
		Check:    func(c *config.Check) { c.Pair("tls_cert", "tls_key") },
	}
	ways := append([]config.Group{own}, c.sourceGroups()...)
	ways = append(ways, c.feedGroup(), c.Notify.group(), c.Alerts.group())
	return append(ways, c.Engines.Groups()...)
}

// ofServer are the settings of what is served, from which store, and what is said about it.
func (c *Config) ofServer() []config.Setting {
	return []config.Setting{
		{Key: "listen", Value: config.Given(&c.Listen),
			Help: "address to listen on; port 0 takes a free one"},
		{Key: "data", Value: config.Given(&c.Data), Help: "directory of the embedded store"},
		{Key: "store", Value: config.Given(&c.Store), Help: "the store: " + c.Engines.About()},
		{Key: "token_file", Value: config.Text(&c.TokenFile),
			Help: "file that holds the token which clients must send"},
		{Key: "tls_cert", Value: config.Text(&c.TLSCert),
			Help: "file of the TLS certificate chain (PEM); HTTPS, not HTTP"},
		{Key: "tls_key", Value: config.Text(&c.TLSKey), Help: "file of the TLS key (PEM)"},
		{Key: "plain_http", Value: config.Choice(&c.PlainHTTP, "warn", "allow"),
			Help: "HTTP beyond loopback without TLS: warn at the start, or allow it, where a " +
				"proxy in front does TLS"},
		{Key: "http.direct", Value: config.OnOff(&c.Direct),
			Help: "short requests over plain HTTP are served by their connection, below Go's " +
				"HTTP server; off: all by that"},
		{Key: "log.level",
			Value: config.Choice(&c.Log.Level, "debug", "info", "warn", "error"),
			Help:  "least level that is logged"},
		{Key: "log.format", Value: config.Choice(&c.Log.Format, "text", "json"),
			Help: "form of the log on standard error"},
		{Key: "log.slow", Value: config.Span(&c.Log.Slow, 0),
			Help: "requests that take longer are logged; 0s for none"},
		{Key: "log.audit", Value: config.OnOff(&c.Log.Audit),
			Help: "an audit line for each change that a person answers for"},
		{Key: "pprof.listen", Value: config.Text(&c.Profiles),
			Help: "address on loopback that profiles of the program are served at; none unless " +
				"set"},
		{Key: "archive",
			Value: config.Mappings(&c.Archives, archive.Group, func(c *archive.Config) string {
				return c.Name
			}),
			Help: "archives of events and readings as Parquet (docs/archive.md)"},
	}
}

// boundsRequests is what stores rely on.
func (c *Config) boundsRequests() error {
	if most := andon.LongestRequest.Std(); c.Timeouts.Request > most {
		return fmt.Errorf("%q is more than %s, for which stores wait before they delete what a "+
			"request may still write to", c.Timeouts.Request, andon.LongestRequest)
	}
	return nil
}

// ofBounds are the settings of how much may be taken, and for how long.
func (c *Config) ofBounds() []config.Setting {
	const ms = time.Millisecond
	return []config.Setting{
		{Key: "limits.headers", Value: config.Size(&c.Limits.Headers),
			Help: "most bytes of a request's headers"},
		{Key: "limits.memory", Value: config.Size(&c.Limits.Memory),
			Help: "most bytes of requests (with what is decoded of them) and answers in memory " +
				"at once, half of it for each; then 429"},
		{Key: "limits.requests", Value: config.Count(&c.Limits.Requests),
			Help: "most writing requests worked at at once; more wait for limits.wait"},
		{Key: "limits.reads", Value: config.Count(&c.Limits.Reads),
			Help: "most reading requests worked at at once; more wait for limits.wait"},
		{Key: "limits.wait", Value: config.Span(&c.Limits.Wait, ms),
			Help: "time to wait for a turn; then 429"},
		{Key: "limits.states", Value: config.Count(&c.Limits.States),
			Help: "most states outside its set that a tenant may have; entries with more are " +
				"rejected"},
		{Key: "timeouts.headers", Value: config.Span(&c.Timeouts.Headers, ms),
			Help: "time to read a request's headers"},
		{Key: "timeouts.body", Value: config.Span(&c.Timeouts.Body, ms),
			Help: "time to read a request's body"},
		{Key: "timeouts.request",
			Value: config.Span(&c.Timeouts.Request, ms).That(c.boundsRequests),
			Help:  "time to work at a request, 5m at most"},
		{Key: "timeouts.idle", Value: config.Span(&c.Timeouts.Idle, ms),
			Help: "time a connection may be idle"},
		{Key: "timeouts.drain", Value: config.Span(&c.Timeouts.Drain, 0),
			Help: "at the end, time between /readyz saying no and the listener closing, for load " +
				"balancers"},
		{Key: "timeouts.stop", Value: config.Span(&c.Timeouts.Stop, ms),
			Help: "at the end, time for requests under way, and for what makes the next start " +
				"quick"},
		{Key: "rejections.keep", Value: config.Count(&c.Rejections),
			Help: "about how many of the newest entries that sources could not keep are listed"},
		{Key: "incidents", Value: config.OnOff(&c.Incidents),
			Help: "whether incidents are kept and served"},
		{Key: "expiry.every", Value: config.Span(&c.Expiry.Every, time.Second),
			Help: "how often what has expired is swept"},
		{Key: "expiry.clock", Value: config.Text(&c.Expiry.Clock),
			Help: "what time it is, to confirm a clock that was put forward by days; else " +
				"nothing is deleted by it for a day"},
	}
}
