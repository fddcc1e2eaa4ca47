package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/strictjson"
)

// groupsKind is that of the document of groups. It is none of the server's documents: a server
// keeps what it says with the devices.
const groupsKind = "groups"

// grouping is what the document of groups says. Rules that are absent stay as they are, as do the
// groups of devices that it does not name.
type grouping struct {
	Name    string            `json:"name"`
	Rules   []andon.GroupRule `json:"rules,omitempty"`
	Members []members         `json:"members,omitempty"`
}

type members struct {
	Group   andon.Group      `json:"group"`
	Devices []andon.DeviceID `json:"devices"`
}

// own are the groups of devices.
type own map[andon.DeviceID]andon.Group

// splitGroups takes the document of groups out of others. What is wrong is found before anything is
// applied.
func splitGroups(all []document) (others []document, of *document, g grouping, err error) {
	for i := range all {
		d := &all[i]
		switch {
		case d.Kind != groupsKind:
			others = append(others, *d)
			continue
		case of != nil:
			err = andon.AtField("body", "groups are in one document, and this is another one")
		default:
			err = strictjson.Decode(string(d.Content), &g)
		}
		if of = d; err == nil {
			_, err = g.own()
		}
		if e, ok := errors.AsType[*andon.Error](err); ok && len(e.Fields) > 0 {
			place := strings.TrimPrefix(strings.TrimPrefix(e.Fields[0].Location, "body"), ".")
			err = fmt.Errorf("%s\nNothing was applied", d.said(place, e.Message))
		}
		if err != nil {
			return nil, nil, g, err
		}
	}
	return others, of, g, nil
}

// own checks all that is said, and returns the groups of devices.
func (g *grouping) own() (own, error) {
	for i := range g.Rules {
		if err := g.Rules[i].Validate(); err != nil {
			return nil, andon.AtField(fmt.Sprintf("body.rules[%d]", i), "%s", err)
		}
	}
	all := own{}
	for i, m := range g.Members {
		place := fmt.Sprintf("body.members[%d].", i)
		if err := m.Group.Validate(); err != nil {
			return nil, andon.AtField(place+"group", "%s", err)
		}
		for j, device := range m.Devices {
			err := device.Validate()
			if other, twice := all[device]; twice && err == nil {
				err = fmt.Errorf("%s is in %s already: a device has one group", device, other)
			}
			if err != nil {
				return nil, andon.AtField(fmt.Sprintf("%sdevices[%d]", place, j), "%s", err)
			}
			all[device] = m.Group
		}
	}
	return all, nil
}

// apply puts what is different, and says whether there is something.
func (g *grouping) apply(ctx context.Context, c *client.Client, dry bool) (string, error) {
	is, of, err := readGroups(ctx, c)
	if err != nil {
		return "", err
	}
	want, err := g.own()
	if err != nil {
		return "", err
	}
	var moved []andon.ProfileChange
	for _, device := range slices.Sorted(maps.Keys(want)) {
		if of[device] != want[device] {
			change := andon.ProfileChange{Fields: andon.ProfileGroup}
			change.Device, change.Group = device, want[device]
			moved = append(moved, change)
		}
	}
	rules := g.Rules != nil && !slices.Equal(g.Rules, is.Rules)
	switch {
	case !rules && len(moved) == 0:
		return "unchanged", nil
	case dry:
		return "changed", nil
	}
	if rules {
		if err := c.PutGroupRules(ctx, g.Rules); err != nil {
			return "", err
		}
	}
	for some := range slices.Chunk(moved, andon.MaxRequestEntries) {
		result, err := c.PutProfiles(ctx, some)
		if err != nil {
			return "", err
		}
		for _, r := range result.Rejected {
			return "", fmt.Errorf("%s: %s", some[r.Index].Device, r.Error)
		}
	}
	return "changed", nil
}

// readGroups reads what a server has.
func readGroups(ctx context.Context, c *client.Client) (g grouping, of own, err error) {
	if g.Rules, err = c.GroupRules(ctx); err != nil {
		return g, nil, err
	}
	of = own{}
	in := map[andon.Group][]andon.DeviceID{}
	for p, err := range c.Profiles(ctx) {
		if err != nil {
			return g, nil, err
		}
		if p.Group != "" {
			of[p.Device] = p.Group
			in[p.Group] = append(in[p.Group], p.Device)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(in)) {
		g.Members = append(g.Members, members{group, in[group]})
	}
	return g, of, nil
}

// groupsDocument returns the document of what a server has; absent: it has no groups.
func groupsDocument(ctx context.Context, c *client.Client) (string, error) {
	g, _, err := readGroups(ctx, c)
	if err != nil || len(g.Rules) == 0 && len(g.Members) == 0 {
		return "", err
	}
	g.Name = "all"
	text, err := json.Marshal(struct {
		Kind string `json:"kind"`
		grouping
	}{groupsKind, g})
	return string(text), err
}
