package items

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// tenant is what is known of one tenant.
type tenant = shared.Tenant

// Keys of the layout andon. <d> is <tenant>#<device>, and after a purge followed by #life
// and its version; what a person named is escaped: % as %25 and # as %23. <time> is RFC
// 3339 in UTC with six digits of a second, so that it sorts.
//
//	table            partition key                   sort key                  item
//	DeviceStateLog   <d>, <d>#shard01 ...            <state>#<time>            an entry
//	DeviceStateLog   <d>#escalated                   <state>#<time>            newest escalation
//	DeviceStateLog   <d>#escalations                 <state>#<time>#<at>#<to>  an earlier one
//	Devices          <tenant>#<device>                                         what it shows
//	Readings         <d>, <d>#shard01 ...            <time>#<hash>             a message
//	Records          record#<tenant>#<kind>          <id>                      a document
//	Records          state#<tenant>                  <state>                   it has entries
//	Records          name#<tenant>#<of>              <name>                    it is in use
//	Records          metric#<tenant>#<name>#<n>      <device>                  it may have it
//	Records          assignment#<d>                  <from>                    an earlier one
//	Records          retirement#<d>                  <at>                      an earlier one
//	Records          withdrawal#<d>                  <state>#<time>            a withdrawal
//	Records          change#<tenant>#<n>             <number>                  changes of devices
//	Records          change#<tenant>                 <n>                       where they begin
//	Records          index                           MetricGSI                 the listed metrics
//
// In GSI1 and ByOperator the partition is <tenant>#<operator>, in GSI2 and BySupervisor
// <tenant>#<supervisor>, in MetricGSI <tenant>#<metric>. A list is <tenant>#state#<state>,
// <tenant>#retired#<n> or <tenant>#silent#<n>, of devices without an entry. All but the last two
// can be divided (divided.go). Due is in <kind>#<n> by <time>#<tenant><tab><id>.
//
// A tenant that was deleted and created again must not meet what is left of its earlier
// incarnation. So from its second incarnation on, <tenant> is the id, ## and the number of
// incarnations before it.

// TenantKey returns what a tenant is in keys that was deleted so many times.
func TenantKey(id andon.TenantID, incarnation int) string {
	if incarnation == 0 {
		return Escape(string(id))
	}
	return Escape(string(id)) + "##" + strconv.Itoa(incarnation)
}

// TenantOf returns the tenant of a key, of whichever incarnation.
func TenantOf(key string) andon.TenantID {
	id, _, _ := strings.Cut(key, "##")
	return andon.TenantID(unescape(id))
}

// Escape returns a name as it is in a key.
func Escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "%", "%25"), "#", "%23")
}

func unescape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "%23", "#"), "%25", "%")
}

// Join makes a key of a tenant's key and names.
func Join(tenant string, names ...string) string {
	var b strings.Builder
	b.WriteString(tenant)
	for _, name := range names {
		b.WriteByte('#')
		b.WriteString(Escape(name))
	}
	return b.String()
}

// DeviceKey returns <tenant>#<device>.
func DeviceKey(tenant string, device andon.DeviceID) string { return Join(tenant, string(device)) }

// SplitDevice takes the tenant and the device from a key that begins with <d>.
func SplitDevice(key string) (tenant string, device andon.DeviceID) {
	id, rest, _ := strings.Cut(key, "#")
	if strings.HasPrefix(rest, "#") { // a later incarnation
		incarnation, after, _ := strings.Cut(rest[1:], "#")
		id, rest = id+"##"+incarnation, after
	}
	name, _, _ := strings.Cut(rest, "#")
	return id, andon.DeviceID(unescape(name))
}

// ShardKey returns the partition of a shard. The first is that of a device with one.
func ShardKey(key string, shard int) string {
	if shard == 0 {
		return key
	}
	return fmt.Sprintf("%s%s%02d", key, shardMark, shard)
}

// shardMark follows <d>. No name has it, since # is escaped.
const shardMark = "#shard"

// ShardOf says which of n shards, a power of two, something of a device is in. It is in one of them
// for each smaller n, too: those are all places where an item can be that was written before the
// number grew, or by a process that had not seen it.
func ShardOf(name string, n int) int { return shared.Spread(shared.Hash(name), n) }

// ShardsOf returns all shards, of up to n, that something can be in.
func ShardsOf(name string, n int) []int {
	all := []int{0}
	for of := 2; of <= n; of *= 2 {
		if shard := ShardOf(name, of); shard != all[len(all)-1] {
			all = append(all, shard)
		}
	}
	return all
}

// fixed is the layout of a time of fixed width.
const fixed = "2006-01-02T15:04:05.000000Z"

// TimeText returns a time as it is in keys.
func TimeText(t andon.Time) string { return t.Std().Format(fixed) }

// TimeBounds returns those of the keys that begin with a time in a span and #.
func TimeBounds(span andon.Span) (from, to string) {
	end := andon.MaxTime
	if span.To != 0 {
		end = min(span.To, end)
	}
	return TimeText(span.From), TimeText(end) + "$" // just after #
}

// ParseTime reads what TimeText returned.
func ParseTime(text string) (andon.Time, error) {
	t, err := time.Parse(fixed, text)
	if err != nil {
		return 0, andon.Errorf(andon.Damaged, "a key has the time %q: %w", text, err)
	}
	return andon.TimeOf(t), nil
}

// StateDate returns <state>#<time>.
func StateDate(state andon.State, at andon.Time) string {
	return Escape(string(state)) + "#" + TimeText(at)
}

// SplitStateDate reads what begins with <state>#<time>.
func SplitStateDate(text string) (ref andon.EntryRef, rest string, err error) {
	state, date, _ := strings.Cut(text, "#")
	date, rest, _ = strings.Cut(date, "#")
	at, err := ParseTime(date)
	return andon.EntryRef{Time: at, State: andon.State(unescape(state))}, rest, err
}

// Buckets is how many partitions the retired and the silent devices, and the devices of a metric,
// have. It is part of what is stored.
const Buckets = 4

// BucketOf returns the bucket of a device or a record.
func BucketOf(id string) string { return strconv.Itoa(shared.Spread(shared.Hash(id), Buckets)) }

// The lists of devices.
const (
	ListState   = "state"
	ListRetired = "retired"
	ListSilent  = "silent" // without an entry
)
