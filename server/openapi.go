package server

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/guard"
)

// openAPIVersion is the version of the specification that the document follows.
const openAPIVersion = "3.1.0"

// The parts of an OpenAPI document that this package uses.
type (
	apiDocument struct {
		OpenAPI    string                             `json:"openapi"`
		Info       apiInfo                            `json:"info"`
		Servers    []apiServer                        `json:"servers"`
		Tags       []apiTag                           `json:"tags"`
		Security   []map[string][]string              `json:"security"`
		Paths      map[string]map[string]apiOperation `json:"paths"`
		Components apiComponents                      `json:"components"`
	}
	apiInfo struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
	}
	apiServer struct {
		URL string `json:"url"`
	}
	apiTag struct {
		Name string `json:"name"`
	}
	apiOperation struct {
		ID          string                 `json:"operationId"`
		Tags        []string               `json:"tags"`
		Summary     string                 `json:"summary"`
		Description string                 `json:"description"`
		Parameters  []apiParameter         `json:"parameters,omitempty"`
		Body        *apiBody               `json:"requestBody,omitempty"`
		Responses   map[string]apiResponse `json:"responses"`
	}
	apiParameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Description string             `json:"description"`
		Required    bool               `json:"required,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	apiBody struct {
		Required bool                `json:"required"`
		Content  map[string]apiMedia `json:"content"`
	}
	apiMedia struct {
		Schema *jsonschema.Schema `json:"schema,omitempty"`
	}
	apiResponse struct {
		Description string              `json:"description"`
		Content     map[string]apiMedia `json:"content,omitempty"`
	}
	apiComponents struct {
		Schemas  jsonschema.Defs        `json:"schemas"`
		Security map[string]apiSecurity `json:"securitySchemes"`
	}
	apiSecurity struct {
		Type   string `json:"type"`
		Scheme string `json:"scheme,omitempty"`
		In     string `json:"in,omitempty"`
		Name   string `json:"name,omitempty"`
	}
)

func getOpenAPI(r *request, _ struct{}) (apiDocument, error) {
	return describe(r.s.opt.Version.Version, r.s.base), nil
}

// describe makes the OpenAPI document from the table and the types that it names.
func describe(version, base string) apiDocument {
	set := newSchemas()
	d := apiDocument{
		OpenAPI: openAPIVersion,
		Info: apiInfo{
			Title: "treeline", Version: version,
			Description: "Sessions of coding agents. Operations that write need a server that was started with --write; a server with a token wants it in every request.",
		},
		Servers:  []apiServer{{base + apiPath}},
		Security: []map[string][]string{{}, {"token": {}}, {"cookie": {}}},
		Paths:    map[string]map[string]apiOperation{},
		Components: apiComponents{Schemas: set.Defs, Security: map[string]apiSecurity{
			"token": {Type: "http", Scheme: "bearer"}, "cookie": {Type: "apiKey", In: "cookie", Name: guard.CookieName},
		}},
	}
	for _, s := range table() {
		d.Tags = append(d.Tags, apiTag{s.title})
		for _, o := range s.operations {
			if d.Paths[o.path] == nil {
				d.Paths[o.path] = map[string]apiOperation{}
			}
			d.Paths[o.path][strings.ToLower(o.method)] = o.describe(set, s.title)
		}
	}
	return d
}

func newSchemas() *jsonschema.Set {
	return &jsonschema.Set{
		Defs: jsonschema.Defs{}, Prefix: "#/components/schemas/",
		Name: func(t reflect.Type) string {
			name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
			if t == reflect.TypeFor[run.Problem]() {
				name = "RunProblem" // sessions have a type Problem of their own
			}
			return name
		},
	}
}

// describe returns the OpenAPI description of an operation.
func (o *operation) describe(set *jsonschema.Set, title string) apiOperation {
	d := apiOperation{
		ID: o.name, Tags: []string{title}, Summary: o.summary(), Description: o.doc,
		Responses: map[string]apiResponse{"200": {Description: "The answer.", Content: map[string]apiMedia{o.media: o.schema(set)}}},
	}
	body := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, f := range o.fields {
		if f.in == inBody {
			body.Order = append(body.Order, f.name)
			body.Properties[f.name] = f.schema(set)
			body.Properties[f.name].Description = f.doc
			if f.needed {
				body.Required = append(body.Required, f.name)
			}
			continue
		}
		d.Parameters = append(d.Parameters, apiParameter{Name: f.name, In: f.in, Description: f.doc, Required: f.needed, Schema: f.schema(set)})
	}
	if len(body.Order) > 0 {
		d.Body = &apiBody{Required: true, Content: map[string]apiMedia{jsonMedia: {body}}}
	}
	if o.body != "" {
		d.Body = &apiBody{Required: true, Content: map[string]apiMedia{o.body: {}}}
	}
	wrong := func(status, text string) {
		d.Responses[status] = apiResponse{text, map[string]apiMedia{jsonMedia: {set.Add(reflect.TypeFor[failure]())}}}
	}
	wrong("400", "A mistake in the request.")
	wrong("401", "The token is missing or wrong.")
	wrong("403", "The host or the origin is not allowed, or the server does not write.")
	wrong("404", "There is no such session, entry, run or blob.")
	wrong("429", "Too many wrong tokens came from this address: see Retry-After.")
	wrong("503", "The server has too many clients at the moment, or cannot check tokens.")
	if first, _, _ := strings.Cut(o.path[1:], "/"); first == "logs" || first == "blobs" || first == "index" {
		wrong("501", "The archive cannot do it, or has no index.")
	}
	if o.method != http.MethodGet {
		wrong("413", "The body is too large.")
		wrong("415", "The body is of another type.")
	}
	if o.writes {
		wrong("409", "Another program wrote to the session, or has it open.")
		wrong("422", "The agent's format does not allow it.")
	} else if o.method == http.MethodGet && o.media != eventMedia {
		d.Responses["304"] = apiResponse{Description: "The client has the answer already: see ETag and If-None-Match."}
	}
	return d
}

// schema describes the answer. In a stream of events, the JSON is the data of an event.
func (o *operation) schema(set *jsonschema.Set) apiMedia {
	if o.media == anyMedia {
		return apiMedia{}
	}
	return apiMedia{set.Add(o.result)}
}

// schema describes a parameter.
func (f *field) schema(set *jsonschema.Set) *jsonschema.Schema {
	kind := f.kind
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	s := set.Add(kind)
	s.Enum = f.one
	return s
}

// summary returns the first sentence of doc.
func (o *operation) summary() string {
	first, _, _ := strings.Cut(o.doc, ". ")
	return strings.TrimSuffix(first, ".")
}
