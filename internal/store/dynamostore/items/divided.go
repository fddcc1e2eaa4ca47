package items

import (
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/tenants"
)

// The service takes 1,000 write units a second for one key of an index, too. So the keys of what
// many devices share can be divided, each as the partition of a device is:
//
//	GSI1, ByOperator    <tenant>#<operator>, <tenant>#<operator>#shard01 ...
//	GSI2, BySupervisor  <tenant>#<supervisor>, ...
//	ByState             <tenant>#state#<state>, ...
//	MetricGSI           <tenant>#<metric>, ...
//
// The record of the tenant has the numbers, since every process reads it each second. They only
// grow. There are two for each key: readers ask so many keys, and once every process does writers
// use as many.
const (
	OfDevice     = "device" // its number is in its own item
	OfOperator   = "operator"
	OfSupervisor = "supervisor"
	OfState      = ListState
	OfMetric     = "metric"

	// MostDivided bounds how many numbers the record of a tenant has.
	MostDivided = 256
)

// DividedName names what the keys of an index are of, as the record of a tenant has it. Without a
// name it is all of the kind.
func DividedName(of, name string) string {
	if name == "" {
		return of
	}
	return of + "#" + name
}

// Divided returns in how many keys something is.
func Divided(t *tenant, of, name string) tenants.Divided {
	is, all := t.Divided[DividedName(of, name)], t.Divided[of]
	return tenants.Divided{Read: max(1, is.Read, all.Read), Write: max(1, is.Write, all.Write)}
}

func indexKey(t *tenant, of, name, item string) string {
	shard := ShardOf(item, Divided(t, of, name).Write)
	return ShardKey(undivided(t, of, name), shard)
}

// IndexQueries returns the query of an index for each of the keys that a name has.
func IndexQueries(t *tenant, of, name string, q ddb.Query) (all []ddb.Query) {
	for shard := range Divided(t, of, name).Read {
		q.Partition = ShardKey(undivided(t, of, name), shard)
		all = append(all, q)
	}
	return all
}

// undivided returns the key of what is not divided.
func undivided(t *tenant, of, name string) string {
	if of == OfState {
		return Join(t.Key, of, name)
	}
	return Join(t.Key, name)
}

// RateKey names the keys of a name among the rates.
func RateKey(t *tenant, of, name string) string { return of + " " + undivided(t, of, name) }

// RateKeys returns those of an item of the log or of the readings.
func RateKeys(i ddb.Item) (all []string) {
	for _, x := range [...]struct{ attr, of string }{
		{AttrOperator, OfOperator}, {AttrEscalated, OfSupervisor}, {AttrMetricType, OfMetric},
	} {
		if key := i.Text(x.attr); key != "" {
			all = append(all, x.of+" "+key)
		}
	}
	return all
}

// Named is what the keys of an index are of.
type Named struct{ Of, Name string }

// Listed returns what a device is found by: its state, its operator, its supervisor.
func (d *Device) Listed() (all []Named) {
	if !d.Alive() {
		return nil
	}
	show := d.Show(d.Tenant.Record.States)
	all = append(all, Named{OfState, string(d.State)})
	if show.Operator != "" {
		all = append(all, Named{OfOperator, string(show.Operator)})
	}
	if show.EscalatedTo != "" {
		all = append(all, Named{OfSupervisor, string(show.EscalatedTo)})
	}
	return all
}
