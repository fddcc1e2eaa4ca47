package wrap

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// Fact is one thing about a store, in words, and where it comes from.
type Fact struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
	// Advice is what to do about it; absent where it is as it should be.
	Advice string `json:"advice,omitempty"`
}

// Facts returns what a store says of itself: what it declares, what its tenants are set to, and
// what it diagnoses. With an error the facts before it are returned.
func Facts(ctx context.Context, s andon.Store) ([]Fact, error) {
	facts := declared(s.Capabilities())
	tenants, err := s.Tenants(ctx)
	if err != nil {
		return facts, err
	}
	facts = append(facts, ofTenants(tenants)...)
	report := func(name, value, source string, advice ...string) {
		facts = append(facts, Fact{name, value, source, strings.Join(advice, " ")})
	}
	return facts, s.Diagnose(ctx, report)
}

func declared(c andon.Capabilities) (facts []Fact) {
	say := func(name, value string) {
		facts = append(facts, Fact{Name: name, Value: value, Source: "what the store declares"})
	}
	either := func(is bool, one, other string) string {
		if is {
			return one
		}
		return other
	}
	const whole, parts = "all or none", "may be in part"
	say("engine", c.Name)
	say("acknowledged events are shown", either(c.Immediate, "at once", "in a moment"))
	if c.Consistency {
		say("consistency of a read", "strong or eventual, as its request asks")
	}
	say("the events of a request are kept", either(c.AtomicBatch, whole, parts))
	say("the assignments of a request are kept", either(c.AtomicAssign, whole, parts))
	if c.CountsLag > 0 {
		say("counts per state",
			"of this process at once, of others within "+c.CountsLag.String())
	}
	if c.ListsLag > 0 {
		say("a list by state, after an entry was withdrawn while another process wrote",
			"has the device within "+c.ListsLag.String())
	}
	if c.Changes {
		say("feed of changes", either(c.ChangesShared, "of all that write", "of this process")+
			"; "+either(c.ChangesDurable, "positions outlive a restart", "ends with it"))
	}
	var missing []string
	for _, can := range []struct {
		serve bool
		what  string
	}{
		{c.Whole, "more than the log of entries and what single devices show"},
		{c.SortDevices, "devices in orders other than by id"},
		{c.MetricReadings, "one metric across devices"},
		{c.TenantEvents, "entries of all devices in one list"},
		{c.Withdraw, "withdrawing an entry"},
		{c.Purge, "purging a device"},
		{c.Reorder, "another severity of a state that has entries"},
		{c.CountNames, "how many devices a name has"},
		{c.Changes, "a feed of changes"},
		{c.Arrivals, "entries in the order of their arrival"},
	} {
		if !can.serve {
			missing = append(missing, can.what)
		}
	}
	if len(missing) > 0 {
		say("can't serve", strings.Join(missing, "; "))
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
