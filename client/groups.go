package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/andonhq/andon"
)

// Selection selects devices by what people say of them. The zero value selects all.
type Selection struct {
	Group  andon.Group `query:"group"`  // that group and all below; "none": devices in none
	Label  string      `query:"label"`  // "kind:press", several joined by commas: all of them
	Near   string      `query:"near"`   // "52.5,13.4", latitude and longitude in degrees
	Within string      `query:"within"` // "2km", with Near
}

// Group is a group with the devices that are in it or below it now.
type Group = andon.GroupTally

// Groups returns a group and those below it, or all groups, by path.
func (c *Client) Groups(ctx context.Context, under andon.Group) iter.Seq2[Group, error] {
	return list[Group](ctx, c, struct {
		Under andon.Group `query:"under"`
	}{under}, "groups")
}

// Profiles returns what is said of devices, with the own groups of these.
func (c *Client) Profiles(ctx context.Context) iter.Seq2[andon.DeviceProfile, error] {
	return list[andon.DeviceProfile](ctx, c, Query{}, "groups", "devices")
}

// PutProfiles changes profiles, at most andon.MaxRequestEntries.
func (c *Client) PutProfiles(ctx context.Context, all []andon.ProfileChange) (Result, error) {
	return submit[Result](ctx, c, http.MethodPost, all, "groups", "devices")
}

// PutProfile changes a profile, and returns it.
func (c *Client) PutProfile(
	ctx context.Context, change andon.ProfileChange,
) (andon.DeviceProfile, error) {
	return submit[andon.DeviceProfile](ctx, c, http.MethodPut, change, "devices",
		string(change.Device))
}

// GroupRules returns the rules that say the groups of devices without one of their own.
func (c *Client) GroupRules(ctx context.Context) ([]andon.GroupRule, error) {
	return get[[]andon.GroupRule](ctx, c, "groups", "rules")
}

// PutGroupRules replaces the rules that say the groups of devices without one of their own.
func (c *Client) PutGroupRules(ctx context.Context, rules []andon.GroupRule) error {
	return c.do(ctx, request{
		method: http.MethodPut, path: path("groups", "rules"), value: rules,
	}, nil)
}
