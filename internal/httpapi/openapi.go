package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/andonhq/andon"
)

const description = `The state of every device of a fleet: what it is now, what it was, who answers.

Times are RFC 3339 in UTC with as many digits of the fraction as needed, at most six; without a zone
a time is UTC. Identifiers in paths are percent-encoded. Errors are RFC 9457 problems; a method that
a path does not take is one, 405, with ` + "`Allow`" + `. Lists hold at most 1,000 items a page; ` +
	"`next` and the `Link`" + ` header lead to the next one. A page may hold fewer items than its
limit and still have a next one: it ends early at about 4 MB.`

// alwaysPossible are the errors that any request may get: a parameter that is not known, an Origin
// that is another site's, a Host that is, a fault of this side.
var alwaysPossible = []int{400, 403, 421, 500}

var tags = []*huma.Tag{
	{Name: "events", Description: "What the devices reported"},
	{Name: "devices", Description: "What the devices show now, and for how long"},
	{Name: "people", Description: "Who answers for a device"},
	{Name: "readings", Description: "The metrics of the devices"},
	{Name: "tenants", Description: "Owners of devices and people, with their settings"},
	{Name: "operations", Description: "About the program itself"},
}

// pathDetails describes the wildcards of the paths.
var pathDetails = map[string]param{
	"device":     {detail: "The device", example: "press-7"},
	"operator":   {detail: "The operator", example: "Liz"},
	"supervisor": {detail: "The supervisor", example: "Sara"},
	"tenant":     {detail: "The tenant", example: "plant-2"},
	"metric":     {detail: "The metric", example: "temperature"},
	"time":       {detail: "The time of the entry", example: "2020-04-24T14:40:00Z"},
	"state":      {detail: "The state of the entry", example: "WARNING1"},
}

// document makes the OpenAPI document of the routes, as JSON and as YAML.
func document(version string, routes []*route) (text, yaml []byte) {
	d := newDocumenter(version)
	for _, r := range routes {
		if !r.hidden {
			d.api.AddOperation(d.operation(r))
		}
	}
	d.loosen()
	text, err := json.Marshal(d.api)
	if err == nil {
		yaml, err = d.api.YAML()
	}
	if err != nil {
		panic("httpapi: the OpenAPI document can't be written: " + err.Error())
	}
	return text, yaml
}

type documenter struct {
	api     *huma.OpenAPI
	schemas huma.Registry
	sent    []*huma.Schema // of bodies, in which a field that is not known is refused
}

func newDocumenter(version string) *documenter {
	schemas := huma.NewMapRegistry(schemaPrefix, schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.Time](), reflect.TypeFor[timeSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.JSON](), reflect.TypeFor[objectSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.Metrics](), reflect.TypeFor[metricsSchema]())
	version = cmp.Or(version, "0")
	return &documenter{schemas: schemas, api: &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Andon", Version: version, Description: description},
		Tags:    tags,
		Components: &huma.Components{
			Schemas: schemas,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token": {Type: "http", Scheme: "bearer", Description: "Needed beyond loopback"},
				"session": {
					Type: "apiKey", In: "cookie", Name: "andon-session",
					Description: "In place of the token, for a browser that signed in " +
						"(POST /session); over TLS it is `__Host-andon-session`",
				},
			},
		},
		Security: []map[string][]string{{}, {"token": {}}, {"session": {}}},
	}}
}

const schemaPrefix = "#/components/schemas/"

// schemaName names a schema by its type, without the suffix that tells deviceJSON from the domain's
// Device.
func schemaName(t reflect.Type, hint string) string {
	return strings.ReplaceAll(huma.DefaultSchemaNamer(t, hint), "JSON", "")
}

// The schemas of types that JSON has in another form than Go.
type (
	timeSchema    struct{}
	objectSchema  struct{}
	metricsSchema struct{}
)

// Schema is that of a time.
func (timeSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// Schema is that of any object.
func (objectSchema) Schema(huma.Registry) *huma.Schema { return anySchema() }

// Schema is that of names with numbers.
func (metricsSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeNumber},
	}
}

func anySchema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func textSchema() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

func (d *documenter) operation(r *route) *huma.Operation {
	return &huma.Operation{
		Method: r.method, Path: r.fullPath(), OperationID: r.name,
		Tags: []string{r.tag}, Summary: r.summary, Description: r.description(),
		Parameters:  d.parameters(r),
		RequestBody: d.requestBody(r.body),
		Responses:   d.responses(r),
		Security:    r.security(),
	}
}

// description is the detail of a route, with why its order can't be chosen where it can't.
func (r *route) description() string {
	if r.fixedOrder == "" {
		return r.detail
	}
	return strings.TrimSpace(r.detail + " There is no `order`: " + r.fixedOrder + ".")
}

// security says that a route needs no token; nil: what the document says holds.
func (r *route) security() []map[string][]string {
	if r.open {
		return []map[string][]string{{}}
	}
	return nil
}

func (d *documenter) parameters(r *route) []*huma.Param {
	var params []*huma.Param
	for _, name := range r.pathNames() {
		p := pathDetails[name]
		params = append(params, &huma.Param{
			Name: name, In: "path", Required: true, Description: p.detail, Example: p.example,
			Schema: textSchema(),
		})
	}
	for _, p := range r.query {
		params = append(params, &huma.Param{
			Name: p.name, In: "query", Description: p.described(), Schema: p.schema(),
		})
	}
	if !r.outside && !r.tenantless {
		params = append(params, &huma.Param{
			Name: "Andon-Tenant", In: "header",
			Description: "The tenant that is asked about; `default` without it. Example: `plant-2`",
			Schema:      &huma.Schema{Type: huma.TypeString, Default: string(andon.DefaultTenant)},
		})
	}
	return params
}

// described is the detail with the example. The page at /docs would fill an example of its own in,
// and ask for what is not there, such as the page behind a cursor.
func (p param) described() string {
	return fmt.Sprintf("%s. Example: `%v`", p.detail, p.example)
}

func (p param) schema() *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Enum: p.values, Default: p.initial}
	if p.most > 0 {
		least := 1.0
		s.Type, s.Minimum, s.Maximum = huma.TypeInteger, &least, &p.most
	}
	return s
}

func (d *documenter) requestBody(body *content) *huma.RequestBody {
	if body == nil {
		return nil
	}
	if !body.feed {
		if body.kind != nil {
			d.sent = append(d.sent, d.schemas.Schema(body.kind, true, body.kind.Name()))
		}
		return &huma.RequestBody{Required: true, Content: d.media(body)}
	}
	d.schemas.Map()[body.name] = body.schema
	if body.schema.AdditionalProperties == nil {
		d.sent = append(d.sent, body.schema)
	}
	one := &huma.Schema{Ref: schemaPrefix + body.name}
	many := &huma.Schema{Type: huma.TypeArray, Items: one}
	line, err := json.Marshal(body.example)
	if err != nil {
		panic("httpapi: an example can't be written: " + err.Error())
	}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		typeJSON: {
			Schema: &huma.Schema{OneOf: []*huma.Schema{one, many}}, Example: body.example,
		},
		typeNDJSON: {Schema: textSchema(), Example: string(line) + "\n"},
	}}
}

func (d *documenter) media(c *content) map[string]*huma.MediaType {
	schema := c.schema
	if c.kind != nil {
		schema = d.schemas.Schema(c.kind, true, c.kind.Name())
	}
	media := cmp.Or(c.media, typeJSON)
	return map[string]*huma.MediaType{media: {Schema: schema, Example: c.example}}
}

func (d *documenter) responses(r *route) map[string]*huma.Response {
	all := map[string]*huma.Response{}
	for _, status := range r.statuses {
		response := &huma.Response{Description: http.StatusText(status)}
		if r.answer != nil {
			response.Content = d.media(r.answer)
			if r.lines {
				response.Content[typeNDJSON] = &huma.MediaType{Schema: textSchema()}
			}
			if r.answer.list {
				response.Headers = map[string]*huma.Param{"Link": {
					Description: `The next page, rel="next"; absent on the last one`,
					Schema:      textSchema(),
				}}
			}
		}
		all[strconv.Itoa(status)] = response
	}
	for _, status := range r.possibleErrors() {
		all[strconv.Itoa(status)] = d.problem(status)
	}
	return all
}

// possibleErrors are the errors of a route, those of its body included.
func (r *route) possibleErrors() []int {
	all := append(slices.Clone(alwaysPossible), r.errors...)
	if !r.open {
		all = append(all, http.StatusUnauthorized)
	}
	if !r.outside { // it asks the store, in its turn
		all = append(all, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	}
	if !r.outside && !r.tenantless { // for a tenant that may not be there
		all = append(all, http.StatusNotFound)
	}
	if r.body != nil {
		all = append(all, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	if r.method != http.MethodGet && !r.readOnly {
		all = append(all, http.StatusInsufficientStorage)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *documenter) problem(status int) *huma.Response {
	example := problem{
		Title: http.StatusText(status), Status: status,
		Detail: "what is wrong, in a sentence", RequestID: "3FQ7Y4K2M6XJH5ZC",
	}
	response := &huma.Response{
		Description: http.StatusText(status),
		Content: map[string]*huma.MediaType{typeProblem: {
			Schema: d.schemas.Schema(reflect.TypeFor[problem](), true, ""), Example: example,
		}},
	}
	if retryAfter[status] != "" {
		response.Headers = map[string]*huma.Param{"Retry-After": {
			Description: "Seconds to wait", Schema: &huma.Schema{Type: huma.TypeInteger},
		}}
	}
	return response
}

// loosen lets answers grow: huma closes every object, and allows null for every array. Bodies stay
// closed, with what is in them.
func (d *documenter) loosen() {
	for _, s := range d.schemas.Map() {
		s.AdditionalProperties = nil
		for _, property := range s.Properties {
			if property.Type == huma.TypeArray {
				property.Nullable = false
			}
		}
	}
	for _, s := range d.sent {
		d.close(s)
	}
}

// close says of an object, and of those in it, that it has no other fields.
func (d *documenter) close(s *huma.Schema) {
	if s.Ref != "" {
		s = d.schemas.SchemaFromRef(s.Ref)
	}
	if s.Items != nil {
		d.close(s.Items)
	}
	if len(s.Properties) == 0 {
		return
	}
	s.AdditionalProperties = false
	for _, property := range s.Properties {
		d.close(property)
	}
}

// accountContent is the answer to a body of many entries.
func accountContent() *content {
	type account struct {
		Accepted      int               `json:"accepted"`
		New           *int              `json:"new,omitempty" doc:"with outcomes=true"`
		Unchanged     *int              `json:"unchanged,omitempty" doc:"with outcomes=true"`
		UnknownStates []andon.State     `json:"unknown_states,omitempty" doc:"accepted ones"`
		Replaced      *int              `json:"replaced,omitempty" doc:"with outcomes=true"`
		Rejected      []andon.Rejection `json:"rejected"`
	}
	why := "at byte 14: state is missing"
	return &content{kind: reflect.TypeFor[account](), example: account{
		Accepted: 999, Rejected: []andon.Rejection{{Index: 2, Line: 3, Error: why}},
	}}
}

// The schemas of entries are those of what is sent, of which less is required than is answered.

func sentContent(name string, schema *huma.Schema, example any) *content {
	return &content{feed: true, name: name, schema: schema, example: example}
}

func eventSchema() *huma.Schema {
	s := anySchema()
	s.Description = "Fields that are not known join the attributes"
	s.Required = []string{"device", "state"}
	s.Properties = map[string]*huma.Schema{
		"device": textSchema(), "time": sentTimeSchema(), "state": textSchema(),
		"operator": textSchema(), "escalated_to": textSchema(), "message": textSchema(),
		"attributes": anySchema(),
	}
	return s
}

func readingSchema() *huma.Schema {
	s := anySchema()
	s.Required = []string{"device"}
	s.Properties = map[string]*huma.Schema{
		"device": textSchema(), "time": sentTimeSchema(),
		"metrics": metricsSchema{}.Schema(nil), "metadata": anySchema(),
	}
	return s
}

func assignmentSchema() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"device", "operator"},
		Properties: map[string]*huma.Schema{
			"device":   textSchema(),
			"operator": {Type: huma.TypeString, Nullable: true, Description: "null: nobody"},
		},
	}
}

func sentTimeSchema() *huma.Schema {
	return &huma.Schema{
		Description: "RFC 3339, or a number in the unit of `precision`; absent: the arrival",
		OneOf:       []*huma.Schema{timeSchema{}.Schema(nil), {Type: huma.TypeNumber}},
	}
}
