package httpapi

import (
	"iter"
	"reflect"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/body"
	"github.com/andonhq/andon/internal/httpapi/grouping"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/seq"
)

func (a *API) groupRoutes() []*route {
	unsupported := []int{501}
	of := answering(route{
		pattern: "PUT /devices/{device}", name: "putDevice", errors: unsupported,
	}, a.putProfile)
	of.body = &content{Kind: reflect.TypeFor[andon.Profile]()}
	return []*route{
		listing[client.Group](route{
			pattern: "GET /groups", name: "listGroups", fixedOrder: "groups have no time",
			query:  []param{{Name: "under", Example: "plant-1"}, limitParam, cursorParam},
			errors: unsupported,
		}, a.groups),
		listing[andon.DeviceProfile](route{
			pattern: "GET /groups/devices", name: "listProfiles",
			fixedOrder: "profiles have no time", query: []param{limitParam, cursorParam},
			errors: unsupported,
		}, a.profiles),
		{
			pattern: "POST /groups/devices", name: "postProfiles", errors: unsupported,
			body: &content{
				Feed: true, Name: "NewProfile", Schema: openapi.Profile(),
				Texts: map[string]string{typeCSV: "device,group\npress-7,plant-1/hall-3\n"},
			},
			answer: accountContent(), serve: a.postProfiles,
		},
		of, taking(route{
			pattern: "PUT /devices/{device}/group", name: "putGroup", errors: unsupported,
		}, a.putGroup),
		answering(route{
			pattern: "GET /groups/rules", name: "getGroupRules", errors: unsupported,
		}, a.groupRules),
		taking(route{
			pattern: "PUT /groups/rules", name: "putGroupRules", errors: unsupported,
		}, a.putGroupRules),
	}
}

func (a *API) groups(c *call) error {
	under := andon.Group(c.Text("under"))
	if under != "" {
		c.Check("query.under", under.Validate())
	}
	tenant, err := c.record()
	if err != nil {
		return err
	}
	silentBefore := andon.SilentBefore(a.options.Now(), tenant.SilentAfter)
	read := func(after andon.Group, n int) iter.Seq2[client.Group, error] {
		return seq.List(func() ([]client.Group, error) {
			return a.intake.Groups.Tallies(c.ctx(), c.tenant, under, after, n, silentBefore)
		})
	}
	position := func(g *client.Group) andon.Group { return g.Group }
	return sendPage(c, oneStep, nil, read, same, position)
}

func (a *API) profiles(c *call) error {
	if _, err := c.record(); err != nil {
		return err
	}
	read := func(after andon.DeviceID, n int) iter.Seq2[andon.DeviceProfile, error] {
		return seq.List(func() ([]andon.DeviceProfile, error) {
			return a.intake.Groups.Profiles(c.ctx(), c.tenant, after, n)
		})
	}
	position := func(p *andon.DeviceProfile) andon.DeviceID { return p.Device }
	return sendPage(c, oneStep, nil, read, same, position)
}

// profileForms are the media types of a body of profiles.
var profileForms = map[string]table.Format{
	typeJSON: table.JSON, typeNDJSON: table.JSON, typeCSV: table.CSV,
}

// sentProfiles reads the rows of a body, which are all of one device where that is named.
func (c *call) sentProfiles(
	of andon.DeviceID, media ...string,
) (all []andon.ProfileChange, rejected []andon.Rejection, err error) {
	is, err := body.MediaType(c.r.Header.Get("Content-Type"), media...)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.body()
	alone := false
	if err == nil && is == typeJSON {
		text, alone, err = body.Array(text)
	}
	if err != nil {
		return nil, nil, err
	}
	return grouping.Profiles(text, profileForms[is], of, alone)
}

func (a *API) postProfiles(c *call) error {
	all, rejected, err := c.sentProfiles("", typeJSON, typeNDJSON, typeCSV)
	if err == nil {
		err = a.intake.ChangeProfiles(c.ctx(), c.tenant, all)
	}
	if err != nil {
		return err
	}
	return c.account(intake.Result{Accepted: len(all), Rejected: rejected})
}

// putProfile changes what the body names; null takes it away.
func (a *API) putProfile(c *call) (is andon.DeviceProfile, err error) {
	all, _, err := c.sentProfiles(c.Device(), typeJSON)
	if err == nil && len(all) != 1 {
		err = andon.AtField("body", "want one object with what is said of the device")
	}
	if err != nil {
		return is, err
	}
	return c.changeProfile(&all[0])
}

type groupBody struct {
	Group *andon.Group `json:"group" doc:"null: in none of its own"`
}

func (a *API) putGroup(c *call, sent groupBody) (is andon.DeviceProfile, err error) {
	change := andon.ProfileChange{Fields: andon.ProfileGroup}
	change.Device = c.Device()
	if sent.Group != nil {
		change.Group = *sent.Group
		c.Check("body.group", change.Group.Validate())
	}
	if err := c.Fault(); err != nil {
		return is, err
	}
	return c.changeProfile(&change)
}

func (c *call) changeProfile(is *andon.ProfileChange) (andon.DeviceProfile, error) {
	err := c.intake.ChangeProfiles(c.ctx(), c.tenant, []andon.ProfileChange{*is})
	if err != nil {
		return andon.DeviceProfile{}, err
	}
	return c.intake.Groups.Own(c.ctx(), c.tenant, is.Device)
}

// groupRules are all rules of a tenant, in their order.
type groupRules []andon.GroupRule

func (a *API) groupRules(c *call) (groupRules, error) {
	if _, err := c.record(); err != nil {
		return nil, err
	}
	all, err := a.intake.Groups.Rules(c.ctx(), c.tenant)
	return append(groupRules{}, all...), err
}

func (a *API) putGroupRules(c *call, sent groupRules) (groupRules, error) {
	return sent, a.intake.PutGroupRules(c.ctx(), c.tenant, sent)
}
