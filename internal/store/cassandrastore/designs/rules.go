package designs

import (
	"maps"
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
//	"a/b"/NORMAL=8      a name with a slash, a comma, or a space at an end is quoted
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
	for _, part := range splitOutside(text, ',') {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		fail := func(reason string) (BucketCounts, error) {
			return c, andon.Errorf(andon.Invalid, "%q %s: rules of buckets are of the forms 16, "+
				"WARNING4=4, metro/*=32, metro/NORMAL=64 and \"a/b\"=8, with numbers from 1 to %d",
				part, reason, MaxBuckets)
		}
		words := splitOutside(part, '=')
		n, err := strconv.Atoi(words[len(words)-1])
		if err != nil || n < 1 || n > MaxBuckets {
			return fail("ends in no such number")
		}
		if len(words) == 1 {
			if c.all != 0 {
				return fail("is a second number for all")
			}
			c.all = n
			continue
		}
		r, reason := parseBucketRule(strings.Join(words[:len(words)-1], "="))
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
	names := splitOutside(text, '/')
	if len(names) > 2 {
		return r, "has several slashes: quote the name that they are in"
	}
	last := len(names) - 1
	if len(names) == 2 {
		tenant, ok := unquoteName(names[0])
		if r.tenant = andon.TenantID(tenant); !ok || r.tenant.Validate() != nil {
			return r, "names no tenant that there can be"
		}
		if strings.TrimSpace(names[last]) == "*" {
			return r, ""
		}
	}
	state, ok := unquoteName(names[last])
	if r.state = andon.State(state); !ok || r.state.Validate() != nil {
		return r, "names no state that there can be"
	}
	return r, ""
}

// unquoteName takes the quotes off a name that has some.
func unquoteName(text string) (name string, ok bool) {
	if text = strings.TrimSpace(text); !strings.Contains(text, `"`) {
		return text, text != "*"
	}
	name, err := strconv.Unquote(text)
	return name, err == nil
}

// splitOutside splits a text at a separator, but not within quotes.
func splitOutside(text string, separator byte) (parts []string) {
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == separator:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}
