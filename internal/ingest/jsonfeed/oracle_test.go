package jsonfeed_test

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
)

// The oracle reads one entry with encoding/json. These rules alone refuse more than that does:
//
//   - valid UTF-8, and no escape that is half of a surrogate pair;
//   - an object whose names occur once; what is kept as it is, nested no deeper than allowed;
//   - values of the right type, times that andon.ParseTime or ParseEpoch read, limits that
//     Validate checks, metrics within bounds.

// part is one member of an object, in the order of the text.
type part struct {
	name, raw string
	text      string // name and value
}

// oracleObject splits an object; ok is false where one of the first two rules is broken.
func oracleObject(raw string) (parts []part, ok bool) {
	if !json.Valid([]byte(raw)) || !utf8.ValidString(raw) || halfPair(raw) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(raw))
	if open, _ := d.Token(); open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		from := int(d.InputOffset())
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		text := strings.TrimLeft(raw[from:d.InputOffset()], ", \t\r\n")
		parts = append(parts, part{name.(string), string(value), text})
	}
	return parts, true
}

// halfPair reports whether an escape names a surrogate that has no partner: encoding/json makes it
// U+FFFD, so it makes more of those than there were.
func halfPair(raw string) bool {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber() // 1e999 is none of this function's business
	made := 0
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		if s, ok := token.(string); ok {
			made += strings.Count(s, "\uFFFD")
		}
	}
	meant := strings.Count(raw, "\uFFFD")
	unpaired := strings.ReplaceAll(raw, `\\`, "  ")
	meant += strings.Count(strings.ToLower(unpaired), `\ufffd`)
	return made > meant
}

func depth(raw string) (deepest int) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	now := 0
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

// oracleFields splits an entry into the fields that are known and the object that keeps the others.
func oracleFields(raw, keeper string, known ...string) (map[string]string, andon.JSON, bool) {
	parts, ok := oracleObject(raw)
	if !ok {
		return nil, "", false
	}
	fields, others, seen := map[string]string{}, []string{}, map[string]bool{}
	for _, p := range parts {
		if seen[p.name] {
			return nil, "", false
		}
		seen[p.name] = true
		if p.name == keeper || slices.Contains(known, p.name) {
			fields[p.name] = p.raw
		} else {
			others = append(others, p.text)
		}
	}
	kept, ok := oracleKept(fields[keeper], others, func(name string) bool {
		return seen[name] && name != keeper && !slices.Contains(known, name)
	})
	return fields, kept, ok
}

func oracleKept(own string, others []string, taken func(string) bool) (andon.JSON, bool) {
	if own == "null" {
		own = ""
	}
	inside, ok := oracleObject(own)
	if own != "" && !ok {
		return "", false
	}
	if len(others) > 0 {
		for _, p := range inside {
			if taken(p.name) {
				return "", false
			}
		}
		if len(inside) > 0 {
			others = append([]string{own[1 : len(own)-1]}, others...)
		}
		own = "{" + strings.Join(others, ",") + "}"
	}
	return andon.JSON(own), depth(own) <= andon.MaxJSONDepth
}

// oracleText reads a string, or what is absent.
func oracleText(raw string) (text string, ok bool) {
	if raw == "" || raw == "null" {
		return "", true
	}
	return text, json.Unmarshal([]byte(raw), &text) == nil
}

func oracleTime(raw string) (t andon.Time, ok bool) {
	if raw != "" && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		t, err := andon.ParseEpoch(raw, andon.Milliseconds)
		return t, err == nil
	}
	text, ok := oracleText(raw)
	if !ok || text == "" {
		return 0, ok
	}
	t, err := andon.ParseTime(text)
	return t, err == nil
}

func oracleEvent(raw string) (e andon.Event, ok bool) {
	fields, attributes, ok := oracleFields(raw, "attributes",
		"device", "time", "state", "operator", "message", "escalated_to")
	if !ok {
		return e, false
	}
	device, ok1 := oracleText(fields["device"])
	state, ok2 := oracleText(fields["state"])
	operator, ok3 := oracleText(fields["operator"])
	to, ok4 := oracleText(fields["escalated_to"])
	message, ok5 := oracleText(fields["message"])
	at, ok6 := oracleTime(fields["time"])
	e = andon.Event{
		Device: andon.DeviceID(device), Time: at, State: andon.State(state), Message: message,
		Operator: andon.PersonID(operator), EscalatedTo: andon.PersonID(to), Attributes: attributes,
	}
	return e, ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && e.Validate() == nil
}

func oracleReading(raw string) (r andon.Reading, ok bool) {
	fields, metadata, ok := oracleFields(oracleFlat(raw), "metadata", "device", "time", "metrics")
	if !ok {
		return r, false
	}
	device, ok1 := oracleText(fields["device"])
	at, ok2 := oracleTime(fields["time"])
	metrics, ok3 := oracleMetrics(fields["metrics"])
	r = andon.Reading{
		Device: andon.DeviceID(device), Time: at, Metrics: metrics, Metadata: metadata,
	}
	return r, ok1 && ok2 && ok3 && r.Validate() == nil
}

// oracleFlat writes a flat item as other readings are written; what is none stays.
func oracleFlat(raw string) string {
	parts, _ := oracleObject(raw)
	var flat, metrics []string
	isFlat := false
	for _, p := range parts {
		switch {
		case (p.name == "device" || p.name == "time" || p.name == "metrics") && p.raw != "null" &&
			p.raw != `""` && p.raw != "{}":
			return raw
		case p.name == "deviceId":
			isFlat = true
			flat = append(flat, `"device":`+p.raw)
		case p.name == "timestamp":
			flat = append(flat, `"time":`+p.raw)
		case p.name == "ttl", p.name != "metadata" && p.raw == "null":
		case strings.ContainsAny(p.raw[:1], "-0123456789tf"):
			metrics = append(metrics, p.text)
		default:
			flat = append(flat, p.text)
		}
	}
	if !isFlat {
		return raw
	}
	flat = append(flat, `"metrics":{`+strings.Join(metrics, ",")+"}")
	return "{" + strings.Join(flat, ",") + "}"
}

func oracleMetrics(raw string) (metrics andon.Metrics, ok bool) {
	if raw == "" || raw == "null" {
		return nil, true
	}
	parts, ok := oracleObject(raw)
	for _, p := range parts {
		value, err := 1.0, error(nil)
		switch p.raw {
		case "true":
		case "false":
			value = 0
		case "null":
			ok = false
		default:
			var exact json.Number
			if err = json.Unmarshal([]byte(p.raw), &exact); err == nil && p.raw[0] != '"' {
				value, err = ingest.ParseMetric(exact.String())
			} else {
				ok = false
			}
		}
		ok = ok && err == nil
		metrics = append(metrics, andon.Metric{Name: andon.MetricName(p.name), Value: value})
	}
	metrics, err := metrics.Sorted()
	return metrics, ok && err == nil
}
