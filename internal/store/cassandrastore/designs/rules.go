package designs

import (
	"hash/crc32"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// BucketCounts are how many buckets states have, by rules joined by commas:
//
//	16                  of all
//	WARNING4=4          of a state
//	metro/*=32          of a tenant
//	metro/NORMAL=64     of a state of a tenant
//	a%2Fb/NORMAL=8      in a name, a slash, a comma and % are escaped as in a URL
//	hash:hex3           the hash of a device's id, one of Hashes
//
// The most specific rule applies: of a tenant's state, of a tenant, of a state, of all.
type BucketCounts struct {
	all   int
	rules map[bucketRule]int
	hash  string
}

// Hashes returns the hashes by which devices are spread over buckets, the default first. hex3 is
// that of the article: the first three hexadecimal digits of a UUID. An id without them is spread
// by the default.
func Hashes() []string { return []string{"fnv1a", "hex3", "crc32c"} }

// Bucket returns the bucket of a device among n, and what partitions are keyed with instead of n:
// it differs by the hash.
func (c BucketCounts) Bucket(device string, n int) (key, bucket int) {
	h := shared.Hash(device)
	switch c.hash {
	case "hex3":
		if digits, err := strconv.ParseUint(device[:min(len(device), 3)], 16, 64); err == nil {
			return c.key(n), int(digits % uint64(n))
		}
	case "crc32c":
		h = uint64(crc32.Checksum([]byte(device), crc32.MakeTable(crc32.Castagnoli)))
	}
	return c.key(n), shared.Spread(h, n)
}

func (c BucketCounts) key(n int) int {
	return max(slices.Index(Hashes(), c.hash), 0)*10_000 + n
}

// bucketRule is what a rule is for; what is absent may be any.
type bucketRule struct {
	tenant andon.TenantID
	state  andon.State
}

// How many buckets a state has where no rule says it, and at most.
const (
	DefaultBuckets = 16
	MaxBuckets     = 1024
)

// Count returns how many buckets a state has.
func (c BucketCounts) Count(tenant string, state andon.State) int {
	id, _, _ := strings.Cut(tenant, "\t")
	for _, r := range []bucketRule{
		{andon.TenantID(id), state}, {andon.TenantID(id), ""}, {"", state},
	} {
		if n, ok := c.rules[r]; ok {
			return n
		}
	}
	return c.all
}

// Equal reports whether two sets of rules are the same.
func (c BucketCounts) Equal(o BucketCounts) bool {
	return c.all == o.all && c.hash == o.hash && maps.Equal(c.rules, o.rules)
}

// ParseBuckets parses rules; "" is the default for all states.
func ParseBuckets(text string) (BucketCounts, error) {
	c := BucketCounts{rules: map[bucketRule]int{}}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		fail := func(reason string) (BucketCounts, error) {
			return c, andon.Errorf(andon.Invalid, "%q %s: rules of buckets are of the forms 16, "+
				"WARNING4=4, metro/*=32, metro/NORMAL=64 and a%%2Fb=8, with numbers from 1 to %d",
				part, reason, MaxBuckets)
		}
		if hash, ok := strings.CutPrefix(part, "hash:"); ok && !strings.Contains(hash, "=") {
			if c.hash != "" || !slices.Contains(Hashes(), hash) {
				return fail("is a second hash, or none of " + strings.Join(Hashes(), ", "))
			}
			c.hash = hash
			continue
		}
		end := strings.LastIndexByte(part, '=')
		n, err := strconv.Atoi(part[end+1:])
		if err != nil || n < 1 || n > MaxBuckets {
			return fail("ends in no such number")
		}
		if end < 0 {
			if c.all != 0 {
				return fail("is a second number for all")
			}
			c.all = n
			continue
		}
		r, reason := parseBucketRule(part[:end])
		if reason != "" {
			return fail(reason)
		}
		if _, twice := c.rules[r]; twice {
			return fail("is a second rule for the same")
		}
		c.rules[r] = n
	}
	if c.all == 0 {
		c.all = DefaultBuckets
	}
	if c.hash == "" {
		c.hash = Hashes()[0]
	}
	return c, nil
}

// parseBucketRule parses what a rule is for, or returns why it can't.
func parseBucketRule(text string) (r bucketRule, reason string) {
	tenant, state, ofTenant := strings.Cut(text, "/")
	if !ofTenant {
		tenant, state = "", text
	}
	if strings.Contains(state, "/") {
		return r, "has several slashes: write %2F for one in a name"
	}
	name, err := url.PathUnescape(strings.TrimSpace(tenant))
	r.tenant = andon.TenantID(name)
	if err != nil || name == "*" || ofTenant && r.tenant.Validate() != nil {
		return r, "names no tenant that there can be"
	}
	if state = strings.TrimSpace(state); state == "*" && ofTenant {
		return r, ""
	}
	name, err = url.PathUnescape(state)
	if r.state = andon.State(name); err != nil || r.state.Validate() != nil {
		return r, "names no state that there can be"
	}
	return r, ""
}
