package provision

import (
	"embed"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

//go:embed templates
var templates embed.FS

// formats returns the tools that a template can be for, and its file.
func formats() map[string]string {
	return map[string]string{"cloudformation": "cloudformation.yaml", "terraform": "terraform.tf"}
}

// Formats returns the tools that a template can be for.
func Formats() []string { return slices.Sorted(maps.Keys(formats())) }

// Template returns tables with their indexes, expiry, auto scaling and alarms, for one of Formats.
// The names of the tables begin with prefix.
func Template(format, prefix string, tables []ddb.Table, capacity Capacity) (string, error) {
	file := formats()[format]
	if file == "" {
		return "", andon.Errorf(andon.Invalid, "the format %q is unknown: there are %s", format,
			strings.Join(Formats(), ", "))
	}
	funcs := template.FuncMap{"id": identifier, "lower": strings.ToLower}
	t, err := template.New(file).Funcs(funcs).ParseFS(templates, "templates/"+file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, stack{prefix, tables, capacity})
	return b.String(), err
}

// identifier returns a name as both formats take it for a resource.
func identifier(names ...string) string {
	letters := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}
	return strings.Map(letters, strings.Join(names, ""))
}

// stack is what the templates show.
type stack struct {
	Prefix   string
	tables   []ddb.Table
	Capacity Capacity
}

// Provisioned reports whether capacity is provisioned.
func (s stack) Provisioned() bool { return s.Capacity.Mode == Provisioned }

// Target returns the share at which auto scaling adds capacity, in percent.
func (stack) Target() int { return Target }

// Tables returns them as the templates show them.
func (s stack) Tables() (all []stackTable) {
	for _, t := range s.tables {
		shown := stackTable{
			ID: strings.TrimPrefix(t.Name, s.Prefix), Name: t.Name, TTL: t.TTL,
			Hash: t.Key.Hash, Sort: t.Key.Sort,
			Scaled: s.Capacity.scaled(t), capacity: s.Capacity,
		}
		for _, a := range attributes(t) {
			shown.Attributes = append(shown.Attributes, *a.AttributeName)
		}
		for _, i := range t.Indexes {
			p := projection(i)
			shown.Indexes = append(shown.Indexes, stackIndex{
				i.Name, i.Key.Hash, i.Key.Sort, string(p.ProjectionType), p.NonKeyAttributes,
			})
		}
		all = append(all, shown)
	}
	return all
}

// stackTable is one table as the templates show it.
type stackTable struct {
	ID, Name   string   // without the prefix, and with it
	TTL        string   // the attribute by which its items expire; "" for none
	Hash, Sort string   // attributes of the key; Sort is "" for none
	Attributes []string // of all keys
	Indexes    []stackIndex
	Scaled     []scaled // the dimensions that auto scaling moves
	capacity   Capacity
}

// stackIndex is one index as the templates show it.
type stackIndex struct {
	Name, Hash, Sort string
	Projects         string // ALL, INCLUDE or KEYS_ONLY
	Included         []string
}

// alarm is an alarm that the templates set on a table.
type alarm struct {
	ID, Metric, Text string
	Max              int      // units a second; 0: the alarm is on any
	Operations       []string // of which the metric is; nil: it is of the table
}

// unitsOnDemand is what an account may use of a table on demand, unless it asks for more.
const unitsOnDemand = 40_000

// Alarms returns those that the reference recommends: consumed capacity, throttled requests, system
// errors.
func (t stackTable) Alarms() []alarm {
	reads, writes := unitsOnDemand, unitsOnDemand
	if t.capacity.Mode == Provisioned {
		reads, writes = t.capacity.Read.Max, t.capacity.Write.Max
	}
	operations := []string{"BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem",
		"Query", "UpdateItem"}
	return []alarm{
		{ID: "Reads", Metric: "ConsumedReadCapacityUnits", Max: reads,
			Text: "80 % of the read units that the table may use: raise read_max or the quota"},
		{ID: "Writes", Metric: "ConsumedWriteCapacityUnits", Max: writes,
			Text: "80 % of the write units that the table may use: raise write_max or the quota"},
		{ID: "Throttled", Metric: "ThrottledRequests", Operations: operations,
			Text: "DynamoDB throttles: raise the capacity, or give a hot device more shards"},
		{ID: "SystemErrors", Metric: "SystemErrors", Operations: operations,
			Text: "requests fail within DynamoDB and are repeated: see the AWS Health Dashboard"},
	}
}

// PerMinute returns 80 % of the most, as the sum of a minute.
func (a alarm) PerMinute() int { return a.Max * 60 * 8 / 10 }
