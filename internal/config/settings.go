package config

import (
	"strings"
	"time"
)

// Setting is one key of the configuration.
type Setting struct {
	Key   string // as YAML spells it: "log.level"
	Value Value  // where it is kept; it holds the default until it is set
	Help  string // one sentence, without a full stop
}

const (
	prefix       = "ANDON_"
	fileVariable = prefix + "CONFIG" // names the file, so the file can't hold it
	urlVariable  = prefix + "URL"    // of the commands that ask a server, which needs none itself
)

// Variable returns the spelling in the environment: "ANDON_LOG_LEVEL".
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Flag returns the spelling on the command line, without its dashes: "log-level".
func (s Setting) Flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// HasFlag reports whether it has a spelling on the command line. Secrets have none: every user of a
// machine can read the command lines that run on it.
func (s Setting) HasFlag() bool { return !s.IsSecret() }

// IsSecret reports whether its value is never shown.
func (s Setting) IsSecret() bool {
	_, is := s.Value.(secretValue)
	return is
}

// Settings lists every setting, bound to c. A setting that went out of use stays in the list, so
// that a file of yesterday starts the program of today.
func (c *Config) Settings() []Setting {
	const ms = time.Millisecond
	settings := []Setting{
		{"listen", given(&c.Listen), "address to listen on; port 0 takes a free one"},
		{"data", given(&c.Data), "directory of the embedded store"},
		{"store", given(&c.Store),
			"the store: pebble (embedded, durable), cassandra (shared, durable) or memory " +
				"(lost at the end)"},
		{"token_file", text(&c.TokenFile), "file that holds the token which clients must send"},
		{"tls_cert", text(&c.TLSCert), "file of the TLS certificate chain (PEM); HTTPS, not HTTP"},
		{"tls_key", text(&c.TLSKey), "file of the TLS key (PEM)"},
		{"plain_http", choice(&c.PlainHTTP, "warn", "allow"),
			"HTTP beyond loopback without TLS: warn at the start, or allow it, where a proxy in " +
				"front does TLS"},

		{"log.level", choice(&c.Log.Level, "debug", "info", "warn", "error"),
			"least level that is logged"},
		{"log.format", choice(&c.Log.Format, "text", "json"), "form of the log on standard error"},
		{"log.slow", span(&c.Log.Slow, 0), "requests that take longer are logged; 0s for none"},
		{"log.audit", choice(&c.Log.Audit, "on", "off"),
			"an audit line for each assignment, escalation, retirement, change of a tenant"},

		{"limits.headers", size(&c.Limits.Headers), "most bytes of a request's headers"},
		{"limits.memory", size(&c.Limits.Memory),
			"most bytes of requests (with what is decoded of them) and answers in memory at " +
				"once, half of it for each; then 429"},
		{"limits.requests", count(&c.Limits.Requests),
			"most writing requests worked at at once; more wait for limits.wait"},
		{"limits.reads", count(&c.Limits.Reads),
			"most reading requests worked at at once; more wait for limits.wait"},
		{"limits.wait", span(&c.Limits.Wait, ms), "time to wait for a turn; then 429"},
		{"limits.states", count(&c.Limits.States),
			"most states outside its set that a tenant may have; entries with more are rejected"},

		{"timeouts.headers", span(&c.Timeouts.Headers, ms), "time to read a request's headers"},
		{"timeouts.body", span(&c.Timeouts.Body, ms), "time to read a request's body"},
		{"timeouts.request", span(&c.Timeouts.Request, ms), "time to work at a request"},
		{"timeouts.idle", span(&c.Timeouts.Idle, ms), "time a connection may be idle"},
		{"timeouts.drain", span(&c.Timeouts.Drain, 0),
			"at the end, time between /readyz saying no and the listener closing, " +
				"for load balancers"},
		{"timeouts.stop", span(&c.Timeouts.Stop, ms), "at the end, time for requests under way"},

		{"expiry.every", span(&c.Expiry.Every, time.Second), "how often what has expired is swept"},
		{"expiry.clock", text(&c.Expiry.Clock),
			"what time it is, to confirm a clock that was put forward by days; else nothing is " +
				"deleted by it for a day"},

		{"pebble.cache", size(&c.Pebble.Cache), "bytes of the store kept in memory for reading"},
		{"pebble.reserve", size(&c.Pebble.Reserve),
			"bytes kept free on the store's disk; below them writes get 507"},
	}
	settings = append(settings, c.Cassandra.settings()...)
	return append(settings, Setting{"pprof.listen", text(&c.Pprof.Listen),
		"address on loopback that profiles of the program are served at; none unless set"})
}

// together checks what only several settings together can get wrong.
func (l *loader) together(c *Config) {
	l.pair("tls_cert", c.TLSCert, "tls_key", c.TLSKey)
	l.cassandraTogether(&c.Cassandra)
}

// pair checks that of two settings both are set or none.
func (l *loader) pair(one, oneValue, other, otherValue string) {
	if oneValue != "" && otherValue == "" {
		l.problem(l.places[one], "%s needs %s beside it", one, other)
	}
	if otherValue != "" && oneValue == "" {
		l.problem(l.places[other], "%s needs %s beside it", other, one)
	}
}
