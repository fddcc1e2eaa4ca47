package designs

import (
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
)

// BucketCounts are how many buckets states have, by rules joined by commas:
//
//	16                  of all
//	WARNING4=4          of a state
//	metro/*=32          of a tenant
//	metro/NORMAL=64     of a state of a tenant
//	a%2Fb/NORMAL=8      in a name, a slash, a comma and % are escaped as in a URL
//
// The most specific rule applies: of a tenant's state, of a tenant, of a state, of all.
type BucketCounts struct {
	all   int
	rules map[bucketRule]int
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
	return c.all == o.all && maps.Equal(c.rules, o.rules)
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
