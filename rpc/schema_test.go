package rpc_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/wire"
)

// promised is the OpenRPC document, against which every result of every test is checked, and the methods that were.
var promised = struct {
	sync.Mutex
	openRPC
	kept map[string]bool
}{kept: map[string]bool{}}

func TestMain(m *testing.M) { killtest.Main(keptPromises{m}, child) }

// keptPromises runs the tests. It fails if a method was never called with success: then nothing says that its result is what
// the document promises.
type keptPromises struct{ *testing.M }

func (m keptPromises) Run() int {
	flag.Parse()
	text, err := rpc.Document("0")
	if err == nil {
		err = json.Unmarshal(text, &promised.openRPC)
	}
	if err != nil {
		panic(err)
	}
	code := m.M.Run()
	all := code == 0 && flag.Lookup("test.run").Value.String()+flag.Lookup("test.skip").Value.String()+flag.Lookup("test.list").Value.String()+flag.Lookup("test.fuzz").Value.String() == ""
	for _, method := range promised.Methods {
		if all && !promised.kept[method.Name] {
			fmt.Printf("no test has called %s with success\n", method.Name)
			code = 1
		}
	}
	return code
}

// keepsPromise checks a result.
func keepsPromise(tb testing.TB, method string, result json.RawMessage) {
	tb.Helper()
	promised.Lock()
	defer promised.Unlock()
	for _, m := range promised.Methods {
		if m.Name == method {
			promised.kept[method] = true
			if err := promised.check(m.Result.Schema, result, "result"); err != nil {
				tb.Errorf("%s: %v\n%s", method, err, result)
			}
		}
	}
}

// check says where a value is not what its schema says. A member that the schema of a shape does not name is an error, too.
func (d *openRPC) check(s *schema, value json.RawMessage, at string) error {
	wrong := func() error { return fmt.Errorf("%s is not %s", at, s.words()) }
	switch {
	case s.Ref != "":
		return d.check(d.Components.Schemas[s.words()], value, at)
	case s.AnyOf != nil:
		var err error
		for _, one := range s.AnyOf {
			if err = d.check(one, value, at); err == nil {
				return nil
			}
		}
		return err
	}
	switch s.Type {
	case "":
		return nil
	case "null":
		if string(value) != "null" {
			return wrong()
		}
		return nil
	case "string", "boolean", "number", "integer":
		var v any
		json.Unmarshal(value, &v)
		number, isNumber := v.(float64)
		_, isText := v.(string)
		_, isBool := v.(bool)
		whole := isNumber && number == float64(int64(number))
		if !map[string]bool{"string": isText, "boolean": isBool, "number": isNumber, "integer": whole}[s.Type] {
			return wrong()
		}
		return nil
	case "array":
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || list == nil {
			return wrong()
		}
		for i, v := range list {
			if err := d.check(s.Items, v, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil || object == nil {
		return wrong()
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s has no %s", at, name)
		}
	}
	for name, v := range object {
		member, ok := s.Properties[name]
		switch {
		case ok:
		case s.Additional != nil:
			member = s.Additional
		case s.Properties == nil:
			continue // the agent's own JSON
		default:
			return fmt.Errorf("%s has an unknown member %s", at, name)
		}
		if err := d.check(member, v, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// rpc.discover answers with the document, with the program's own version.
func TestDiscover(t *testing.T) {
	t.Parallel()
	s, home := newStore(t)
	c := dialStore(t, s, home, rpc.Options{Version: wire.Version{Version: "1.2.3", Go: "go", OS: "os", Arch: "arch"}})
	want, err := rpc.Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "document", c.raw("rpc.discover", nil), string(want))
	equal(t, "version", c.raw("version", nil), `{"version":"1.2.3","go":"go","os":"os","arch":"arch"}`)
	c.hangUp()
}

// The document is complete: every shape that it names exists, and every method says what it does.
func TestDocument(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range promised.Methods {
		names = append(names, m.Name)
		if m.Summary == "" || strings.Contains(m.Summary, "\n") || !strings.HasSuffix(m.Description, ".") {
			t.Errorf("%s: summary %q, description %q", m.Name, m.Summary, m.Description)
		}
		for _, p := range append(m.Params, m.Result) {
			for s := p.Schema; s != nil; s = s.Items {
				if s.Ref != "" && promised.Components.Schemas[s.words()] == nil {
					t.Errorf("%s: there is no shape %s", m.Name, s.words())
				}
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a method is there twice: %v", names)
	}
}
