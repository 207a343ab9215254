package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// Resources are sessions:
//
//	treeline://session/ID                the newest entries of a session
//	treeline://session/ID/entry/ENTRY    an entry with all of its text
//	treeline://session/ID/context        what the model sees at the session's leaf
//
// Each one is the JSON of the tool with the same result. ?cursor= selects another page of it.
const (
	scheme    = "treeline://"
	authority = scheme + "session/"
	jsonType  = "application/json"
	private   = "private" // only for caches of the same user
)

// uri identifies a session, an entry or a context.
type uri struct {
	session, entry string
	context        bool
	cursor         string
}

func (u uri) String() string {
	text := authority + url.PathEscape(u.session)
	switch {
	case u.entry != "":
		text += "/entry/" + url.PathEscape(u.entry)
	case u.context:
		text += "/context"
	}
	if u.cursor != "" {
		text += "?cursor=" + url.QueryEscape(u.cursor)
	}
	return text
}

func parseURI(text string) (u uri, err error) {
	rest, ok := strings.CutPrefix(text, authority)
	rest, query, _ := strings.Cut(rest, "?")
	words := strings.Split(rest, "/")
	for i := range words {
		if words[i], err = url.PathUnescape(words[i]); err != nil {
			ok = false
		}
	}
	values, err := url.ParseQuery(query)
	u = uri{session: words[0], cursor: values.Get("cursor")}
	switch {
	case !ok || err != nil || u.session == "":
	case len(words) == 1:
		return u, nil
	case len(words) == 2 && words[1] == "context":
		u.context = true
		return u, nil
	case len(words) == 3 && words[1] == "entry" && words[2] != "":
		u.entry = words[2]
		return u, nil
	}
	return u, refuse("%q is not the URI of a session: use %sID, %[2]sID/entry/ENTRY or %[2]sID/context", text, authority)
}

// addResources registers the templates. The list of resources is made by listResources, since sessions come and go.
func (s *Server) addResources() {
	for _, t := range []sdk.ResourceTemplate{
		{Name: "session", Title: "A session", URITemplate: authority + "{id}{?cursor}", Description: "The newest entries of a session; previous is the cursor of those before. As read_session."},
		{Name: "entry", Title: "An entry of a session", URITemplate: authority + "{id}/entry/{entry}{?cursor}", Description: "An entry with all of its text. As read_session with whole."},
		{Name: "context", Title: "What the model sees", URITemplate: authority + "{id}/context{?cursor}", Description: "The messages that the agent would send if the session went on. As get_context."},
	} {
		t.MIMEType = jsonType
		s.sdk.AddResourceTemplate(&t, s.readResource)
	}
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if list, ok := r.(*sdk.ListResourcesRequest); ok {
				return s.listResources(ctx, list)
			}
			return next(ctx, method, r)
		}
	})
}

// readResource reads what a URI identifies.
func (s *Server) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	u, err := parseURI(r.Params.URI)
	if err != nil {
		return nil, s.failed(err)
	}
	c, size := &call{s, ctx}, sizeArgs{Cursor: u.cursor}
	of := sessionArgs{Session: u.session, Entry: u.entry}
	var result any
	if u.context {
		result, err = getContext(c, contextArgs{sessionArgs: of, sizeArgs: size})
	} else {
		result, err = readSession(c, readArgs{sessionArgs: of, Whole: u.entry != "", sizeArgs: size})
	}
	switch {
	case errors.Is(err, place.ErrNoSession):
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	case err != nil:
		return nil, s.failed(err)
	}
	text, err := encode(result)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: jsonType, Text: string(text)}}}, nil
}

// failed returns an error of the protocol with the text that a tool would return.
func (s *Server) failed(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.plainText(advised(err))}
}

// listResources returns a page of the list of all sessions, the most recently used first.
func (s *Server) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (*sdk.ListResourcesResult, error) {
	const page = 50
	text := ""
	if r.Params != nil {
		text = r.Params.Cursor
	}
	at, err := begin(text, digest("resources"))
	if err != nil {
		return nil, s.failed(err)
	}
	c, space := &call{s, ctx}, &room{left: defaultBytes - frame}
	result := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	seen := map[string]bool{}
	var problems []string
	more, err := c.walk(treeline.Filter{}, &at, page, &problems, func(row *place.Row) (bool, error) {
		if row.IsTask() {
			return true, nil
		}
		j := c.resource(row)
		if seen[j.URI] { // a copy of a session
			j.URI = uri{session: row.Path}.String()
		}
		ok, err := space.take(j)
		if ok {
			seen[j.URI] = true
			result.Resources = append(result.Resources, j)
		}
		return ok, err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	if more {
		result.NextCursor = *at.cursor()
	}
	return result, nil
}

// resource returns a session in the list of resources.
func (c *call) resource(r *place.Row) *sdk.Resource {
	j := c.row(r)
	title := j.Title
	if title == "" {
		title = string(j.ID)
	}
	return &sdk.Resource{
		URI: uri{session: string(j.ID)}.String(), Name: string(j.ID), Title: title, MIMEType: jsonType,
		Description: j.Dialect + " session in " + j.CWD, Annotations: &sdk.Annotations{LastModified: wire.UTC(r.When())},
	}
}
