package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/spell"
)

// Read reads the mapping in a YAML file. Its error is Invalid, with a line for each thing that is
// wrong, which begins with file and line.
func Read(file string) (*Mapping, error) {
	m := &Mapping{row: table.Mapping{
		State: []string{stateColumn}, Precision: andon.Assumed,
	}}
	_, err := config.Load(config.Sources{File: file}, m.settings())
	switch {
	case err != nil:
	case m.row.Device == nil:
		err = andon.Errorf(andon.Invalid, "%s: device is missing", file)
	case m.state == "" && m.row.Metrics == nil:
		err = andon.Errorf(andon.Invalid, "%s: state or metrics are missing", file)
	case m.state == "": // without an event they are of the reading
		m.row.Metadata = m.row.Attributes
	}
	return m, err
}

func (m *Mapping) settings() config.Group {
	columns := func(key string, to *[]string) config.Setting {
		return config.Setting{Key: key, Value: parsed(to, func(text string) ([]string, error) {
			return []string{text}, checkTemplate(text)
		})}
	}
	return config.Group{
		Settings: []config.Setting{
			{Key: "each", Value: parsed(&m.each, parseEach)},
			{Key: "when", Value: config.Pairs(m.addCondition)},
			{Key: "tenant", Value: parsed(&m.tenant, parseTemplate)},
			columns("device", &m.row.Device), columns("time", &m.row.Time),
			{Key: "times.unit", Value: parsed(&m.row.Precision, andon.ParsePrecision)},
			{Key: "times.zone", Value: parsed(&m.row.Zone, table.ParseZone)},
			{Key: "times.dates", Value: parsed(&m.row.Dates, table.ParseDateOrder)},
			{Key: "state", Value: parsed(&m.state, parseTemplate)},
			{Key: "states.table", Value: config.Pairs(m.addTable)},
			{Key: "states.names", Value: config.Pairs(m.addName)},
			{Key: "states.default", Value: config.Given((*string)(&m.unnamed))},
			columns("operator", &m.row.Operator), columns("message", &m.row.Message),
			columns("escalated_to", &m.row.EscalatedTo),
			{Key: "attributes", Value: config.Pairs(members(&m.row.Attributes))},
			{Key: "metrics", Value: config.Pairs(members(&m.row.Metrics))},
		},
	}
}

func parsed[T any](to *T, parse func(string) (T, error)) config.Value {
	text := new(string)
	return config.Given(text).That(func() (err error) {
		if *to, err = parse(*text); err != nil {
			err = fmt.Errorf("%s: %w", ingest.Clip(*text), err)
		}
		return err
	})
}

func parseTemplate(text string) (string, error) { return text, checkTemplate(text) }

var eachPattern = regexp.MustCompile(`^\$(\.[^{}\[\].*]+|\[\d+\])*(\.\*)?$`)

func parseEach(text string) (string, error) {
	if !eachPattern.MatchString(text) {
		return "", fmt.Errorf("want a path such as $.values or $.*")
	}
	return text, nil
}

// members reads what an object is made of: templates by name, or one path that ends in .*
func members(to *[]string) func(name, text string) error {
	return func(name, text string) error {
		object, all := strings.CutSuffix(text, ".*")
		if name == "" && (!all || !strings.HasPrefix(text, "$")) {
			return fmt.Errorf("want names with values, or one path that ends in .*")
		}
		if name != "" {
			object, text = text, table.Named(name, text)
		}
		*to = append(*to, text)
		return errors.Join(checkTemplate(name), checkTemplate(object))
	}
}

type condition struct{ reference, text string }

func (m *Mapping) addCondition(reference, text string) error {
	m.when = append(m.when, condition{reference, text})
	if !referencePattern.MatchString(reference) {
		return fmt.Errorf("want $.path: text")
	}
	return nil
}

func (m *Mapping) addTable(_, name string) error {
	states, all := shipped(name)
	if states == nil {
		return fmt.Errorf("there is no table %q%s", name, spell.DidYouMean(name, all))
	}
	for foreign, state := range states {
		if m.names[foreign] == "" { // a name of the mapping itself counts, wherever it is
			_ = m.addName(foreign, string(state))
		}
	}
	return nil
}

func (m *Mapping) addName(foreign, name string) error {
	if m.names == nil {
		m.names = map[string]andon.State{}
	}
	m.names[strings.ToLower(foreign)] = andon.State(name)
	return andon.State(name).Validate()
}
