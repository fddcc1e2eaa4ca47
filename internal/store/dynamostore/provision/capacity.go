package provision

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// The capacity modes of a table.
const (
	OnDemand    = "on-demand"
	Provisioned = "provisioned"
)

// Capacity is how tables are paid for, and what else a new one has. Read and Write are of each
// table and of each index.
type Capacity struct {
	Mode     string // OnDemand or Provisioned
	Read     Units
	Write    Units
	Stream   string // StreamNone, or what the stream of a table has of a changed item
	Recovery bool   // to any second of the last 35 days
}

// Units are capacity units a second: a new table has Min provisioned, and the auto scaling of a
// template moves that up to Max. On demand, Max limits what is used unless it is what an account
// may have, and a new table takes Warm at once.
type Units struct{ Min, Max, Warm int }

// Target is the share of what is provisioned, in percent, at which auto scaling adds more.
const Target = 70

// StreamNone is no stream.
const StreamNone = "none"

// DefaultCapacity returns a capacity on demand, with what the service gives unless it is asked for
// more: at most 40,000 units a second of a table, and 12,000 read and 4,000 write units of a new
// one.
func DefaultCapacity() Capacity {
	return Capacity{Mode: OnDemand, Stream: StreamNone, Recovery: true,
		Read: Units{5, 40_000, 12_000}, Write: Units{5, 40_000, 4000}}
}

// Capacities returns the modes.
func Capacities() []string { return []string{OnDemand, Provisioned} }

// Settings returns the settings of the capacity.
func (c *Capacity) Settings() []config.Setting {
	all := []config.Setting{
		{Key: "capacity", Value: config.Choice(&c.Mode, Capacities()...),
			Help: "how tables that andon store init makes are paid for; auto scaling of what is " +
				"provisioned is in andon store template"},
		{Key: "stream", Value: config.Choice(&c.Stream, StreamNone, "keys-only", "new-image",
			"old-image", "new-and-old-images"),
			Help: "what the streams of new tables have of a changed item, for other programs"},
		{Key: "recovery", Value: config.OnOff(&c.Recovery),
			Help: "whether new tables can be recovered to any second of 35 days"},
	}
	for _, u := range []struct {
		kind string
		*Units
	}{{"read", &c.Read}, {"write", &c.Write}} {
		all = append(all, config.Setting{Key: u.kind + "_min", Value: config.Count(&u.Min),
			Help: "least " + u.kind + " units a second of each table and index, where provisioned"},
			config.Setting{Key: u.kind + "_max", Value: config.Count(&u.Max).That(func() error {
				if u.Min > u.Max {
					return fmt.Errorf("%s_min is %d, and more than %[1]s_max, %d", u.kind, u.Min,
						u.Max)
				}
				return nil
			}),
				Help: "most " + u.kind +
					" units a second of each table and index; on demand there " +
					"is no limit unless it is below 40000"},
			config.Setting{Key: u.kind + "_warm", Value: config.Count(&u.Warm),
				Help: u.kind + " units a second that each new table and index on demand takes at " +
					"once; DynamoDB charges once for more than it gives"})
	}
	return all
}

// Limits returns the most that may be used on demand; nil where it is what an account may have.
func (c Capacity) Limits() *types.OnDemandThroughput {
	most := DefaultCapacity()
	if c.Mode == Provisioned || c.Read.Max >= most.Read.Max && c.Write.Max >= most.Write.Max {
		return nil
	}
	return &types.OnDemandThroughput{MaxReadRequestUnits: aws.Int64(int64(c.Read.Max)),
		MaxWriteRequestUnits: aws.Int64(int64(c.Write.Max))}
}

// Warmed returns what a new table takes at once; nil where it is what the service gives.
func (c Capacity) Warmed() *types.WarmThroughput {
	given := DefaultCapacity()
	if c.Mode == Provisioned || c.Read.Warm <= given.Read.Warm && c.Write.Warm <= given.Write.Warm {
		return nil
	}
	return &types.WarmThroughput{ReadUnitsPerSecond: aws.Int64(int64(c.Read.Warm)),
		WriteUnitsPerSecond: aws.Int64(int64(c.Write.Warm))}
}

// provisioned returns what a new table has provisioned; nil on demand.
func (c Capacity) provisioned() *types.ProvisionedThroughput {
	if c.Mode != Provisioned {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(int64(c.Read.Min)),
		WriteCapacityUnits: aws.Int64(int64(c.Write.Min))}
}

// View returns what a stream has of an item, as the service names it; "" for no stream.
func (c Capacity) View() string {
	if c.Stream == StreamNone {
		return ""
	}
	return strings.ToUpper(strings.ReplaceAll(c.Stream, "-", "_"))
}

type scaled struct {
	Resource  string // "table/andon-Devices/index/ByState"
	Dimension string // "dynamodb:index:WriteCapacityUnits"
	Metric    string // "DynamoDBWriteCapacityUtilization"
	Name      string // of the policy
	Units
}

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
