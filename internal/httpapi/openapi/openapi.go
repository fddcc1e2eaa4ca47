// Package openapi makes the OpenAPI document of the API from its operations: what each of them is
// sent, what it answers, and how it may fail. The schemas of answers are derived from their Go
// types, so the document and the answers can't disagree.
//
// The package knows no handler, and does not serve the document. Only it imports huma, which models
// the document.
package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/problem"
)

const description = `The state of every device of a fleet: what it is now, what it was, who answers.

Times are RFC 3339 in UTC with as many digits of the fraction as needed, at most six; without a zone
a time is UTC. Identifiers in paths are percent-encoded. Errors are RFC 9457 problems; a method that
a path does not take is one, 405, with ` + "`Allow`" + `. Lists hold at most 1,000 items a page; ` +
	"`next` and the `Link`" + ` header lead to the next one. A page may hold fewer items than its
limit and still have a next one: it ends early at about 4 MB.`

var tags = []*huma.Tag{
	{Name: "events", Description: "What the devices reported"},
	{Name: "devices", Description: "What the devices show now, and for how long"},
	{Name: "people", Description: "Who answers for a device"},
	{Name: "incidents", Description: "What is not normal, and what is done about it"},
	{Name: "readings", Description: "The metrics of the devices"},
	{Name: "tenants", Description: "Owners of devices and people, with their settings"},
	{Name: "operations", Description: "About the program itself"},
}

// pathDetails describes the wildcards of the paths.
var pathDetails = map[string]struct{ detail, example string }{
	"device":     {"The device", "press-7"},
	"operator":   {"The operator", "Liz"},
	"supervisor": {"The supervisor", "Sara"},
	"tenant":     {"The tenant", "plant-2"},
	"id":         {"The incident", "05a40a57031000-7c01d29f64be83a5fe17302b9d48"},
	"metric":     {"The metric", "temperature"},
	"name":       {"The name of the document", "line-3"},
	"person":     {"The name of a person", "Sara"},
	"time":       {"The time of the entry", "2020-04-24T14:40:00Z"},
	"state":      {"The state of the entry", "WARNING1"},
}

// Operation is one request of the API.
type Operation struct {
	Method, Path string
	Name         string // by which it is described
	Order        string // of a list that takes no order: why

	PathNames []string // the wildcards of the path
	Query     []Param
	Tenant    bool     // it is about a tenant, which a header names
	Open      bool     // it needs no token
	Body      *Content // nil: it takes none
	Answer    *Content // nil: an answer without content
	Versioned bool     // it reads or changes a document that has a version
	Statuses  []int    // of success
	Errors    []int    // all that are possible
}

// Param is a parameter of the query.
type Param struct {
	Name    string
	Title   string // of its description; its name unless set
	Example any
	Values  []string // the only ones, where they are a few
	Initial any      // what is assumed without it
	Most    float64  // of a number from 1 on; 0: it is text
}

// Content is what is sent in one direction.
type Content struct {
	Media  string       // application/json unless set
	Kind   reflect.Type // the schema is derived from it
	Schema *Schema      // or else it is this one
	Name   string       // of the schema, for programs that are generated
	List   bool         // a page, with a Link header
	Feed   bool         // one of them, an array of them, or NDJSON
	// Texts are the other media types that it may have, with an example of each, or none.
	Texts map[string]string
}

// Schema says what JSON may be.
type Schema = huma.Schema

const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
	typeStream = "text/event-stream"
)

// Document makes the document of the operations of a version of the program, as JSON.
func Document(version string, operations []Operation) []byte {
	d := newDocumenter(version)
	for i := range operations {
		d.api.AddOperation(d.operation(&operations[i]))
	}
	d.loosen()
	text, err := json.Marshal(d.api)
	if err != nil {
		panic("openapi: the document can't be written: " + err.Error())
	}
	return text
}

type documenter struct {
	api     *huma.OpenAPI
	schemas huma.Registry
	sent    []*huma.Schema // of bodies, in which a field that is not known is refused

	operations, params map[string]text
	examples           map[string]example
}

func newDocumenter(version string) *documenter {
	schemas := huma.NewMapRegistry(schemaPrefix, schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.Time](), reflect.TypeFor[timeSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.JSON](), reflect.TypeFor[objectSchema]())
	schemas.RegisterTypeAlias(reflect.TypeFor[andon.Metrics](), reflect.TypeFor[metricsSchema]())
	version = cmp.Or(version, "0")
	d := &documenter{schemas: schemas}
	d.operations, d.params = texts()
	if err := json.Unmarshal(examples, &d.examples); err != nil {
		panic("openapi: the examples can't be read: " + err.Error())
	}
	d.api = &huma.OpenAPI{
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
	}
	return d
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
func (objectSchema) Schema(huma.Registry) *huma.Schema { return AnyObject() }

// Schema is that of names with numbers.
func (metricsSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeNumber},
	}
}

// AnyObject is the schema of any object.
func AnyObject() *Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// Objects is the schema of an array of any objects.
func Objects() *Schema { return &huma.Schema{Type: huma.TypeArray, Items: AnyObject()} }

// Text is the schema of a string.
func Text() *Schema { return &huma.Schema{Type: huma.TypeString} }

func (d *documenter) operation(o *Operation) *huma.Operation {
	text := d.operations[o.Name]
	if o.Order != "" {
		text.detail = strings.TrimSpace(text.detail + " There is no `order`: " + o.Order + ".")
	}
	made := &huma.Operation{
		Method: o.Method, Path: o.Path, OperationID: o.Name,
		Tags: []string{text.tag}, Summary: text.summary, Description: text.detail,
		Parameters:  d.parameters(o),
		RequestBody: d.requestBody(o),
		Responses:   d.responses(o),
	}
	if o.Open {
		made.Security = []map[string][]string{{}}
	}
	return made
}

func (d *documenter) parameters(o *Operation) []*huma.Param {
	var params []*huma.Param
	for _, name := range o.PathNames {
		p := pathDetails[name]
		params = append(params, &huma.Param{
			Name: name, In: "path", Required: true, Description: p.detail, Example: p.example,
			Schema: Text(),
		})
	}
	for _, p := range o.Query {
		// The page at /docs would fill an example of its own in, and ask for what is not there,
		// such as the page after a cursor.
		text := d.params[cmp.Or(p.Title, p.Name)].summary
		params = append(params, &huma.Param{
			Name: p.Name, In: "query", Schema: p.schema(),
			Description: fmt.Sprintf("%s. Example: `%v`", text, p.Example),
		})
	}
	if o.Tenant {
		params = append(params, &huma.Param{
			Name: "Andon-Tenant", In: "header",
			Description: "The tenant that is asked about; `default` without it. Example: `plant-2`",
			Schema:      &huma.Schema{Type: huma.TypeString, Default: string(andon.DefaultTenant)},
		})
	}
	for _, h := range o.headers() {
		params = append(params, &huma.Param{
			Name: h[0], In: "header", Description: h[1] + ". Example: `" + h[2] + "`",
			Schema: Text(),
		})
	}
	return params
}

// headers are those of a request that say more than how it is sent: name, description and example.
func (o *Operation) headers() (all [][3]string) {
	if o.Answer != nil && o.Answer.Media == typeStream {
		all = append(all, [3]string{"Last-Event-ID",
			"The `id` of the last event: the stream goes on after it", "9ix4b1-sy"})
	}
	if o.Versioned && o.Method != http.MethodGet {
		all = append(all, [3]string{"If-Match",
			"Changes only these versions, by their `ETag`; `*`: any, but one must be there", `"7"`})
	}
	if o.Versioned && o.Method == http.MethodPut {
		all = append(all, [3]string{"If-None-Match", "`*`: only where none is there", "*"})
	}
	return all
}

func (p Param) schema() *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Default: p.Initial}
	for _, value := range p.Values {
		s.Enum = append(s.Enum, value)
	}
	if p.Most > 0 {
		least := 1.0
		s.Type, s.Minimum, s.Maximum = huma.TypeInteger, &least, &p.Most
	}
	return s
}

func (d *documenter) requestBody(o *Operation) *huma.RequestBody {
	body, example := o.Body, d.examples[o.Name].Body
	if body == nil {
		return nil
	}
	if !body.Feed {
		if body.Kind != nil {
			d.sent = append(d.sent, d.schemas.Schema(body.Kind, true, body.Kind.Name()))
		}
		return &huma.RequestBody{Required: true, Content: d.media(body, example)}
	}
	d.schemas.Map()[body.Name] = body.Schema
	if body.Schema.AdditionalProperties == nil {
		d.sent = append(d.sent, body.Schema)
	}
	one := &huma.Schema{Ref: schemaPrefix + body.Name}
	many := &huma.Schema{Type: huma.TypeArray, Items: one}
	line, err := json.Marshal(example)
	if err != nil {
		panic("openapi: an example can't be written: " + err.Error())
	}
	content := map[string]*huma.MediaType{
		typeJSON: {
			Schema: &huma.Schema{OneOf: []*huma.Schema{one, many}}, Example: example,
		},
		typeNDJSON: {Schema: Text(), Example: string(line) + "\n"},
	}
	body.addTexts(content)
	return &huma.RequestBody{Required: true, Content: content}
}

func (c *Content) addTexts(to map[string]*huma.MediaType) {
	for media, example := range c.Texts {
		to[media] = &huma.MediaType{Schema: Text()}
		if example != "" {
			to[media].Example = example
		}
	}
}

func (d *documenter) media(c *Content, example json.RawMessage) map[string]*huma.MediaType {
	made := &huma.MediaType{Schema: c.Schema}
	if c.Kind != nil {
		made.Schema = d.schemas.Schema(c.Kind, true, c.Kind.Name())
	}
	if example != nil {
		made.Example = example
	}
	all := map[string]*huma.MediaType{cmp.Or(c.Media, typeJSON): made}
	c.addTexts(all)
	return all
}

func (d *documenter) responses(o *Operation) map[string]*huma.Response {
	all := map[string]*huma.Response{}
	for _, status := range o.Statuses {
		response := &huma.Response{Description: http.StatusText(status)}
		if o.Answer != nil {
			response.Content = d.media(o.Answer, d.examples[o.Name].Answer)
			response.Headers = o.answerHeaders(status)
		}
		all[strconv.Itoa(status)] = response
	}
	for _, status := range o.Errors {
		all[strconv.Itoa(status)] = d.problem(status)
	}
	return all
}

func (o *Operation) answerHeaders(status int) map[string]*huma.Param {
	all := map[string]*huma.Param{}
	if o.Answer.List {
		all["Link"] = &huma.Param{
			Description: `The next page, rel="next"; absent on the last one`, Schema: Text(),
		}
	}
	if o.Versioned {
		all["ETag"] = &huma.Param{Description: "The version of the document", Schema: Text()}
	}
	if status == http.StatusCreated {
		all["Location"] = &huma.Param{
			Description: "Where what was made is, if it has a path", Schema: Text(),
		}
	}
	return all
}

func (d *documenter) problem(status int) *huma.Response {
	example := problem.Problem{
		Title: http.StatusText(status), Status: status,
		Detail: "what is wrong, in a sentence", RequestID: "3FQ7Y4K2M6XJH5ZC",
	}
	response := &huma.Response{
		Description: http.StatusText(status),
		Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema:  d.schemas.Schema(reflect.TypeOf(example), true, ""),
			Example: example,
		}},
	}
	if problem.RetryAfter(status) != "" {
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

// The schemas of entries are those of what is sent, of which less is required than is answered.

// Event is the schema of a sent event.
func Event() *Schema {
	s := AnyObject()
	s.Description = "Fields that are not known join the attributes"
	s.Required = []string{"device", "state"}
	s.Properties = map[string]*huma.Schema{
		"device": Text(), "time": sentTimeSchema(), "state": Text(),
		"operator": Text(), "escalated_to": Text(), "message": Text(),
		"attributes": AnyObject(),
	}
	return s
}

// Reading is the schema of a sent reading.
func Reading() *Schema {
	s := AnyObject()
	s.Required = []string{"device"}
	s.Properties = map[string]*huma.Schema{
		"device": Text(), "time": sentTimeSchema(),
		"metrics": metricsSchema{}.Schema(nil), "metadata": AnyObject(),
	}
	return s
}

// Assignment is the schema of a sent assignment.
func Assignment() *Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"device", "operator"},
		Properties: map[string]*huma.Schema{
			"device":   Text(),
			"operator": {Type: huma.TypeString, Nullable: true, Description: "null: nobody"},
		},
	}
}

// Profile is the schema of a sent profile, whose other fields are those of putDevice.
func Profile() *Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"device"},
		Properties: map[string]*huma.Schema{
			"device": Text(),
			"group":  {Type: huma.TypeString, Nullable: true, Description: "null: none of its own"},
		},
		AdditionalProperties: true,
	}
}

func sentTimeSchema() *huma.Schema {
	return &huma.Schema{
		Description: "RFC 3339, or a number in the unit of `precision`; absent: the arrival",
		OneOf:       []*huma.Schema{timeSchema{}.Schema(nil), {Type: huma.TypeNumber}},
	}
}
