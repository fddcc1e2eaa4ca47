// Package grouping has the routes of groups and of what people say of devices, and reads which
// devices a request selects by it.
package grouping

import (
	"bufio"
	"iter"
	"reflect"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/mount"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/seq"
)

type api struct {
	*intake.Intake
	now func() andon.Time
}

// formats are the media types of a body, the usual one first.
var formats = map[string]table.Format{
	"application/json": table.JSON, "application/x-ndjson": table.JSON, "text/csv": table.CSV,
}

// Routes returns the routes. account is the answer to a body of many entries.
func Routes(in *intake.Intake, now func() andon.Time, account *openapi.Content) []mount.Route {
	a := &api{in, now}
	route := func(pattern, name string) mount.Route {
		return mount.Route{Pattern: pattern, Name: name, Errors: []int{501}}
	}
	groups := route("GET /groups", "listGroups")
	groups.FixedOrder = "groups have no time"
	groups.Query = []openapi.Param{{Name: "under", Example: "plant-1"}}
	profiles := route("GET /groups/devices", "listProfiles")
	profiles.FixedOrder = "profiles have no time"
	many := route("POST /groups/devices", "postProfiles")
	many.Body = &openapi.Content{Feed: true, Name: "NewProfile", Schema: openapi.Profile()}
	many.Answer, many.Serve = account, a.putMany
	of := mount.Answering(route("PUT /devices/{device}", "putDevice"), a.put(andon.ProfileAll))
	of.Body = &openapi.Content{Kind: reflect.TypeFor[andon.Profile]()}
	group := mount.Answering(route("PUT /devices/{device}/group", "putGroup"),
		a.put(andon.ProfileGroup))
	group.Body = &openapi.Content{Kind: reflect.TypeFor[struct {
		Group *andon.Group `json:"group" doc:"null: in none of its own"`
	}]()}
	return []mount.Route{
		mount.Listing(groups, a.groups), mount.Listing(profiles, a.profiles), many, of, group,
		mount.Answering(route("GET /groups/rules", "getGroupRules"), a.rules),
		mount.Taking(route("PUT /groups/rules", "putGroupRules"), a.putRules),
	}
}

func (a *api) groups(
	c *mount.Call, limit int,
) (iter.Seq2[client.Group, error], func(*client.Group) any, error) {
	under, after := andon.Group(c.Text("under")), andon.Group("")
	if under != "" {
		c.Check("query.under", under.Validate())
	}
	c.Cursor(&after)
	tenant, err := c.Record()
	if err != nil {
		return nil, nil, err
	}
	silentBefore := andon.SilentBefore(a.now(), tenant.SilentAfter)
	all, err := a.Groups.Tallies(c.Context, c.Tenant, under, after, limit+1, silentBefore)
	return each(all), func(g *client.Group) any { return g.Group }, err
}

func each[T any](all []T) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		for i := 0; i < len(all) && yield(all[i]); i++ {
		}
		return nil
	})
}

func (a *api) profiles(
	c *mount.Call, limit int,
) (iter.Seq2[andon.DeviceProfile, error], func(*andon.DeviceProfile) any, error) {
	after := andon.DeviceID("")
	c.Cursor(&after)
	if _, err := c.Record(); err != nil {
		return nil, nil, err
	}
	all, err := a.Groups.Profiles(c.Context, c.Tenant, after, limit+1)
	return each(all), func(p *andon.DeviceProfile) any { return p.Device }, err
}

// read reads the rows of a body.
func (a *api) read(
	c *mount.Call, of andon.DeviceID, media ...string,
) (all []andon.ProfileChange, rejected []andon.Rejection, err error) {
	text, is, err := c.Body(media...)
	if err != nil {
		return nil, nil, err
	}
	if is == "application/json" && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		text = "[" + text + "]" // one object may have many lines
	}
	rows, err := table.New(bufio.NewReader(strings.NewReader(text)),
		table.Options{Format: formats[is]})
	var items table.Items[andon.ProfileChange]
	if err == nil {
		items, err = rows.Profiles(of)
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // then follows a flag of the command line
		return nil, nil, andon.AtField("body", "%s", what)
	}
	for row, err := range items {
		switch {
		case err != nil:
			return nil, nil, andon.AtField("body", "%s", err)
		case row.Bad != nil:
			rejected = append(rejected, andon.Rejection{
				Index: row.Index, Line: row.Line, Error: row.Bad.Error(),
			})
		default:
			all = append(all, row.Value)
		}
		if len(all)+len(rejected) > andon.MaxRequestEntries {
			return nil, nil, andon.Errorf(andon.TooLarge, "more than %d entries",
				andon.MaxRequestEntries)
		}
	}
	return all, rejected, nil
}

func (a *api) putMany(c *mount.Call) error {
	all, rejected, err := a.read(c, "", "application/json", "application/x-ndjson", "text/csv")
	if err == nil {
		err = a.ChangeProfiles(c.Context, c.Tenant, all)
	}
	if err != nil {
		return err
	}
	return c.Account(intake.Result{Accepted: len(all), Rejected: rejected})
}

// put changes what the body names; null takes it away.
func (a *api) put(only andon.ProfileFields) func(*mount.Call) (andon.DeviceProfile, error) {
	return func(c *mount.Call) (is andon.DeviceProfile, err error) {
		device := c.Device()
		if err := c.Fault(); err != nil {
			return is, err
		}
		all, rejected, err := a.read(c, device, "application/json")
		switch {
		case err != nil:
			return is, err
		case len(rejected) > 0:
			return is, andon.AtField("body", "%s", rejected[0].Error)
		case len(all) != 1 || only == andon.ProfileGroup && all[0].Fields != only:
			return is, andon.AtField("body", "one object with what is said of the device, or "+
				"its group, is all that this takes")
		}
		if err := a.ChangeProfiles(c.Context, c.Tenant, all); err != nil {
			return is, err
		}
		return a.Groups.Own(c.Context, c.Tenant, device)
	}
}

// rules are all rules of a tenant, in their order.
type rules []andon.GroupRule

func (a *api) rules(c *mount.Call) (rules, error) {
	if _, err := c.Record(); err != nil {
		return nil, err
	}
	all, err := a.Groups.Rules(c.Context, c.Tenant)
	return append(rules{}, all...), err
}

func (a *api) putRules(c *mount.Call, sent rules) (rules, error) {
	return sent, a.PutGroupRules(c.Context, c.Tenant, sent)
}
