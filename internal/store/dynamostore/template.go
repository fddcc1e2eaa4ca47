package dynamostore

import (
	"cmp"
	"embed"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/andonhq/andon"
)

//go:embed templates
var templates embed.FS

// formats are the tools that a template can be for, and its file.
func formats() map[string]string {
	return map[string]string{"cloudformation": "cloudformation.yaml", "terraform": "terraform.tf"}
}

// Formats is of adapter.Templater.
func (*Engine) Formats() []string { return slices.Sorted(maps.Keys(formats())) }

// Capacities is of adapter.Templater.
func (*Engine) Capacities() []string { return []string{onDemand, provisioned} }

// Template is of adapter.Templater: the tables with indexes, expiry, auto scaling and alarms.
func (e *Engine) Template(format, capacity string) (string, error) {
	o := e.Options
	o.Capacity.Mode = cmp.Or(capacity, o.Capacity.Mode)
	file := formats()[format]
	if file == "" {
		return "", andon.Errorf(andon.Invalid, "the format %q is unknown: there are %s", format,
			strings.Join(e.Formats(), ", "))
	}
	funcs := template.FuncMap{"id": identifier, "lower": strings.ToLower}
	t, err := template.New(file).Funcs(funcs).ParseFS(templates, "templates/"+file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, stack{o})
	return b.String(), err
}

// identifier is a name as both formats take it for a resource.
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
type stack struct{ Options }

// Provisioned reports whether capacity is provisioned.
func (s stack) Provisioned() bool { return s.Capacity.Mode == provisioned }

// Target is the share at which auto scaling adds capacity, in percent.
func (stack) Target() int { return target }

// Tables are those of the settings.
func (s stack) Tables() (all []stackTable) {
	for _, t := range s.tables() {
		all = append(all, stackTable{t, s.Options})
	}
	return all
}

// stackTable is one table as the templates show it.
type stackTable struct {
	t table
	o Options
}

// ID is its name without the prefix.
func (t stackTable) ID() string { return strings.TrimPrefix(t.t.name, t.o.Prefix) }

// Name is its name.
func (t stackTable) Name() string { return t.t.name }

// TTL is the attribute by which its items expire; "" for none.
func (t stackTable) TTL() string { return t.t.ttl }

// Hash is the partition key.
func (t stackTable) Hash() string { return t.t.key.hash }

// Sort is the sort key; "" for none.
func (t stackTable) Sort() string { return t.t.key.sort }

// Attributes are the names of those of all keys.
func (t stackTable) Attributes() (all []string) {
	for _, a := range t.t.attributes() {
		all = append(all, *a.AttributeName)
	}
	return all
}

// Indexes are those of the table.
func (t stackTable) Indexes() (all []stackIndex) {
	for _, i := range t.t.indexes {
		all = append(all, stackIndex{i})
	}
	return all
}

// Scaled are the dimensions that auto scaling moves.
func (t stackTable) Scaled() []scaled { return t.o.Capacity.scaledOf(t.Name(), t.t) }

// stackIndex is one index as the templates show it.
type stackIndex struct{ i index }

// Name is its name.
func (i stackIndex) Name() string { return i.i.name }

// Hash is the partition key.
func (i stackIndex) Hash() string { return i.i.key.hash }

// Sort is the sort key; "" for none.
func (i stackIndex) Sort() string { return i.i.key.sort }

// Projects is ALL, INCLUDE or KEYS_ONLY.
func (i stackIndex) Projects() string { return string(i.i.projection().ProjectionType) }

// Included are the attributes of INCLUDE.
func (i stackIndex) Included() []string { return i.i.projection().NonKeyAttributes }

// alarm is one that the templates set on a table.
type alarm struct {
	ID, Metric, Text string
	Max              int      // units a second; 0: the alarm is on any
	Operations       []string // of which the metric is; nil: it is of the table
}

// unitsOnDemand is what an account may use of a table on demand, unless it asks for more.
const unitsOnDemand = 40_000

// Alarms are those of the guide: consumed capacity, throttled requests, system errors.
func (t stackTable) Alarms() []alarm {
	reads, writes := unitsOnDemand, unitsOnDemand
	if t.o.Capacity.Mode == provisioned {
		reads, writes = t.o.Capacity.Read.Max, t.o.Capacity.Write.Max
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

// PerMinute is 80 % of the most, as the sum of a minute.
func (a alarm) PerMinute() int { return a.Max * 60 * 8 / 10 }
