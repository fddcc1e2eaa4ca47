package provision

import (
	"fmt"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// The capacity modes of a table.
const (
	OnDemand    = "on-demand"
	Provisioned = "provisioned"
)

// Capacity is how tables are paid for. Read and Write are the bounds between which auto scaling
// moves what is provisioned, of each table and of each index.
type Capacity struct {
	Mode  string // OnDemand or Provisioned
	Read  Units
	Write Units
}

// Units are capacity units a second.
type Units struct{ Min, Max int }

// Target is the share of what is provisioned, in percent, at which auto scaling adds more.
const Target = 70

// DefaultCapacity returns a capacity on demand. Where the mode is changed to Provisioned, the most
// is what an account may have for a table unless it asks for more.
func DefaultCapacity() Capacity {
	return Capacity{Mode: OnDemand, Read: Units{5, 40_000}, Write: Units{5, 40_000}}
}

// Capacities returns the modes.
func Capacities() []string { return []string{OnDemand, Provisioned} }

// Settings returns the settings of the capacity.
func (c *Capacity) Settings() []config.Setting {
	return []config.Setting{
		{Key: "capacity", Value: config.Choice(&c.Mode, Capacities()...),
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

// scaled returns the dimensions of a table and its indexes.
func (c Capacity) scaled(t ddb.Table) (all []scaled) {
	add := func(kind, resource, name string) {
		for _, d := range []struct {
			kind string
			Units
		}{{"Read", c.Read}, {"Write", c.Write}} {
			all = append(all, scaled{
				Resource: resource, Dimension: "dynamodb:" + kind + ":" + d.kind + "CapacityUnits",
				Metric: "DynamoDB" + d.kind + "CapacityUtilization",
				Name:   "andon-" + name + "-" + d.kind, Units: d.Units,
			})
		}
	}
	add("table", "table/"+t.Name, t.Name)
	for _, i := range t.Indexes {
		add("index", "table/"+t.Name+"/index/"+i.Name, t.Name+"-"+i.Name)
	}
	return all
}
