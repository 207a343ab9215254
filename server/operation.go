package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/wire"
)

// apiPath is the path of the API, below the base path.
const apiPath = "/api/v1"

// operation is a row of the table: its path, its parameters, its result and the function that carries it out. The mux and the OpenAPI
// document are made from it.
type operation struct {
	method, path string
	// name is the operation's id in the OpenAPI document, for generated clients. doc says what it does; its first sentence is the summary.
	name, doc string
	// media is the type of the answer; body is the type of the request's body, if it is not JSON.
	media, body string
	// writes reports whether the operation changes sessions.
	writes         bool
	params, result reflect.Type
	fields         []field
	call           func(*request) error
}

// get makes an operation that reads and answers with JSON.
func get[P, R any](path, name, doc string, f func(*request, P) (R, error)) *operation {
	return answered(http.MethodGet, path, name, doc, f)
}

// post makes an operation that writes and answers with JSON.
func post[P, R any](path, name, doc string, f func(*request, P) (R, error)) *operation {
	o := answered(http.MethodPost, path, name, doc, f)
	o.writes = true
	return o
}

// answered makes an operation from a function that takes a *request and parameters, and returns an error and a result that is sent as JSON.
// It has no type parameters: the compiler would generate code for each pair of types.
//
//go:noinline
func answered(method, path, name, doc string, f any) *operation {
	const media = "application/json"
	do := reflect.ValueOf(f)
	return newOperation(method, path, name, doc, media, do.Type().In(1), do.Type().Out(0)).doing(func(r *request, params reflect.Value) error {
		return r.made(media, func(b *bytes.Buffer) error {
			results := do.Call([]reflect.Value{reflect.ValueOf(r), params.Elem()})
			if err, _ := results[1].Interface().(error); err != nil {
				return err
			}
			return wire.Write(b, results[0].Interface())
		})
	})
}

// doing makes f the function of an operation. f sends the answer itself; params points to the parameters.
func (o *operation) doing(f func(r *request, params reflect.Value) error) *operation {
	o.call = func(r *request) error {
		params := reflect.New(o.params)
		if err := r.decode(params.Interface(), o.fields); err != nil {
			return err
		}
		return f(r, params)
	}
	return o
}

// stream makes an operation that reads, and writes its answer piece by piece. R is the type of a JSON answer; other media have none.
func stream[P, R any](path, name, doc, media string, f func(*request, P) error) *operation {
	return streaming(path, name, doc, media, f, reflect.TypeFor[R]())
}

//go:noinline
func streaming(path, name, doc, media string, f any, shape reflect.Type) *operation {
	do := reflect.ValueOf(f)
	return newOperation(http.MethodGet, path, name, doc, media, do.Type().In(1), shape).doing(func(r *request, params reflect.Value) error {
		err, _ := do.Call([]reflect.Value{reflect.ValueOf(r), params.Elem()})[0].Interface().(error)
		return err
	})
}

//go:noinline
func newOperation(method, path, name, doc, media string, params, result reflect.Type) *operation {
	return &operation{method: method, path: path, name: name, doc: doc, media: media, params: params, result: result, fields: fieldsOf(params)}
}

// request is one request while it is answered.
type request struct {
	*http.Request
	s *Server
	w http.ResponseWriter
	// grant says what the client may do; nil allows everything.
	grant *access.Grant
	// about is the session that the client asked for, or nil.
	about *place.Row
	// target is what a writing request names: the key of a session, or the name of a log. project is the project of that log.
	target, project string
}

// errNotModified ends an operation whose answer the client already has.
var errNotModified = errors.New("not modified")

// made makes an answer in memory, and sends it.
func (r *request) made(media string, f func(*bytes.Buffer) error) error {
	return r.s.sender.Made(r.w, r.Request, media, f)
}

// streamed sends an answer while it is made; see reply.Sender.
func (r *request) streamed(media string, f func(io.Writer) error) error {
	return r.s.sender.Streamed(r.w, r.Request, media, f)
}

// unchanged sets the entity tag of the answer, and reports whether the client already has it.
func (r *request) unchanged(tag string) bool { return reply.Unchanged(r.w, r.Request, tag) }

// badRequest is an error in the request.
type badRequest struct{ text string }

func (e *badRequest) Error() string { return e.text }

func bad(format string, a ...any) error { return &badRequest{fmt.Sprintf(format, a...)} }

// Places of a parameter in a request.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

// field is a parameter of an operation, as the tags of a struct field describe it:
//
//	path, query, json  its name in the path, the query or the body
//	need               it must be given
//	one                the values that it may have, separated by spaces
//	doc                what it is
type field struct {
	name, in, doc string
	index         []int
	kind          reflect.Type
	needed        bool
	one           []string
}

func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		p := field{doc: f.Tag.Get("doc"), index: f.Index, kind: f.Type, one: strings.Fields(f.Tag.Get("one"))}
		_, p.needed = f.Tag.Lookup("need")
		if p.name = f.Tag.Get("path"); p.name != "" {
			p.in, p.needed = inPath, true
		} else if p.name = f.Tag.Get("query"); p.name != "" {
			p.in = inQuery
		} else {
			p.name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
			p.in = inBody
		}
		list = append(list, p)
	}
	return list
}

// decode reads the parameters of a request into a struct.
func (r *request) decode(into any, fields []field) error {
	v := reflect.ValueOf(into).Elem()
	if err := r.decodeQuery(v, fields); err != nil || r.Method != http.MethodPost {
		return err
	}
	if err := r.decodeBody(into, slices.ContainsFunc(fields, func(f field) bool { return f.in == inBody })); err != nil {
		return err
	}
	for i := range fields {
		f := &fields[i]
		if value := v.FieldByIndex(f.index); f.in == inBody && f.needed && value.IsZero() {
			return bad("%q is missing", f.name)
		}
	}
	return nil
}

// decodeQuery reads the parameters in the path and the query. It refuses unknown ones: with a misspelled filter, a list would otherwise
// have everything.
func (r *request) decodeQuery(v reflect.Value, fields []field) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return bad("the query cannot be read: %v", err)
	}
	for i := range fields {
		f := &fields[i]
		var given []string
		switch f.in {
		case inPath:
			given = []string{r.PathValue(f.name)}
		case inQuery:
			given = query[f.name]
			delete(query, f.name)
		default:
			continue
		}
		if err := f.set(v.FieldByIndex(f.index), given); err != nil {
			return err
		}
	}
	for name := range query {
		return bad("there is no parameter %q", name)
	}
	return nil
}

// set sets a parameter from its values. Only a list may have several.
func (f *field) set(v reflect.Value, given []string) error {
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		if f.needed {
			return bad("the parameter %q is missing", f.name)
		}
		return nil
	}
	if len(given) > 1 && v.Kind() != reflect.Slice {
		return bad("the parameter %q is given twice", f.name)
	}
	for _, text := range given {
		if len(f.one) > 0 && !slices.Contains(f.one, text) {
			return bad("the parameter %q must be one of %s, not %q", f.name, strings.Join(f.one, ", "), text)
		}
	}
	text := given[0]
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		v.Set(reflect.ValueOf(given))
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return bad("the parameter %q must be true or false, not %q", f.name, text)
		}
		v.SetBool(on)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || v.OverflowInt(n) {
			return bad("the parameter %q must be a number of 0 or more, not %q", f.name, text)
		}
		v.SetInt(n)
	default:
		panic("server: a parameter of type " + v.Type().String())
	}
	return nil
}

// decodeBody reads the JSON body of a request. Content-Type must be JSON, which a form of another site cannot send; a request whose body is
// optional may omit it.
func (r *request) decodeBody(into any, wanted bool) error {
	given := r.Header.Get("Content-Type")
	if !wanted && given == "" {
		return nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || kind != "application/json" {
		return guard.Refuse(http.StatusUnsupportedMediaType, "the body must be JSON, with the header Content-Type: application/json")
	}
	if !wanted {
		return nil
	}
	if r.ContentLength > guard.BodyMost {
		return tooLarge()
	}
	text, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, guard.BodyMost))
	if err == nil && !utf8.Valid(text) { // encoding/json accepts it, and an append would write it to the log unchanged
		err = errors.New("it is not UTF-8")
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(into)
		if _, more := d.Token(); err == nil && more != io.EOF { //nolint:errorlint // the decoder returns io.EOF unwrapped
			err = errors.New("more than one JSON value")
		}
	}
	var large *http.MaxBytesError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return bad("the body: %q cannot be of type %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return bad("the body must be a JSON object (it is of type %s)", wrong.Value)
	case errors.As(err, &large):
		return tooLarge()
	case errors.Is(err, io.EOF):
		return bad("the body is empty")
	case err != nil:
		return bad("the body: %v", err)
	}
	return nil
}

func tooLarge() error {
	return guard.Refuse(http.StatusRequestEntityTooLarge, "the body is larger than %s", wire.Size(guard.BodyMost))
}
