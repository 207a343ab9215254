package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/wire"
)

// tool is a row of the table of tools.
type tool struct {
	name, title, doc string
	in, out          reflect.Type
	do               reflect.Value // a function that takes a *call and in, and returns out and an error
}

// call is one call of a tool, or one read of a resource.
type call struct {
	*Server
	ctx context.Context
}

// row makes a tool from a function. The fields of In are its arguments; see argumentsOf.
func row[In, Out any](name, title, doc string, f func(*call, In) (Out, error)) tool {
	do := reflect.ValueOf(f)
	return tool{name: name, title: title, doc: doc, in: do.Type().In(1), out: do.Type().Out(0), do: do}
}

// addTool registers a tool. Arguments and results are checked and encoded here: the SDK would convert numbers of a session to floats, and
// its errors do not tell a model what to do.
func (s *Server) addTool(t tool) {
	closed := false
	s.sdk.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.doc, InputSchema: inputSchema(t.in), OutputSchema: outputSchema(t.out),
		Annotations: &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		text, err := s.answer(ctx, t, r.Params.Arguments)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: s.plainText(advised(err))}}}, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text)}, nil
	})
}

// answer calls a tool and encodes its result.
func (s *Server) answer(ctx context.Context, t tool, arguments json.RawMessage) ([]byte, error) {
	in := reflect.New(t.in)
	if err := decode(arguments, in.Interface()); err != nil {
		return nil, err
	}
	results := t.do.Call([]reflect.Value{reflect.ValueOf(&call{Server: s, ctx: ctx}), in.Elem()})
	if err, _ := results[1].Interface().(error); err != nil {
		return nil, err
	}
	return encode(results[0].Interface())
}

// encode writes a value as the JSON that clients get: characters that control a terminal, or hide text, are escaped.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := wire.Write(&b, v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// argument is an argument of a tool, as the tags of its field describe it:
//
//	json  the name
//	need  it must be given
//	one   the values that it may have, separated by spaces; of a list, each element
//	doc   what it is
type argument struct {
	name, doc string
	field     []int
	kind      reflect.Type
	needed    bool
	one       []string
}

func argumentsOf(t reflect.Type) (list []argument) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		a := argument{name: f.Tag.Get("json"), doc: f.Tag.Get("doc"), field: f.Index, kind: f.Type, one: strings.Fields(f.Tag.Get("one"))}
		_, a.needed = f.Tag.Lookup("need")
		list = append(list, a)
	}
	return list
}

// decode reads arguments into a struct. It refuses unknown ones, since ignoring a filter would give a wrong answer. null is the same as
// absent, because some models send all arguments.
func decode(arguments json.RawMessage, into any) error {
	list := argumentsOf(reflect.TypeOf(into).Elem())
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return refuse("the arguments must be a JSON object")
	}
	for name := range given {
		if !slices.ContainsFunc(list, func(a argument) bool { return a.name == name }) {
			var names []string
			for _, a := range list {
				names = append(names, a.name)
			}
			return refuse("there is no argument %q; use %s", name, strings.Join(names, ", "))
		}
	}
	value := reflect.ValueOf(into).Elem()
	for _, a := range list {
		text, ok := given[a.name]
		if ok && string(text) != "null" {
			if err := json.Unmarshal(a.whole(text), value.FieldByIndex(a.field).Addr().Interface()); err != nil {
				return refuse("the argument %q must be %s, not %.60s", a.name, a.typeName(), text)
			}
		}
		if err := a.check(value.FieldByIndex(a.field)); err != nil {
			return err
		}
	}
	return nil
}

// whole returns a number such as 20.0 or 2e1 without its point: for JSON Schema it is an integer, and some clients write all numbers like
// this.
func (a *argument) whole(text json.RawMessage) json.RawMessage {
	var f float64
	if a.kind.Kind() != reflect.Int || json.Unmarshal(text, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return text
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// typeName describes the type in words.
func (a *argument) typeName() string {
	switch a.kind.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list of strings"
	}
	return "a string"
}

func (a *argument) check(v reflect.Value) error {
	if a.needed && v.IsZero() {
		return refuse("the argument %q is missing: %s", a.name, a.doc)
	}
	if len(a.one) == 0 {
		return nil
	}
	var words []string
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 {
			words = append(words, v.String())
		}
	case reflect.Slice:
		for i := range v.Len() {
			words = append(words, v.Index(i).String())
		}
	}
	for _, w := range words {
		if !slices.Contains(a.one, w) {
			return refuse("the argument %q must be one of %s, not %q", a.name, strings.Join(a.one, ", "), w)
		}
	}
	return nil
}

// inputSchema describes the arguments of a tool.
func inputSchema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	var set jsonschema.Set
	for _, a := range argumentsOf(t) {
		p := set.Add(a.kind)
		p.Description = a.doc
		if p.Type == "array" {
			p.Items.Enum = a.one
		} else {
			p.Enum = a.one
		}
		s.Properties[a.name] = p
		if a.needed {
			s.Required = append(s.Required, a.name)
		}
	}
	return s
}

// resultSchema is the schema of a result. Its root is an object, as the protocol requires; the other structs are definitions.
type resultSchema struct {
	*jsonschema.Schema
	Defs jsonschema.Defs `json:"$defs"`
}

func outputSchema(t reflect.Type) resultSchema {
	set := jsonschema.Set{Prefix: "#/$defs/"}
	root := set.Add(t).Name()
	s := set.Defs[root]
	delete(set.Defs, root)
	return resultSchema{s, set.Defs}
}

// refusal is the error for a mistake in the arguments. Its text says what to do.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

func refuse(format string, a ...any) error { return &refusal{fmt.Sprintf(format, a...)} }

// advised adds what the model can do about an error. Of a long one, which repeats an argument, it keeps the beginning and the end.
func advised(err error) string {
	const most = 2000
	text := err.Error()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most/2], "") + " … " + strings.ToValidUTF8(text[len(text)-most/2:], "")
	}
	for _, a := range advice {
		if errors.Is(err, a.kind) {
			return text + "; " + a.text
		}
	}
	return text
}
