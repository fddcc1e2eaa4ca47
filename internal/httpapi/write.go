package httpapi

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest/jsonscan"
)

// The items of long lists, and what is asked for most, are written by hand: encoding/json takes
// three times as long for them, most of it to check and compact what their types write themselves.
// The bytes are the same: what stands here about a type is also in the tags of its fields, from
// which the document is made, and a test compares the two.

// written is a value that writes itself as JSON.
type written interface {
	appendJSON(b []byte) []byte
}

// writtenAs returns how a value is written by hand, if it is. One with an object that is damaged is
// not: encoding/json says what is wrong with it.
func writtenAs(value any) (by written, is bool) {
	var object andon.JSON
	switch v := value.(type) {
	case *andon.Event:
		by, object = (*eventJSON)(v), v.Attributes
	case *entryJSON:
		by, object = v, v.Attributes
	case *deviceJSON:
		by, object = v, v.Attributes
	case *andon.Reading:
		by, object = (*readingJSON)(v), v.Metadata
	case *andon.MetricReading:
		by = (*metricJSON)(v)
	case written:
		by = v
	}
	return by, by != nil && isObject(string(object))
}

// isObject reports whether text is a JSON object, or absent.
func isObject(text string) bool {
	s := jsonscan.Scanner{Text: text}
	return text == "" || s.Skip(0) == nil && s.End() == nil
}

type (
	eventJSON   andon.Event
	readingJSON andon.Reading
	metricJSON  andon.MetricReading
)

// members writes the members of an object, behind its opening brace.
type members []byte

// name begins a member.
func (m *members) name(name string) {
	b := *m
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	*m = append(b, '"', ':')
}

func (m *members) text(name, text string) {
	m.name(name)
	*m = appendText(*m, text)
}

// some writes a text, unless it is empty.
func (m *members) some(name, text string) {
	if text != "" {
		m.text(name, text)
	}
}

// person writes a person, who is null where there is none.
func (m *members) person(name string, p *andon.PersonID) {
	m.name(name)
	if p == nil {
		*m = append(*m, "null"...)
		return
	}
	*m = appendText(*m, string(*p))
}

func (m *members) time(name string, t andon.Time) {
	m.name(name)
	*m = appendTime(*m, t)
}

// when writes a time, unless there is none.
func (m *members) when(name string, t andon.Time) {
	if t != 0 {
		m.time(name, t)
	}
}

func (m *members) whole(name string, n int) {
	m.name(name)
	*m = strconv.AppendInt(*m, int64(n), 10)
}

func (m *members) number(name string, x float64) {
	m.name(name)
	*m = appendNumber(*m, x)
}

func (m *members) truth(name string, is bool) {
	m.name(name)
	*m = strconv.AppendBool(*m, is)
}

// object writes an object as it was received, without its spaces, unless there is none.
func (m *members) object(name string, text andon.JSON) {
	if text != "" {
		m.name(name)
		*m = appendCompact(*m, string(text))
	}
}

func (m *members) event(e *andon.Event) {
	m.text("device", string(e.Device))
	m.time("time", e.Time)
	m.text("state", string(e.State))
	m.some("operator", string(e.Operator))
	m.some("escalated_to", string(e.EscalatedTo))
	m.some("message", e.Message)
	m.object("attributes", e.Attributes)
}

func (e *eventJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.event((*andon.Event)(e))
	return append(m, '}')
}

func (e *entryJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.event(&e.Event)
	m.name("escalations")
	m = append(m, '[')
	for i := range e.Escalations {
		if i > 0 {
			m = append(m, ',')
		}
		m = e.Escalations[i].appendJSON(m)
	}
	m = append(m, ']')
	if w := e.Withdrawn; w != nil {
		m.name("withdrawn")
		m = append(m, '{')
		m.time("at", w.At)
		m.some("by", string(w.By))
		m.some("note", w.Note)
		m = append(m, '}')
	}
	return append(m, '}')
}

func (r *recordJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.person("to", r.To)
	m.time("at", r.At)
	m.some("by", string(r.By))
	m.some("note", r.Note)
	return append(m, '}')
}

func (d *deviceJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("device", string(d.Device))
	m.some("state", string(d.State))
	m.whole("severity", int(d.Severity))
	m.when("since", d.Since)
	m.when("time", d.Time)
	m.when("received", d.Received)
	m.some("operator", string(d.Operator))
	m.some("escalated_to", string(d.EscalatedTo))
	m.when("incident_since", d.IncidentSince)
	m.truth("silent", d.Silent)
	m.some("message", d.Message)
	m.object("attributes", d.Attributes)
	m.when("retired", d.Retired)
	m.when("last_retired", d.LastRetired)
	return append(m, '}')
}

func (s *statesJSON) appendJSON(b []byte) []byte {
	m := members(append(b, `{"items":[`...))
	for i := range s.Items {
		if i > 0 {
			m = append(m, ',')
		}
		m = s.Items[i].appendJSON(m)
	}
	m = append(m, ']')
	m.whole("total", s.Total)
	m.whole("silent", s.Silent)
	m.some("next", s.Next)
	return append(m, '}')
}

func (s *stateCountJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("state", string(s.State))
	m.whole("severity", int(s.Severity))
	m.text("letter", s.Letter)
	m.text("colour", s.Colour)
	m.text("symbol", s.Symbol)
	m.whole("count", s.Count)
	m.whole("silent", s.Silent)
	return append(m, '}')
}

func (i *intervalJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("state", string(i.State))
	m.time("from", i.From)
	m.when("to", i.To)
	m.number("seconds", i.Seconds)
	return append(m, '}')
}

func (a *assignmentJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("device", string(a.Device))
	m.person("operator", a.Operator)
	m.time("from", a.From)
	m.when("to", a.To)
	return append(m, '}')
}

func (r *readingJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("device", string(r.Device))
	m.time("time", r.Time)
	m.name("metrics")
	m = append(m, '{')
	for _, x := range r.Metrics {
		m.name(escapedName(x.Name))
		m = strconv.AppendFloat(m, x.Value, 'g', -1, 64)
	}
	m = append(m, '}')
	m.object("metadata", r.Metadata)
	return append(m, '}')
}

func (r *metricJSON) appendJSON(b []byte) []byte {
	m := members(append(b, '{'))
	m.text("device", string(r.Device))
	m.time("time", r.Time)
	m.number("value", r.Value)
	return append(m, '}')
}

// escapedName is the name of a metric without its quotes, escaped as andon.Metrics does: for HTML,
// too.
func escapedName(name andon.MetricName) string {
	html := func(r rune) bool { return isEscaped(r) || r == '<' || r == '>' || r == '&' }
	if !strings.ContainsFunc(string(name), html) {
		return string(name)
	}
	text, err := json.Marshal(string(name))
	if err != nil {
		return "" // a string can be written
	}
	return string(text[1 : len(text)-1])
}

func appendTime(b []byte, t andon.Time) []byte {
	if t == 0 {
		return append(b, "null"...)
	}
	b, _ = t.AppendText(append(b, '"')) // it can't fail
	return append(b, '"')
}

// appendNumber writes a number as ECMAScript does.
func appendNumber(b []byte, x float64) []byte {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		if text, err := json.Marshal(x); err == nil {
			return append(b, text...)
		}
	}
	return strconv.AppendFloat(b, x, 'f', -1, 64)
}

// appendText writes a string. What must be escaped is rare, and left to encoding/json.
func appendText(b []byte, text string) []byte {
	if !standsForItself(text) && strings.ContainsFunc(text, isEscaped) {
		return appendEscaped(b, text)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// standsForItself reports whether text is of characters that stand for themselves, as most are.
func standsForItself(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isEscaped reports whether a character may have to be escaped. RuneError may stand for bytes that
// are not UTF-8.
func isEscaped(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' ||
		r == utf8.RuneError
}

func appendEscaped(b []byte, text string) []byte {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(b, `""`...) // a string can be written
	}
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}

// appendCompact writes valid JSON without the spaces between its tokens.
func appendCompact(b []byte, text string) []byte {
	if !strings.ContainsAny(text, " \t\r\n") {
		return append(b, text...)
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		case quoted && c == '\\':
			b = append(b, c)
			i++
		case c == '"':
			quoted = !quoted
		}
		b = append(b, text[i])
	}
	return b
}
