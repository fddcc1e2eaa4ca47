package provision

import (
	"embed"
	"fmt"
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
	return map[string]string{
		"cloudformation": "cloudformation.yaml", "terraform": "terraform.tf",
		"workbench": "workbench.json",
	}
}

// Formats returns the tools that a template can be for.
func Formats() []string { return slices.Sorted(maps.Keys(formats())) }

// Stack is what a template makes.
type Stack struct {
	Prefix   string // with which the names of the tables begin
	Listed   []ddb.Table
	Capacity Capacity
	Actions  []string // that a process needs of the tables and their indexes
}

// Template returns tables with their indexes, expiry, auto scaling and alarms, and the policy of
// who may use them, for one of Formats.
func (s Stack) Template(format string) (string, error) {
	file := formats()[format]
	if file == "" {
		return "", andon.Errorf(andon.Invalid, "the format %q is unknown: there are %s", format,
			strings.Join(Formats(), ", "))
	}
	funcs := template.FuncMap{
		"id": identifier, "lower": strings.ToLower, "quote": quote, "assign": assign,
		"projection": projection,
	}
	t, err := template.New(file).Funcs(funcs).ParseFS(templates, "templates/"+file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, s)
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

// quote returns what is not empty as both formats take a text.
func quote(text string) string {
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

// assign returns lines of names and values as `terraform fmt` aligns them, without those whose
// value is empty, each after a line break and so many spaces.
func assign(indent int, pairs ...any) string {
	width, b := 0, strings.Builder{}
	value := func(i int) string { return fmt.Sprint(pairs[i+1]) }
	for i := 0; i < len(pairs); i += 2 {
		if value(i) != "" {
			width = max(width, len(pairs[i].(string)))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if value(i) != "" {
			fmt.Fprintf(&b, "\n%*s%-*s = %s", indent, "", width, pairs[i], value(i))
		}
	}
	return b.String()
}

// Provisioned reports whether capacity is provisioned.
func (s Stack) Provisioned() bool { return s.Capacity.Mode == Provisioned }

// Target returns the share at which auto scaling adds capacity, in percent.
func (Stack) Target() int { return Target }

// Tables returns them as the templates show them.
func (s Stack) Tables() (all []stackTable) {
	for _, t := range s.Listed {
		shown := stackTable{
			Table: t, ID: strings.TrimPrefix(t.Name, s.Prefix), Scaled: s.Capacity.scaled(t),
			Alarms: s.Capacity.alarms(t, s.Actions),
		}
		for _, a := range attributes(t) {
			shown.Attributes = append(shown.Attributes, *a.AttributeName)
		}
		all = append(all, shown)
	}
	return all
}

type stackTable struct {
	ddb.Table
	ID         string   // its name without the prefix
	Attributes []string // of all keys
	Scaled     []scaled // the dimensions that auto scaling moves
	Alarms     []alarm
}

// Others returns the attributes that indexes need, next to the keys of the table, and by which
// items expire, with their types. Keys are strings, and what indexes project are numbers, or
// metrics.
func (t stackTable) Others() map[string]string {
	all := map[string]string{}
	if t.TTL != "" {
		all[t.TTL] = "N"
	}
	for _, i := range t.Indexes {
		for _, name := range i.Projects {
			all[name] = "N"
			if name == "metrics" {
				all[name] = "M"
			}
		}
	}
	for _, name := range t.Attributes {
		all[name] = "S"
	}
	delete(all, t.Key.Hash)
	delete(all, t.Key.Sort)
	return all
}

// alarm is an alarm on a table or an index: the sum of metrics is above a number in so many of five
// minutes.
type alarm struct {
	ID, Index, Text string
	Above, Minutes  int
	Metrics         []alarmMetric
}

type alarmMetric struct{ Name, Operation string }

// alarms returns those that the reference recommends for a table: consumed capacity, throttled
// requests, system errors. An index has capacity of its own, and where it is throttled so are
// writes to its table.
func (c Capacity) alarms(t ddb.Table, actions []string) (all []alarm) {
	operations := func(metric string) (of []alarmMetric) {
		for _, name := range actions {
			if !strings.HasPrefix(name, "Describe") {
				of = append(of, alarmMetric{metric, name})
			}
		}
		return of
	}
	capacity := func(index string) {
		for _, d := range []struct {
			kind string
			Units
		}{{"Read", c.Read}, {"Write", c.Write}} {
			text := fmt.Sprintf("80 %% of the %s units that it may use: raise %[1]s_max or "+
				"the quota", strings.ToLower(d.kind))
			all = append(all, alarm{index + d.kind + "s", index, text, d.Max * 60 * 8 / 10, 5,
				[]alarmMetric{{"Consumed" + d.kind + "CapacityUnits", ""}}})
		}
	}
	capacity("")
	all = append(all,
		alarm{"Throttled", "", "DynamoDB throttles: raise the capacity, or give a hot device " +
			"more shards", 0, 3, operations("ThrottledRequests")},
		alarm{"SystemErrors", "", "requests fail within DynamoDB and are repeated: see the AWS " +
			"Health Dashboard", 0, 3, operations("SystemErrors")})
	for _, i := range t.Indexes {
		capacity(i.Name)
		all = append(all, alarm{i.Name + "Throttled", i.Name, "DynamoDB throttles the index: " +
			"raise its capacity", 0, 3,
			[]alarmMetric{{"ReadThrottleEvents", ""}, {"WriteThrottleEvents", ""}}})
	}
	return all
}

// AlarmMetrics returns how many metrics the alarms of tables watch.
func AlarmMetrics(tables []ddb.Table, actions []string) (n int) {
	for _, t := range tables {
		for _, a := range (Capacity{}).alarms(t, actions) {
			n += len(a.Metrics)
		}
	}
	return n
}
