package storetest

import (
	"context"

	"github.com/andonhq/andon"
)

var paths = []andon.Group{"p", "p/h1", "p/h1/l", "p/h2", "q"}

// group says something of devices: their groups, a label, or the rules of all.
func (g *generator) group() step {
	tenant, device := pick(g, g.tenants), g.device()
	switch g.IntN(5) {
	case 0:
		return g.rules(tenant)
	case 1:
		kind := pick(g, []string{"a", "b", ""})
		return sending("label "+kind, tenant, device, func(
			ctx context.Context, s *subject,
		) (any, error) {
			c := andon.ProfileChange{Fields: andon.ProfileLabels}
			if c.Device = device; kind != "" {
				c.Labels = map[string]string{"kind": kind}
			}
			return nil, s.intake.ChangeProfiles(ctx, tenant, []andon.ProfileChange{c})
		})
	}
	var all []andon.ProfileChange
	for range 1 + g.IntN(3) {
		c := andon.ProfileChange{Fields: andon.ProfileGroup}
		c.Device, c.Group = g.device(), pick(g, append(paths, ""))
		all = append(all, c)
	}
	return sending("group", tenant, all, func(ctx context.Context, s *subject) (any, error) {
		return nil, s.intake.ChangeProfiles(ctx, tenant, all)
	})
}

func (g *generator) rules(tenant andon.TenantID) step {
	var rules []andon.GroupRule
	for range g.IntN(4) {
		r := andon.GroupRule{Group: pick(g, paths)}
		if r.Prefix = pick(g, []string{"d", "d1", "🏭", ""}); r.Prefix == "" {
			r.Attribute, r.Equals = "n", pick(g, []string{"1", "2"})
		}
		rules = append(rules, r)
	}
	return sending("rules", tenant, rules, func(ctx context.Context, s *subject) (any, error) {
		return nil, s.intake.PutGroupRules(ctx, tenant, rules)
	})
}

// groupQuestions asks for counts by group, and for the devices of some groups.
func (a *asker) groupQuestions() {
	a.list("groups")
	some := []string{"", string(andon.NoGroup), ""}
	for _, path := range paths {
		some = append(some, string(path))
	}
	for range 4 {
		a.list("selected", a.any("group", some...), a.any("label", "", "kind:a"),
			a.any("state", filters...))
	}
}
