package dynamostore

import (
	"fmt"

	"github.com/andonhq/andon/internal/config"
)

// The capacity modes of a table.
const (
	onDemand    = "on-demand"
	provisioned = "provisioned"
)

// Capacity is how tables are paid for. What is provisioned is of each table and each index, and
// auto scaling moves it between least and most.
type Capacity struct {
	Mode  string // onDemand or provisioned
	Read  Units
	Write Units
}

// Units are capacity units a second.
type Units struct{ Min, Max int }

// target is the share of what is provisioned, in percent, at which auto scaling adds more.
const target = 70

// defaultCapacity is on demand; where it is provisioned, the most is what an account may have for a
// table unless it asks for more.
func defaultCapacity() Capacity {
	return Capacity{Mode: onDemand, Read: Units{5, 40_000}, Write: Units{5, 40_000}}
}

// settings are those of the capacity.
func (c *Capacity) settings() []config.Setting {
	return []config.Setting{
		{Key: "capacity", Value: config.Choice(&c.Mode, (*Engine)(nil).Capacities()...),
			Help: "how tables that andon store init makes are paid for; provisioned goes with " +
				"auto scaling at 70 %"},
		{Key: "read_min", Value: config.Count(&c.Read.Min),
			Help: "least read units a second of each table and index, where provisioned"},
		{Key: "read_max", Value: config.Count(&c.Read.Max).That(c.check),
			Help: "most read units a second of each table and index, where provisioned"},
		{Key: "write_min", Value: config.Count(&c.Write.Min),
			Help: "least write units a second of each table and index, where provisioned"},
		{Key: "write_max", Value: config.Count(&c.Write.Max).That(c.check),
			Help: "most write units a second of each table and index, where provisioned"},
	}
}

func (c *Capacity) check() error {
	for name, u := range map[string]Units{"read": c.Read, "write": c.Write} {
		if u.Min > u.Max {
			return fmt.Errorf("%s_min is %d, and more than %s_max, %d", name, u.Min, name, u.Max)
		}
	}
	return nil
}

// scaled is one dimension that auto scaling moves.
type scaled struct {
	Resource  string // "table/andon-Devices/index/ByState"
	Dimension string // "dynamodb:index:WriteCapacityUnits"
	Metric    string // "DynamoDBWriteCapacityUtilization"
	Name      string // of the policy
	Units
}

// scaledOf are the dimensions of a table and its indexes.
func (c Capacity) scaledOf(table string, t table) (all []scaled) {
	add := func(kind, resource, name string) {
		for _, d := range []struct {
			of string
			Units
		}{{"Read", c.Read}, {"Write", c.Write}} {
			all = append(all, scaled{
				Resource: resource, Dimension: "dynamodb:" + kind + ":" + d.of + "CapacityUnits",
				Metric: "DynamoDB" + d.of + "CapacityUtilization",
				Name:   "andon-" + name + "-" + d.of, Units: d.Units,
			})
		}
	}
	add("table", "table/"+table, table)
	for _, i := range t.indexes {
		add("index", "table/"+table+"/index/"+i.name, table+"-"+i.name)
	}
	return all
}
