package cassandrastore

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// The designs of this file have a partition for each device, as the reference has its second and
// fourth: no partition grows with the fleet, and no node is asked more than the others. Their rows
// come in the order of tokens, so a request for a page of a list reads all of it.

// scatteredIndexDesign is the reference's second with PRIMARY KEY ((tenant, device)): one row a
// device, and a legacy secondary index by tenant and state, which each node has of its own rows.
//
// Partition: one a device. Write: one row with every newest entry, and the index beside it on each
// replica. Read: all nodes, by their indexes, all devices of the state whichever page is asked for;
// for a list of several states, all devices of all tenants. What breaks it: lists that are asked
// often; and the index has a state of a tenant in one partition on each node, with a tombstone for
// each device that left it within gc_grace.
type scatteredIndexDesign struct{ oneRow }

func newScatteredIndexDesign() scatteredIndexDesign {
	return scatteredIndexDesign{oneRow{"latest_state_indexed", scatteredKey}}
}

func (scatteredIndexDesign) tables() []table {
	return []table{
		{"latest_state_indexed", "The state that a device is in, written at the time of its " +
			"entry: the key of the state, and the tenant.",
			`(tenant text, device text, key text, PRIMARY KEY ((tenant, device)))`},
		{"latest_state_indexed_key", "The devices by tenant and state.",
			"INDEX ON latest_state_indexed (key)"},
	}
}

// scatteredKey is the key of a state with its tenant. A state holds no 0, so that of two states at
// one instant the one that comes later in the log still has the greater bytes.
func scatteredKey(p place) string { return stateKey(p.severity, p.state) + "\x00" + p.tenant }

func (scatteredIndexDesign) find(p place) []finding {
	return []finding{{
		question{"SELECT device, tenant, key FROM latest_state_indexed WHERE key = ?", 0},
		[]any{scatteredKey(p)}, scatteredKeys,
	}}
}

func (scatteredIndexDesign) findAll(place) []finding {
	return wholeTable("SELECT device, tenant, key FROM latest_state_indexed", scatteredKeys)
}

// scatteredTablesDesign is the reference's fourth with PRIMARY KEY ((tenant, device)): a table for
// each state that was declared when the design was chosen, and one for the rest.
//
// Partition: one a device in each table. Write: one row at a change, and one deleted later. Read:
// the whole table, of all tenants, whichever page is asked for, and a tombstone for each device
// that left the state within gc_grace. What breaks it: lists that are asked often, many tenants;
// and as with tablesDesign, many states.
type scatteredTablesDesign struct{ stateTables }

func newScatteredTablesDesign(states []andon.State) scatteredTablesDesign {
	return scatteredTablesDesign{stateTables{"latest_of_", states}}
}

func (d scatteredTablesDesign) tables() []table {
	all := []table{{d.rest(), "Devices that may be in a state without a table of its own.",
		`(tenant text, state text, device text, PRIMARY KEY ((tenant, device), state))`}}
	for _, state := range d.states {
		all = append(all, table{d.of(state), "Devices that may be in that state.",
			`(tenant text, device text, PRIMARY KEY ((tenant, device)))`})
	}
	return all
}

func (d scatteredTablesDesign) find(p place) []finding {
	if slices.Contains(d.states, p.state) {
		return wholeTable("SELECT device, tenant FROM "+d.of(p.state), scattered)
	}
	return wholeTable("SELECT device, tenant, state FROM "+d.rest(), scatteredStates)
}

// wholeTable reads a table in parts of the ring, side by side.
func wholeTable(ask string, rows rowsOf) []finding {
	const parts = 16
	const step = math.MaxUint64/parts + 1
	all := make([]finding, parts)
	for i := range all {
		from := int64(uint64(i)*step) + math.MinInt64
		all[i] = finding{
			question{ask + " WHERE token(tenant, device) >= ? AND token(tenant, device) <= ?", 0},
			[]any{from, from + int64(step-1)}, rows,
		}
	}
	return all
}

// foundRow is a row of a scattered finding. What is not asked for is empty.
type foundRow struct{ device, key, tenant string }

// state is the state of a row that has it, or the key of it.
func (r *foundRow) state(rows rowsOf) andon.State {
	if rows == scatteredStates {
		return andon.State(r.key)
	}
	key, _, _ := strings.Cut(r.key, "\x00")
	return stateOf(key)
}

// scatteredPage is how many rows are asked for at a time: all of them are wanted.
const scatteredPage = 5000

// gather returns all that scattered findings give of a tenant from a device on, in order. The pages
// behind the first one of a list go by what was read for a first one, where no other process can
// have written since.
func (s *Store) gather(
	ctx context.Context, all []finding, t *tenant, from andon.DeviceID, q andon.DeviceQuery,
) ([]andon.DeviceID, error) {
	key := t.Key + "\x00" + q.States.String()
	now := s.processes.now()
	if alone := s.processes.Alone(now); q.After != nil && alone != 0 {
		if ids, ok := s.listedDevices.From(key, alone, from); ok {
			andon.PlanOf(ctx).Add(andon.PlanStep{Statement: gatheredBefore, Rows: len(ids)})
			return ids, nil
		}
	}
	reading := s.listedDevices.Begin(t.Key)
	ids, err := s.gatherAll(ctx, all, t, q)
	if err != nil {
		return nil, err
	}
	s.listedDevices.Keep(reading, key, now, ids)
	at, _ := slices.BinarySearch(ids, from)
	return ids[at:], nil
}

const gatheredBefore = "-- the devices that were found for the first page, from memory: no other " +
	"process writes to this keyspace"

func (s *Store) gatherAll(
	ctx context.Context, all []finding, t *tenant, q andon.DeviceQuery,
) ([]andon.DeviceID, error) {
	found := make([][]andon.DeviceID, len(all))
	err := shared.Parallel(ctx, len(all), func(ctx context.Context, i int) error {
		f := &all[i]
		var r foundRow
		into := []any{&r.device, &r.tenant, &r.key}
		if f.rows == scattered {
			into = into[:2]
		}
		take := func() {
			if r.tenant == t.Key && (f.rows == scattered || q.States.Match(r.state(f.rows))) {
				found[i] = append(found[i], andon.DeviceID(deviceOf(r.device)))
			}
		}
		for state := []byte(nil); ; {
			next, err := s.readPage(ctx, f.question, scatteredPage, state, f.args, into, take)
			if err != nil || len(next) == 0 {
				return err
			}
			state = next
		}
	})
	sorted := slices.Concat(found...)
	slices.Sort(sorted)
	return slices.Compact(sorted), err
}
