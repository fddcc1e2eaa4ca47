package andon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identifiers are valid UTF-8 without control characters (category Cc). They are compared byte by
// byte and never normalised, so two spellings of one letter are two identifiers. The empty
// identifier means absent. Everything else is allowed: '#', '/', '%', spaces, emoji.
type (
	// TenantID names the owner of devices and people. It is part of every key.
	TenantID string
	// DeviceID names anything that reports.
	DeviceID string
	// PersonID names an operator or a supervisor.
	PersonID string
	// State names what a device can be in: NORMAL, WARNING1, ...
	State string
	// MetricName names one number of a reading.
	MetricName string
)

// NoPerson stands for nobody, in a query. Nobody is called so.
const NoPerson PersonID = "none"

// OrNull returns a person as JSON has it where nobody is null.
func (id PersonID) OrNull() *PersonID {
	if id == "" {
		return nil
	}
	return &id
}

// DefaultTenant always exists and can't be deleted.
const DefaultTenant TenantID = "default"

// Longest identifiers, in bytes.
const (
	MaxIDBytes    = 128
	MaxStateBytes = 64
)

// Validate reports what is wrong with id, or nil. The empty identifier is wrong, and so is one that
// begins or ends with a space: HTTP trims a header, which would then name another tenant.
func (id TenantID) Validate() error {
	if strings.Trim(string(id), " ") != string(id) {
		return Errorf(Invalid, "tenant %q begins or ends with a space, which no header can carry",
			clip(string(id)))
	}
	return validID("tenant", string(id), MaxIDBytes)
}

// Validate reports what is wrong with id, or nil. The empty identifier is wrong.
func (id DeviceID) Validate() error { return validID("device", string(id), MaxIDBytes) }

// Validate reports what is wrong with id, or nil. The empty identifier is wrong: where a person may
// be absent, ask only about one that is there.
func (id PersonID) Validate() error { return id.ValidateAs("person") }

// ValidateAs is Validate, whose error calls the person what it is: operator, supervisor.
func (id PersonID) ValidateAs(what string) error {
	if id == NoPerson {
		return Errorf(Invalid, "%s can't be %q: it stands for nobody", what, id)
	}
	return validID(what, string(id), MaxIDBytes)
}

// Validate reports what is wrong with m, or nil. The empty name is wrong.
func (m MetricName) Validate() error { return validID("metric", string(m), MaxIDBytes) }

// Validate reports what is wrong with s, or nil. A state holds neither ',' nor '*', because lists
// and prefixes of states are written with them.
func (s State) Validate() error {
	if err := validID("state", string(s), MaxStateBytes); err != nil {
		return err
	}
	for i := range len(s) { // faster than strings.IndexAny on what is this short
		if s[i] == ',' || s[i] == '*' {
			return Errorf(Invalid,
				"state holds %q, which lists and prefixes of states are written with", s[i])
		}
	}
	return nil
}

func validID(what, id string, most int) error {
	if plainID(id, most) {
		return nil
	}
	switch {
	case id == "":
		return Errorf(Invalid, "%s is missing", what)
	case len(id) > most:
		return Errorf(Invalid, "%s is %d bytes long, more than %d", what, len(id), most)
	case id == "." || id == "..":
		return Errorf(Invalid, "%s can't be %q", what, id)
	case !utf8.ValidString(id):
		return Errorf(Invalid, "%s is not valid UTF-8", what)
	}
	if i := strings.IndexFunc(id, unicode.IsControl); i >= 0 {
		return Errorf(Invalid, "%s holds a control character at byte %d", what, i)
	}
	return nil
}

// plainID is the fast way through validID: printable ASCII, as nearly every identifier is.
func plainID(id string, most int) bool {
	if len(id) == 0 || len(id) > most || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}
