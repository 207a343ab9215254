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

// promised has the OpenRPC document, with which every result of every test is compared, and the methods that were compared.
var promised = struct {
	sync.Mutex
	openRPC
	kept map[string]bool
}{kept: map[string]bool{}}

func TestMain(m *testing.M) { killtest.Main(keptPromises{m}, child) }

// keptPromises runs the tests. It fails if a method was never called successfully, because its result was then never compared with the
// document.
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

// keepsPromise compares a result with the document.
func keepsPromise(tb testing.TB, method string, result json.RawMessage) {
	tb.Helper()
	promised.Lock()
	defer promised.Unlock()
	for _, m := range promised.Methods {
		if m.Name == method {
			promised.kept[method] = true
			if err := promised.Components.Schemas.Check(m.Result.Schema, result); err != nil {
				tb.Errorf("%s: %v\n%s", method, err, result)
			}
		}
	}
}

// rpc.discover returns the document with the program's version.
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
				if s.Ref != "" && promised.Components.Schemas[s.Name()] == nil {
					t.Errorf("%s: there is no shape %s", m.Name, s.Name())
				}
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a method is there twice: %v", names)
	}
}
