// Package params reads the parameters of a request: of its query and of its path.
//
// Before a handler is called, the path is checked, and the query for parameters that are not known:
// a misspelt one selects too much. Of parameters that have only a few values any other is noted.
// Methods that read a parameter note what is wrong with it and return the zero value. So a handler
// reads all of them first and then asks once, with Fault: the client learns everything that is
// wrong at once.
//
// The package knows no route and no store.
package params

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/spell"
)

// Reader reads the parameters of one request.
type Reader struct {
	Request *http.Request
	Query   url.Values        // once it was read
	Now     func() andon.Time // that relative times are counted from
	wrong   []andon.FieldError
}

// Mark notes what is wrong with a field. A few are enough: a client may send thousands.
func (r *Reader) Mark(location, format string, args ...any) {
	const enough = 10
	if len(r.wrong) == enough {
		return
	}
	message := fmt.Sprintf(format, args...)
	r.wrong = append(r.wrong, andon.FieldError{Location: location, Message: message})
}

// Check notes an error, if there is one, as what is wrong with a field.
func (r *Reader) Check(location string, err error) {
	if err != nil {
		r.Mark(location, "%s", err)
	}
}

// Fault returns all that was noted as one error, or nil.
func (r *Reader) Fault() error {
	if len(r.wrong) == 0 {
		return nil
	}
	messages := make([]string, len(r.wrong))
	for i, w := range r.wrong {
		messages[i] = w.Message
	}
	return &andon.Error{
		Kind: andon.Invalid, Message: strings.Join(messages, "; "), Fields: r.wrong,
	}
}

// ReadQuery reads the query, of which some parameters are known. fixedOrder says why the order of
// the answer can't be chosen, if it can't.
func (r *Reader) ReadQuery(known []openapi.Param, fixedOrder string) error {
	query, err := url.ParseQuery(r.Request.URL.RawQuery)
	if err != nil {
		return andon.AtField("query", "the query can't be read: %s", err)
	}
	r.Query = query
	for _, name := range slices.Sorted(maps.Keys(query)) {
		r.checkParam(known, fixedOrder, name, query[name])
	}
	return nil
}

// checkParam refuses what would otherwise be ignored: a misspelt parameter selects too much.
func (r *Reader) checkParam(
	known []openapi.Param, fixedOrder, name string, values []string,
) {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.Name
		if p.Name == name {
			if len(values) > 1 {
				r.Mark("query."+name, "%s is given twice", name)
			}
			return
		}
	}
	if name == "order" && fixedOrder != "" {
		r.Mark("query.order", "there is no order here: %s", fixedOrder)
		return
	}
	location, shown := "query."+name[:min(len(name), 64)], ingest.Clip(name)
	switch near := spell.Nearest(name, names); {
	case near != "":
		r.Mark(location, "there is no parameter %s here: did you mean %s?", shown, near)
	case len(names) == 0:
		r.Mark(location, "there is no parameter %s here, nor any other", shown)
	default:
		r.Mark(location, "there is no parameter %s here, only %s", shown, strings.Join(names, ", "))
	}
}

// CheckValues notes which parameters have none of the few values that they may have. An empty one
// is absent, but not where it is true or false: a sweep with ?dry_run is not meant to sweep.
func (r *Reader) CheckValues(known []openapi.Param) {
	for _, p := range known {
		text, last := r.Text(p.Name), len(p.Values)-1
		absent := text == "" && (last < 0 || p.Values[last] != "false" || !r.Query.Has(p.Name))
		switch {
		case last < 0, absent, slices.Contains(p.Values, text):
		case last == 0:
			r.Mark("query."+p.Name, "%s is %s or left out, not %q", p.Name, p.Values[0], text)
		default:
			r.Mark("query."+p.Name, "%s is %s or %s, not %q", p.Name,
				strings.Join(p.Values[:last], ", "), p.Values[last], text)
		}
	}
}

// Flag reports whether a parameter is true.
func (r *Reader) Flag(name string) bool { return r.Text(name) == "true" }

// Text returns a parameter of the query; one that is empty is absent.
func (r *Reader) Text(name string) string { return r.Query.Get(name) }

// CheckPath checks what the wildcards of the path matched. What one of them is follows from its
// name; that of a document may have a suffix.
func (r *Reader) CheckPath(names []string, suffix string) {
	for _, name := range names {
		var err error
		switch text := r.Segment(name); name {
		case "device":
			err = andon.DeviceID(text).Validate()
		case "metric":
			err = andon.MetricName(text).Validate()
		case "operator", "supervisor", "person":
			err = andon.PersonID(text).ValidateAs(name)
		case "name":
			err = andon.PersonID(strings.TrimSuffix(text, suffix)).ValidateAs(name)
		case "state":
			err = andon.State(text).Validate()
		case "tenant":
			err = andon.TenantID(text).Validate()
		case "time":
			_, err = andon.ParseTime(text)
		}
		if err != nil {
			r.Mark("path."+name, "%s", err)
		}
	}
}

// Person reads a person.
func (r *Reader) Person(name string) andon.PersonID {
	person := andon.PersonID(r.Text(name))
	if person != "" && person != andon.NoPerson {
		r.Check("query."+name, person.ValidateAs(name))
	}
	return person
}

// Device reads the device of the path.
func (r *Reader) Device() andon.DeviceID { return andon.DeviceID(r.Segment("device")) }

// Limit reads how many items a page may have.
func (r *Reader) Limit() int {
	text := r.Text("limit")
	if text == "" {
		return andon.DefaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > andon.MaxLimit {
		r.Mark("query.limit", "limit is 1 to %d, not %q", andon.MaxLimit, text)
		return andon.DefaultLimit
	}
	return n
}

// Order reads the order of a list, newest first unless said.
func (r *Reader) Order() andon.Order {
	if r.Text("order") == "asc" {
		return andon.Asc
	}
	return andon.Desc
}

// States reads which states are selected.
func (r *Reader) States() andon.StateFilter {
	filter, err := andon.ParseStateFilter(r.Text("state"))
	r.Check("query.state", err)
	return filter
}

// Span reads from and to.
func (r *Reader) Span() andon.Span {
	span := andon.Span{
		From: r.time("from", andon.ParseLowerBoundAt), To: r.time("to", andon.ParseUpperBoundAt),
	}
	if span.Empty() {
		r.Mark("query.from", "from %s is after to %s", span.From, span.To)
	}
	return span
}

// time reads a time of the query. A '+' that was not escaped arrives as a space, and after the
// hour of a time a space can mean nothing else.
func (r *Reader) time(
	name string, parse func(string, andon.Time) (andon.Time, error),
) andon.Time {
	text := r.Text(name)
	if text == "" {
		return 0
	}
	if i := strings.LastIndexByte(text, ' '); i > len("2006-01-02") {
		text = text[:i] + "+" + text[i+1:]
	}
	t, err := parse(text, r.Now())
	r.Check("query."+name, err)
	return t
}

// DaySpan reads date, which names a whole day, or else from and to.
func (r *Reader) DaySpan() andon.Span {
	text := r.Text("date")
	if text == "" {
		return r.Span()
	}
	if r.Text("from") != "" || r.Text("to") != "" {
		r.Mark("query.date", "date is a whole day: it does not go with from or to")
	}
	from, err := andon.ParseTime(text)
	if len(text) != len("2006-01-02") {
		err = andon.Errorf(andon.Invalid, "date is a day such as 2026-11-20, not %s",
			ingest.Clip(text))
	}
	r.Check("query.date", err)
	to, _ := andon.ParseUpperBound(text)
	return andon.Span{From: from, To: to}
}

// DeviceOrPrefix reads device: a prefix goes into the query, an id is returned.
func (r *Reader) DeviceOrPrefix(q *andon.DeviceQuery) (exactly andon.DeviceID) {
	text := r.Text("device")
	prefix, isPrefix := strings.CutSuffix(text, "*")
	if text == "" || isPrefix && prefix == "" {
		return ""
	}
	if err := andon.DeviceID(prefix).Validate(); err != nil && !(isPrefix && isDots(prefix)) {
		r.Check("query.device", err)
	}
	if isPrefix {
		q.Prefix = prefix
		return ""
	}
	return andon.DeviceID(text)
}

// isDots reports whether text is no identifier only because of what it would mean in a path.
func isDots(text string) bool { return text == "." || text == ".." }
