package test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/enginetest"
	cassandra "github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// keyspace is a keyspace of a test's own.
type keyspace struct {
	hosts  []string // host:port of each node, or of a proxy before it
	name   string
	design string // that devices are found by state with
}

// newKeyspace makes one by "andon store init", with further arguments for that. It goes with the
// test.
func newKeyspace(t *testing.T, hosts []string, design string, more ...string) keyspace {
	t.Helper()
	name := strings.ReplaceAll(design, "-", "_")
	k := keyspace{hosts, fmt.Sprintf("program_%s_%08x", name, rand.Uint32()), design}
	t.Cleanup(func() { k.drop(t) })
	args := append([]string{"store", "init"}, k.flags()...)
	out, errs, code := run(t, append(args, more...)...)
	if code != 0 || !strings.Contains(out, "The schema of the store cassandra is complete") {
		t.Fatalf("store init ended with %d:\n%s%s", code, out, errs)
	}
	return k
}

// flags are the arguments of every command that works on the keyspace.
func (k keyspace) flags() []string {
	return []string{
		"--store", "cassandra", "--cassandra-hosts", strings.Join(k.hosts, ","),
		"--cassandra-keyspace", k.name, "--cassandra-latest", k.design,
	}
}

// serve starts a server on the keyspace, which ends with the test.
func (k keyspace) serve(t *testing.T, more ...string) *server {
	t.Helper()
	return serveQuietly(t, slices.Concat(k.flags(), more)...)
}

// serveQuietly starts a server that logs errors only, which ends with the test.
func serveQuietly(t *testing.T, flags ...string) *server {
	t.Helper()
	return start(t, append([]string{"--log-level", "error", "--log-audit", "off"}, flags...)...)
}

// drop drops the keyspace, which matters on an engine of the user's. One that was ended has nothing
// to be dropped from.
func (k keyspace) drop(t *testing.T) {
	c, err := net.DialTimeout("tcp", k.hosts[0], time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	cql := "DROP KEYSPACE IF EXISTS " + k.name
	query := binary.BigEndian.AppendUint32(nil, uint32(len(cql)))
	query = append(append(query, cql...), 0, 1, 0) // at consistency ONE, no values
	startup := []byte("\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0")
	for _, request := range []struct {
		op   byte
		body []byte
	}{{opStartup, startup}, {opQuery, query}} {
		frame := []byte{4, 0, 0, 0, request.op} // version 4 of the protocol
		frame = binary.BigEndian.AppendUint32(frame, uint32(len(request.body)))
		c.Write(append(frame, request.body...))
		var head [frameHeader]byte
		if _, err := io.ReadFull(c, head[:]); err != nil || head[4] == opError {
			t.Logf("drop %s: the answer is of kind %d, %v", k.name, head[4], err)
			return
		}
		io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[5:])))
	}
}

// TestSerialCassandraAnswers: under each design the answers are those that are known of the
// reference's log and of the log of the escalators. That is imported in one of four orders, a part
// of the units under each design, so that all of them are under some.
func TestSerialCassandraAnswers(t *testing.T) {
	node := enginetest.Cassandra(t)
	stateLog, metro := stateLogLines(t), metroLog(t)
	names := []string{"shuffled", "reversed", "twice", "file"}
	for i, design := range cassandra.Names() {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			k := newKeyspace(t, []string{node.Addr()}, design)
			s := k.serve(t)
			for range 2 { // the second delivery changes nothing
				s.send(t, "POST", "/api/v1/events", "application/x-ndjson", stateLog)
			}
			for _, q := range deviceStateLogAnswers {
				if diff := cmp.Diff(q.want, s.entries(t, q.path)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", q.path, diff)
				}
			}
			log := unitsOf(metro, i, len(cassandra.Names()))
			order, byUnit := names[i%len(names)], rowsByUnit(log)
			c := s.tenant(t, order, metroTenant)
			importMetro(t, s, order, metroOrders(log)[order])
			checkMetroListed(t, c, byUnit)
			for j, unit := range slices.Sorted(maps.Keys(byUnit)) {
				if j%4 == 0 { // these are looked at in full
					checkUnit(t, c, unit, byUnit[unit])
				}
			}
		})
	}
}

// unitsOf returns the rows of one part of the units.
func unitsOf(log []status, part, parts int) []status {
	units := slices.Sorted(maps.Keys(rowsByUnit(log)))
	return slices.DeleteFunc(slices.Clone(log), func(s status) bool {
		at, _ := slices.BinarySearch(units, s.unit)
		return at%parts != part
	})
}

// checkMetroListed checks the lists by state and the counts, in which the designs differ.
func checkMetroListed(t *testing.T, c *client.Client, byUnit map[andon.DeviceID][]status) {
	t.Helper()
	want, counts := map[andon.State][]andon.DeviceID{}, map[andon.State]int{}
	for _, unit := range slices.Sorted(maps.Keys(byUnit)) {
		rows := byUnit[unit]
		category := rows[len(rows)-1].category
		want[category] = append(want[category], unit)
		counts[category]++
	}
	if diff := cmp.Diff(counts, counted(t, c)); diff != "" || len(byUnit) < 308/10 {
		t.Errorf("counts of %d units (-want +got):\n%s", len(byUnit), diff)
	}
	for _, category := range []andon.State{"ON", "INSPECTION", "OFF", "REHAB", "BROKEN"} {
		var got []andon.DeviceID
		for _, d := range collect(t, c.Devices(t.Context(), client.DeviceQuery{
			State: string(category),
		})) {
			got = append(got, d.Device)
		}
		if diff := cmp.Diff(want[category], got); diff != "" {
			t.Errorf("units that are %s (-want +got):\n%s", category, diff)
		}
	}
}

// stateLogLines returns the entries of the reference's log, one on each line.
func stateLogLines(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	for _, item := range modelItems(t, "devicestatelog/DeviceStateLog_7.json") {
		line, err := json.Marshal(map[string]string{
			"device": item["DeviceID"].S, "time": item["Date"].S, "state": item["State"].S,
			"operator": item["Operator"].S, "escalated_to": item["EscalatedTo"].S,
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	return lines.String()
}

// rowsByUnit returns the rows of each unit, oldest first.
func rowsByUnit(log []status) map[andon.DeviceID][]status {
	byUnit := map[andon.DeviceID][]status{}
	for _, s := range log {
		byUnit[s.unit] = append(byUnit[s.unit], s)
	}
	for _, rows := range byUnit {
		slices.SortFunc(rows, func(a, b status) int { return int(a.from - b.from) })
	}
	return byUnit
}
