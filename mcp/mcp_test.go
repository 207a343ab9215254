package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/mcp"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// noon is the time of all tests.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// client is a client of the SDK, connected to a server over the given store.
type client struct {
	*testing.T
	*sdk.ClientSession
	tools map[string]*sdk.Tool
}

func connect(t *testing.T, s mcp.Store, opt mcp.Options) *client {
	t.Helper()
	opt.Clock, opt.Version = noon, "test"
	near, far := sdk.NewInMemoryTransports()
	if err := mcp.New(s, opt).Connect(t.Context(), far); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	c := &client{t, session, map[string]*sdk.Tool{}}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		c.tools[tool.Name] = tool
	}
	return c
}

// args are arguments of a tool.
type args = map[string]json.RawMessage

// arguments reads arguments from JSON.
func arguments(t *testing.T, text string) args {
	t.Helper()
	a := args{}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// call calls a tool and reads its result. It must fit its schema and the bound, and the text must be the same JSON.
func call[T any](c *client, tool, text string) (result T) {
	c.Helper()
	a := arguments(c.T, text)
	res, err := c.CallTool(c.Context(), &sdk.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		c.Fatalf("%s %s: %v", tool, text, err)
	}
	said := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		c.Fatalf("%s %s: %s; want not res.IsError", tool, text, said)
	}
	most := 25_000
	if a["maxBytes"] != nil {
		_ = json.Unmarshal(a["maxBytes"], &most)
	}
	if len(said) > most {
		c.Errorf("%s %s: %d bytes, not %d", tool, text, len(said), most)
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		c.Fatal(err)
	}
	var one, other any
	if errors.Join(json.Unmarshal([]byte(said), &one), json.Unmarshal(structured, &other)) != nil || !reflect.DeepEqual(one, other) {
		c.Errorf("%s %s: the text is not the structured content:\n%s\n%s", tool, text, said, structured)
	}
	c.fits(tool, []byte(said))
	if err := json.Unmarshal([]byte(said), &result); err != nil {
		c.Fatalf("%s %s: %v", tool, text, err)
	}
	return result
}

// fits checks a result against the schema of the tool.
func (c *client) fits(tool string, result []byte) {
	c.Helper()
	text, err := json.Marshal(c.tools[tool].OutputSchema)
	if err != nil {
		c.Fatal(err)
	}
	var root jsonschema.Schema
	var more struct {
		Defs jsonschema.Defs `json:"$defs"`
	}
	if err := errors.Join(json.Unmarshal(text, &root), json.Unmarshal(text, &more)); err != nil || root.Type != "object" {
		c.Fatalf("%s: the schema is %s: %v", tool, text, err)
	}
	if err := more.Defs.Check(&root, result); err != nil {
		c.Errorf("%s: %v", tool, err)
	}
}

// refused calls a tool and returns the text of its error.
func (c *client) refused(tool, text string) string {
	c.Helper()
	res, err := c.CallTool(c.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments(c.T, text)})
	if err != nil {
		c.Fatalf("%s %s: %v", tool, text, err)
	}
	said := res.Content[0].(*sdk.TextContent).Text
	if !res.IsError {
		c.Errorf("%s %s is not refused: %s", tool, text, said)
	}
	return said
}

// shop returns the machine of the demo, seen from the project with the most sessions.
func shop(t *testing.T) *treeline.Store {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(t.Context(), dir, noon, all.Drivers()...); err != nil {
		t.Fatal(err)
	}
	opt := demo.Machine(dir, noon, all.Drivers()...)
	opt.WorkDir = "/home/you/shop"
	return store(t, opt)
}

// store opens a store that cannot write.
func store(t *testing.T, opt treeline.Options) *treeline.Store {
	t.Helper()
	opt.ReadOnly = true
	s, err := treeline.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// desk returns a machine with sessions of pi in the directory /desk, by the name of their file.
func desk(t *testing.T, logs map[string]string) *treeline.Store {
	t.Helper()
	dir := t.TempDir()
	for name, text := range logs {
		path := filepath.Join(dir, ".pi", "agent", "sessions", "--desk--", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	opt := demo.Machine(dir, noon)
	opt.WorkDir = "/desk"
	return store(t, opt)
}

// said returns the records of a conversation.
func said(texts ...string) []string {
	var lines []string
	parent := ""
	for i, text := range texts {
		id := fmt.Sprintf("%08x", i+1)
		quoted, _ := json.Marshal(text) // a string: it cannot fail
		role := `"role":"user"`
		if i%2 == 1 {
			role = `"role":"assistant","model":"m","provider":"p"`
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-02-16T10:%02d:%02d.000Z","message":{%s,"content":[{"type":"text","text":%s}]}}`,
			id, parent, i/60%60, i%60, role, quoted))
		parent = id
	}
	lines[0] = strings.Replace(lines[0], `"parentId":""`, `"parentId":null`, 1)
	return lines
}

// row, hit and so on are what the tests look at.
type (
	sessionRow struct{ ID, CWD, Title, Prompt, Path string }
	hit        struct{ Ref, Snippet, Title string }
	part       struct {
		Type, Text string
		Arguments  json.RawMessage
		Parts      []part
	}
	entry struct {
		ID, Text string
		Parts    []part
		Cut      int
	}
	pages struct {
		About, Matched, By string
		Project            *string
		Widened            bool
		Sessions           []sessionRow
		Hits               []hit
		Session            json.RawMessage
		Entries            []entry
		Messages           []entry
		Prompts            []struct {
			Prompt string
			Uses   []struct{ Entry string }
			Cut    int
		}
		Runs           []struct{ ID, Prompt string }
		Groups         []struct{ Name string }
		Sum            struct{ Sessions, Messages int }
		First, Total   int
		Next, Previous *string
		Problems       []string
	}
)

// TestTools: a client sees seven tools that only read, each with a description, and can call all of them on a machine of all agents.
func TestTools(t *testing.T) {
	t.Parallel()
	c := connect(t, shop(t), mcp.Options{})
	want := []string{"get_context", "list_runs", "list_sessions", "read_session", "recall_prompts", "search_sessions", "usage"}
	var names []string
	for name, tool := range c.tools {
		names = append(names, name)
		if a := tool.Annotations; !a.ReadOnlyHint || *a.OpenWorldHint || len(tool.Description) < 100 || !strings.Contains(tool.Description, "Examples: {") {
			t.Errorf(`%s: %+v %s; want a.ReadOnlyHint, not *a.OpenWorldHint, len(tool.Description) >= 100, strings.Contains(tool.Description, "Examples: {")`, name, a, tool.Description)
		}
	}
	slices.Sort(names)
	if diff := difftest.Diff(want, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	list := call[pages](c, "list_sessions", `{}`)
	if len(list.Sessions) < 5 || *list.Project != "/home/you/shop" || list.Sessions[0].CWD != "/home/you/shop" {
		t.Errorf("list_sessions: %+v", list)
	}
	if all := call[pages](c, "list_sessions", `{"project":"all","limit":100}`); len(all.Sessions) <= len(list.Sessions) || all.Project != nil {
		t.Errorf("list_sessions of all: %d", len(all.Sessions))
	}
	found := call[pages](c, "search_sessions", `{"query":"refunds"}`)
	if len(found.Hits) == 0 || found.Widened || found.Matched != "words" || found.About == "" {
		t.Fatalf("search_sessions: %+v", found)
	}
	read := call[pages](c, "read_session", fmt.Sprintf(`{"session":%q}`, found.Hits[0].Ref))
	_, id, _ := strings.Cut(found.Hits[0].Ref, "#")
	if !slices.ContainsFunc(read.Entries, func(e entry) bool { return e.ID == id }) {
		t.Errorf("read_session around %s: %+v", found.Hits[0].Ref, read)
	}
	seen := call[pages](c, "get_context", fmt.Sprintf(`{"session":%q}`, found.Hits[0].Ref))
	if len(seen.Messages) == 0 || seen.Total < len(seen.Messages) {
		t.Errorf("get_context: %+v", seen)
	}
	typed := call[pages](c, "recall_prompts", `{}`)
	if len(typed.Prompts) == 0 || len(typed.Prompts[0].Uses) == 0 {
		t.Errorf("recall_prompts: %+v", typed)
	}
	if words := call[pages](c, "recall_prompts", `{"words":"refunds"}`); len(words.Prompts) == 0 || len(words.Prompts) >= len(typed.Prompts) {
		t.Errorf("recall_prompts of words: %+v", words)
	}
	if sum := call[pages](c, "usage", `{"by":"agent"}`); sum.Sum.Sessions == 0 || len(sum.Groups) < 2 || sum.By != "agent" {
		t.Errorf("usage: %+v", sum)
	}
	if runs := call[pages](c, "list_runs", `{"project":"all"}`); runs.Total == 0 || runs.Total != len(runs.Runs) {
		t.Errorf("list_runs: %+v", runs)
	}
	last := call[pages](c, "read_session", `{"session":"@last","from":"start","thinking":true}`)
	if last.First != 0 || last.Previous != nil {
		t.Errorf("read_session from its start: %+v", last)
	}
}

// TestWidens: words that do not occur in the current project are searched for in all projects, and the result says so.
func TestWidens(t *testing.T) {
	t.Parallel()
	c := connect(t, shop(t), mcp.Options{})
	found := call[pages](c, "search_sessions", `{"query":"tiles"}`)
	if len(found.Hits) == 0 || !found.Widened || found.Project != nil {
		t.Errorf("%+v; want len(found.Hits) != 0, found.Widened, found.Project == nil", found)
	}
	if only := call[pages](c, "search_sessions", `{"query":"tiles","project":"/home/you/shop"}`); len(only.Hits) != 0 || only.Widened {
		t.Errorf("a project that was named: %+v", only)
	}
}

// TestRefusals: a mistake is an error of the tool, and its text says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := connect(t, shop(t), mcp.Options{})
	id := call[pages](c, "list_sessions", `{"limit":2}`).Sessions[0].ID
	next := *call[pages](c, "list_sessions", `{"limit":2}`).Next
	for _, r := range []struct{ tool, arguments, want string }{
		{"search_sessions", `{}`, `"query" is missing: words that must all occur`},
		{"search_sessions", `{"query":null}`, `"query" is missing`},
		{"search_sessions", `{"query":7}`, `"query" must be a string, not 7`},
		{"search_sessions", `{"query":"x","where":"here"}`, `there is no argument "where"; use query, in, project`},
		{"search_sessions", `{"query":"x","in":["answers"]}`, `"in" must be one of user, assistant, tool, thinking, other, not "answers"`},
		{"search_sessions", `{"query":"x","in":"user"}`, `"in" must be a list of strings`},
		{"search_sessions", `{"query":"(","regexp":true}`, `the query is invalid`},
		{"search_sessions", `{"query":"x","since":"lately"}`, `"since" must be an age like 7d, a day`},
		{"search_sessions", `{"query":"x","agent":"nobody"}`, `use the name of an agent as list_sessions shows it`},
		{"list_sessions", `{"agent":"nobody"}`, `use the name of an agent`},
		{"list_sessions", `{"limit":"3"}`, `"limit" must be a whole number, not "3"`},
		{"list_sessions", `{"limit":2.5}`, `"limit" must be a whole number, not 2.5`},
		{"list_sessions", `{"limit":1e300}`, `"limit" must be a whole number, not 1e300`},
		{"list_sessions", `{"limit":1001}`, `a number from 1 to 1000`},
		{"list_sessions", `{"maxBytes":10}`, `a number from 8000 to 200000, not 10`},
		{"list_sessions", `{"maxBytes":1000000000}`, `not 1000000000`},
		{"list_sessions", `{"has":["secrets"]}`, `"has" must be one of label`},
		{"list_sessions", `{"cursor":"none"}`, `pass "next" of the result before`},
		{"list_sessions", `{"cursor":"` + next + `","agent":"claude"}`, `the cursor does not belong to this call`},
		{"search_sessions", `{"query":"x","cursor":"e30"}`, `the cursor does not belong to this call`}, // {}
		{"list_runs", `{"cursor":"` + next + `"}`, `the cursor does not belong to this call`},
		{"list_sessions", `{"noRedact":true}`, `there is no argument "noRedact"`},
		{"read_session", `{}`, `"session" is missing`},
		{"read_session", `{"session":"nothing"}`, `list_sessions shows the sessions`},
		{"read_session", `{"session":"/etc/passwd"}`, `no such session`},
		{"read_session", `{"session":"../../x.jsonl"}`, `no such session`},
		{"read_session", `{"session":"treeline://elsewhere/x"}`, `is not the URI of a session: use treeline://session/ID`},
		{"read_session", `{"session":"` + id + `#none"}`, `has no entry "none"; read_session without an entry`},
		{"read_session", `{"session":"` + id + `#a","entry":"b"}`, `name different entries`},
		{"read_session", `{"session":"` + id + `","whole":true}`, `"whole" needs an entry`},
		{"read_session", `{"session":"` + id + `","from":"middle"}`, `must be one of start, end`},
		{"read_session", `{"session":"` + id + `","textBytes":-1}`, `"textBytes" must be a number`},
		{"get_context", `{"session":"nothing"}`, `no such session`},
		{"get_context", `{"session":"` + id + `","entry":"none"}`, `has no entry`},
		{"usage", `{"by":"month"}`, `must be one of agent, model, project, day`},
		{"recall_prompts", `{"until":"x"}`, `"until" must be an age`},
	} {
		if got := c.refused(r.tool, r.arguments); !strings.Contains(got, r.want) {
			t.Errorf("%s %s:\n got %s\nwant %s", r.tool, r.arguments, got, r.want)
		}
	}
	if got := c.refused("read_session", `{"session":"`+strings.Repeat("long", 100_000)+`"}`); len(got) > 3000 || !strings.Contains(got, "no such session; list_sessions shows") {
		t.Errorf("a long argument is repeated: %d bytes", len(got))
	}
	for _, n := range []string{"2.0", "2e0", "0.2e1"} {
		if got := call[pages](c, "list_sessions", `{"limit":`+n+`}`); len(got.Sessions) != 2 {
			t.Errorf("a limit of %s gives %d sessions", n, len(got.Sessions))
		}
	}
	if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete_session"}); err == nil {
		t.Error("a tool that there is not is called")
	}
}

// TestAmbiguous: an id that several sessions have results in their paths, which are also valid names.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	log := world.Log("5a5e0000-0000-4000-8000-000000000001", "/desk", said("hello", "hi")...)
	c := connect(t, desk(t, map[string]string{"a.jsonl": log, "b.jsonl": log}), mcp.Options{})
	text := c.refused("read_session", `{"session":"5a5e"}`)
	if !strings.Contains(text, "a.jsonl") || !strings.Contains(text, "b.jsonl") {
		t.Fatal(text)
	}
	for _, r := range call[pages](c, "list_sessions", `{}`).Sessions {
		if got := call[pages](c, "read_session", fmt.Sprintf(`{"session":%q}`, r.Path)); len(got.Entries) != 2 {
			t.Errorf("%s: %+v; want len(got.Entries) == 2", r.Path, got)
		}
	}
}

// slow is a store whose searches last until they are cancelled.
type slow struct {
	mcp.Store
	begun chan struct{}
	ended chan error
}

func (s slow) Search(ctx context.Context, _ string, _ treeline.SearchOptions) (*treeline.SearchResult, error) {
	close(s.begun)
	<-ctx.Done()
	s.ended <- context.Cause(ctx)
	return nil, ctx.Err()
}

// TestCancel: a call that the client gives up ends in the store, and the server goes on.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := slow{desk(t, map[string]string{"a.jsonl": world.Log("a1", "/desk", said("hello")...)}), make(chan struct{}), make(chan error, 1)}
	c := connect(t, s, mcp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.begun; cancel() }()
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "search_sessions", Arguments: arguments(t, `{"query":"hello"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("the call: %v", err)
	}
	if err := <-s.ended; err == nil {
		t.Error("the search was not cancelled")
	}
	if list := call[pages](c, "list_sessions", `{}`); len(list.Sessions) != 1 {
		t.Errorf("after it: %+v", list)
	}
}
