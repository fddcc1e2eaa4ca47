package httpapi

import (
	"bufio"
	"iter"
	"reflect"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi/body"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/ingest/table"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/seq"
)

func (a *API) groupRoutes() []*route {
	unsupported := []int{501}
	of := answering(route{
		pattern: "PUT /devices/{device}", name: "putDevice", errors: unsupported,
	}, putProfile(andon.ProfileAll))
	of.body = &content{Kind: reflect.TypeFor[andon.Profile]()}
	group := answering(route{
		pattern: "PUT /devices/{device}/group", name: "putGroup", errors: unsupported,
	}, putProfile(andon.ProfileGroup))
	group.body = &content{Kind: reflect.TypeFor[struct {
		Group *andon.Group `json:"group" doc:"null: in none of its own"`
	}]()}
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
			body:   &content{Feed: true, Name: "NewProfile", Schema: openapi.Profile()},
			answer: accountContent(), serve: a.postProfiles,
		},
		of, group,
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
	typeJSON: table.JSON, typeNDJSON: table.JSON, "text/csv": table.CSV,
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
	rows, err := table.New(bufio.NewReader(strings.NewReader(text)),
		table.Options{Format: profileForms[is]})
	var items table.Items[andon.ProfileChange]
	if err == nil {
		items, err = rows.Profiles(of)
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // then follows a flag of the command line
		return nil, nil, andon.AtField("body", "%s", what)
	}
	for row, err := range items {
		if err == nil && alone {
			err = row.Bad
		}
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

func (a *API) postProfiles(c *call) error {
	all, rejected, err := c.sentProfiles("", typeJSON, typeNDJSON, "text/csv")
	if err == nil {
		err = a.intake.ChangeProfiles(c.ctx(), c.tenant, all)
	}
	if err != nil {
		return err
	}
	return c.account(intake.Result{Accepted: len(all), Rejected: rejected})
}

// putProfile changes what the body names; null takes it away.
func putProfile(only andon.ProfileFields) func(*call) (andon.DeviceProfile, error) {
	return func(c *call) (is andon.DeviceProfile, err error) {
		device := c.Device()
		if err := c.Fault(); err != nil {
			return is, err
		}
		all, _, err := c.sentProfiles(device, typeJSON)
		switch {
		case err != nil:
			return is, err
		case len(all) != 1 || only == andon.ProfileGroup && all[0].Fields != only:
			return is, andon.AtField("body", "one object with what is said of the device, or "+
				"its group, is all that this takes")
		}
		if err := c.intake.ChangeProfiles(c.ctx(), c.tenant, all); err != nil {
			return is, err
		}
		return c.intake.Groups.Own(c.ctx(), c.tenant, device)
	}
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
