package wrap

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// StoreDoctor is a store that can say how its engine is set up, beyond what the contract of a store
// asks for: the replication of a keyspace, the capacity of a table. A store need not be one.
type StoreDoctor interface {
	// Diagnose tells one thing after the other, where each comes from (the statement or the call
	// that a person can repeat), and what to do about it where it is not as it should be. Nothing
	// that it tells is a secret.
	Diagnose(ctx context.Context, tell func(name, value, source string, advice ...string)) error
}

// Fact is one thing about a store, in words, and where it comes from.
type Fact struct {
	Name   string
	Value  string
	Source string
	Advice string // what to do about it; absent where it is as it should be
}

// Facts returns what a store says of itself: what it declares, what its tenants are set to, and
// what it has to add where it is a StoreDoctor. An error is that of the first question which has
// none; what was answered before it is returned with it.
func Facts(ctx context.Context, s andon.Store) ([]Fact, error) {
	facts := declared(s.Capabilities())
	tenants, err := s.Tenants(ctx)
	if err != nil {
		return facts, err
	}
	facts = append(facts, ofTenants(tenants)...)
	tell := func(name, value, source string, advice ...string) {
		facts = append(facts, Fact{name, value, source, strings.Join(advice, " ")})
	}
	if _, ok := As[StoreDoctor](s); ok {
		ask := func(d StoreDoctor) error { return d.Diagnose(ctx, tell) }
		err = Ask(ctx, s, "Diagnose", "has nothing to add", ask)
	}
	return facts, err
}

func declared(c andon.Capabilities) []Fact {
	const source = "what the store declares"
	shown := "in a moment"
	if c.Immediate {
		shown = "at once"
	}
	kept := "may be in part"
	if c.AtomicBatch {
		kept = "all or none"
	}
	facts := []Fact{
		{Name: "engine", Value: c.Name, Source: source},
		{Name: "acknowledged events are shown", Value: shown, Source: source},
		{Name: "the events of a request are kept", Value: kept, Source: source},
	}
	if c.CountsBehind > 0 {
		facts = append(facts, Fact{
			Name: "counts per state", Source: source,
			Value: "of this process at once, of others within " + c.CountsBehind.String(),
		})
	}
	var missing []string
	if !c.SortDevices {
		missing = append(missing, "devices in orders other than by id")
	}
	if !c.MetricReadings {
		missing = append(missing, "one metric across devices")
	}
	if !c.Withdraw {
		missing = append(missing, "withdrawing an entry")
	}
	if !c.Purge {
		missing = append(missing, "purging a device")
	}
	if !c.Reorder {
		missing = append(missing, "another severity of a state that has entries")
	}
	if !c.CountNames {
		missing = append(missing, "how many devices a name has")
	}
	if len(missing) > 0 {
		facts = append(facts, Fact{
			Name: "can't serve", Value: strings.Join(missing, "; "), Source: source,
		})
	}
	return facts
}

// ofTenants says how many there are, and for how many of them which retention holds: a list of each
// would be long, and most are alike.
func ofTenants(tenants []andon.Tenant) []Fact {
	const source = "the records of the tenants"
	alike := map[string]int{}
	for _, t := range tenants {
		alike["events "+t.Events.String()+", readings "+t.Readings.String()]++
	}
	facts := []Fact{{Name: "tenants", Value: strconv.Itoa(len(tenants)), Source: source}}
	for _, kept := range slices.Sorted(maps.Keys(alike)) {
		facts = append(facts, Fact{
			Name: "retention of " + tenantCount(alike[kept]), Value: kept, Source: source,
		})
	}
	return facts
}

func tenantCount(n int) string {
	if n == 1 {
		return "1 tenant"
	}
	return strconv.Itoa(n) + " tenants"
}
