package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each invalid request gets its code, and the next request is still answered.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := dial(t)
	h, _ := c.create(nil)
	c.say(h, "user", "1")
	for _, tt := range []struct {
		method, params string
		code           int
		message        string
	}{
		{"nothing", `{}`, -32601, `there is no method "nothing"`},
		{"create", `{}`, -32602, `parameter "cwd" is missing`},
		{"create", `{"cwd":7}`, -32602, `parameter "cwd": must be a string, not number`},
		{"create", `{"cwd":"/","dialect":"klingon"}`, -32602, `unknown dialect "klingon"`},
		{"create", `{"cwd":"/","deferUntil":"later"}`, -32602, `parameter "deferUntil"`},
		{"create", `{"cwd":"/","id":"../x"}`, -32602, `session id`},
		{"create", `{"cwd":"/","id":""}`, -32602, `parameter "id"`},
		{"create", `["/"]`, -32602, `must be an object`},
		{"create", `"x"`, -32602, `must be an object`},
		{"open", `{}`, -32602, `"path" is missing`},
		{"open", `{"path":""}`, -32602, `must not be empty`},
		{"open", `{"path":"/","replaceUnreadable":"yes"}`, -32602, `"replaceUnreadable": must be a boolean`},
		{"continueRecent", `{}`, -32602, `"cwd" is missing`},
		{"inMemory", `{"cwd":[]}`, -32602, `"cwd": must be a string`},
		{"forkFrom", `{"cwd":"/"}`, -32602, `"source" is missing`},
		{"forkFrom", `{"source":"/none.jsonl","cwd":"/tmp"}`, -32000, `/none.jsonl: log does not exist`},
		{"getLeafId", `{}`, -32602, `"session" is missing`},
		{"getLeafId", `{"session":"s99"}`, -32602, `session "s99" is not open`},
		{"getLeafId", `{"session":1}`, -32602, `"session": must be a string`},
		{"newSession", `{"session":"S","id":"a/b"}`, -32602, `session id`},
		{"createBranchedSession", `{"session":"S"}`, -32602, `"leafId" is missing`},
		{"createBranchedSession", `{"session":"S","leafId":"none"}`, -32000, `entry none not found`},
		{"move", `{"session":"S"}`, -32602, `"cwd" is missing`},
		{"appendMessage", `{"session":"S"}`, -32602, `"message" is missing`},
		{"appendMessage", `{"session":"S","message":"hi"}`, -32602, `"message": must be an object`},
		{"appendThinkingLevelChange", `{"session":"S"}`, -32602, `"thinkingLevel" is missing`},
		{"appendThinkingLevelChange", `{"session":"S","thinkingLevel":3}`, -32602, `must be a string or null`},
		{"appendModelChange", `{"session":"S"}`, -32602, `"model" is missing`},
		{"appendModelChange", `{"session":"S","provider":"p"}`, -32602, `"modelId" is missing`},
		{"appendCompaction", `{"session":"S","firstKeptEntryId":"x","tokensBefore":1}`, -32602, `"summary" is missing`},
		{"appendCompaction", `{"session":"S","summary":"","tokensBefore":1}`, -32602, `"firstKeptEntryId" is missing`},
		{"appendCompaction", `{"session":"S","summary":"","firstKeptEntryId":"x","tokensBefore":"1"}`, -32602, `"tokensBefore": must be a number`},
		{"appendCompaction", `{"session":"S","summary":"","firstKeptEntryId":"x","tokensBefore":1,"fromHook":1}`, -32602, `"fromHook": must be a boolean`},
		{"appendCustomEntry", `{"session":"S"}`, -32602, `"customType" is missing`},
		{"appendCustomMessageEntry", `{"session":"S","customType":"x","content":{},"display":true}`, -32602, `"content": must be a string or a list`},
		{"appendCustomMessageEntry", `{"session":"S","customType":"x","content":""}`, -32602, `"display" is missing`},
		{"appendLabelChange", `{"session":"S"}`, -32602, `"targetId" is missing`},
		{"appendLabelChange", `{"session":"S","targetId":"none","label":"x"}`, -32000, `entry none not found`},
		{"appendSessionInfo", `{"session":"S"}`, -32602, `"name" is missing`},
		{"appendModeChange", `{"session":"S"}`, -32602, `"mode" is missing`},
		{"appendTtsrInjection", `{"session":"S","injectedRules":"x"}`, -32602, `"injectedRules": must be a list`},
		{"appendTtsrInjection", `{"session":"S","injectedRules":[1]}`, -32602, `must be a string`},
		{"appendTtsrInjection", `{"session":"S","injectedRules":[null]}`, -32602, `"injectedRules[0]" is missing`},
		{"appendSessionInit", `{"session":"S","systemPrompt":"","task":""}`, -32602, `"tools" is missing`},
		{"appendServiceTierChange", `{"session":"S"}`, -32602, `"serviceTier" is missing`},
		{"appendServiceTierChange", `{"session":"S","serviceTier":[]}`, -32602, `"serviceTier": must be a string, an object or null`},
		{"appendMCPToolSelection", `{"session":"S","selectedToolNames":null}`, -32602, `"selectedToolNames" is missing`},
		{"appendMCPToolSelection", `{"session":"S","selectedToolNames":[null]}`, -32602, `"selectedToolNames[0]" is missing`},
		{"branch", `{"session":"S"}`, -32602, `"id" is missing`},
		{"branch", `{"session":"S","id":"none"}`, -32000, `entry none not found`},
		{"branch", `{"session":"S","id":""}`, -32000, `not found`},
		{"branchWithSummary", `{"session":"S","summary":"x"}`, -32602, `"id" is missing`},
		{"branchWithSummary", `{"session":"S","id":null}`, -32602, `"summary" is missing`},
		{"branchWithSummary", `{"session":"S","id":1,"summary":"x"}`, -32602, `"id": must be a string or null`},
		{"branchWithSummary", `{"session":"S","id":"none","summary":"x"}`, -32000, `entry none not found`},
		{"setSessionName", `{"session":"S","name":null}`, -32602, `"name" is missing`},
		{"rewriteEntries", `{"session":"S"}`, -32602, `"entries" is missing`},
		{"rewriteEntries", `{"session":"S","entries":[1]}`, -32602, `"entries[0]": must be an object`},
		{"rewriteToolCallArgs", `{"session":"S","toolCallId":"x","arguments":[]}`, -32602, `"arguments": must be an object`},
		{"getEntry", `{"session":"S"}`, -32602, `"id" is missing`},
		{"getLabel", `{"session":"S","id":{}}`, -32602, `"id": must be a string`},
		{"getChildren", `{"session":"S","parentId":3}`, -32602, `"parentId": must be a string`},
		{"getBranch", `{"session":"S","fromId":3}`, -32602, `"fromId": must be a string`},
		{"buildSessionContext", `{}`, -32602, `"entries" is missing`},
		{"buildSessionContext", `{"entries":{}}`, -32602, `"entries": must be a list`},
		{"buildSessionContext", `{"entries":[],"leafId":3}`, -32602, `"leafId": must be a string or null`},
		{"loadEntries", `{}`, -32602, `"path" is missing`},
		{"parseEntries", `{"text":1}`, -32602, `"text": must be a string`},
		{"migrateEntries", `{}`, -32602, `"entries" is missing`},
		{"findMostRecent", `{}`, -32602, `"dir" is missing`},
		{"getRecentSessions", `{"sessionDir":"/","limit":-1}`, -32602, `"limit": must not be negative`},
		{"getRecentSessions", `{"sessionDir":"/","limit":1.5}`, -32602, `"limit": must be a number`},
		{"list", `{}`, -32602, `"cwd" is missing`},
	} {
		before := c.raw("getEntries", members{"session": h})
		r := c.try(tt.method, json.RawMessage(strings.Replace(tt.params, `"S"`, `"`+h+`"`, 1)))
		if r.Error == nil || r.Error.Code != tt.code || !strings.Contains(r.Error.Message, tt.message) {
			t.Errorf("%s %s:\n got %+v\nwant %d …%s…", tt.method, tt.params, r.Error, tt.code, tt.message)
		}
		equal(t, tt.method+" changes nothing", c.raw("getEntries", members{"session": h}), before)
	}
	c.raw("close", members{"session": h})
	if r := c.try("getLeafId", members{"session": h}); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("a closed session: %+v", r)
	}
	c.hangUp()
}

// Lines that are not plain requests.
func TestLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, send, want string }{
		{"garbage", `{"jsonrpc"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{"garbage in a batch", `[{"jsonrpc"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{"a number", `1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"no method", `{"jsonrpc":"2.0","id":5}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,`},
		{"an invalid method", `{"jsonrpc":"2.0","method":1}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"another version", `{"jsonrpc":"1.0","id":"a","method":"listAll"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,`},
		{"not UTF-8", `{"jsonrpc":"2.0","id":6,"method":"parseEntries","params":{"text":"` + "\xff" + `"}}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32600,`},
		{"an invalid id", `{"jsonrpc":"2.0","id":{},"method":"listAll"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"an id of text", `{"jsonrpc":"2.0","id":"ü\"","method":"listAll"}`, `{"jsonrpc":"2.0","id":"ü\"","result":[]}`},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"listAll","params":null}`, `{"jsonrpc":"2.0","id":null,"result":[]}`},
		{"no params", `{"jsonrpc":"2.0","id":1.5,"method":"listAll"}`, `{"jsonrpc":"2.0","id":1.5,"result":[]}`},
		{"spaces", ` {"jsonrpc":"2.0","id":1,"method":"listAll"} ` + "\r", `{"jsonrpc":"2.0","id":1,"result":[]}`},
		{"an empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"a batch of nothing", `[1,2]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request must be a JSON object"}},{`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"listAll"},{"jsonrpc":"2.0","method":"listAll"},{"jsonrpc":"2.0","id":2,"method":"none"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":[]},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t)
			// Notifications and blank lines get no answer, so the next answer must belong to this request.
			c.send(`{"jsonrpc":"2.0","method":"listAll"}` + "\n\n" + `[{"jsonrpc":"2.0","method":"nothing"}]` + "\n" + tt.send)
			if got := c.receive(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s", got)
			}
			equal(t, "it goes on", c.raw("listAll", nil), "[]")
			c.hangUp()
		})
	}
}

// The last request needs no newline. When the input ends, what was begun is finished and stored.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	s, home := newStore(t)
	file := filepath.Join(home, "x.jsonl")
	var out bytes.Buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"open","params":{"path":"` + file + `"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"nothing"}`
	if err := rpc.Serve(context.Background(), s, rpc.Options{}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "\n") != 2 || !exists(file) {
		t.Errorf("answers: %s", out.String())
	}
}

// A signal stops the server before the input ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	in, _ := io.Pipe()
	done := make(chan error)
	go func() { done <- rpc.Serve(ctx, s, rpc.Options{}, in, io.Discard) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it serves on")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("gone") }

// The server stops after the client has gone away.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"listAll"}`+"\n")
	if err := rpc.Serve(context.Background(), s, rpc.Options{}, in, brokenPipe{}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

// Requests of one session do not wait for those of another one. Within a session they keep their order.
func TestSessionsRunBesideEachOther(t *testing.T) {
	t.Parallel()
	s, home := newStore(t)
	release := make(chan struct{})
	slow := filepath.Join(home, "slow.jsonl")
	observe := func(e store.Event) {
		if e.Kind == store.EventTree && e.Path == slow {
			<-release
		}
	}
	c := dialStore(t, s, home, rpc.Options{Write: store.WriteOptions{Observer: observe}})
	a := c.object("open", members{"path": slow})["session"].(string)
	b := c.object("open", members{"path": filepath.Join(home, "fast.jsonl")})["session"].(string)
	c.send(`{"jsonrpc":"2.0","id":"slow","method":"resetLeaf","params":{"session":"` + a + `"}}`)
	const n = 200
	for i := range n { // these wait for it
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d","method":"appendCustomEntry","params":{"session":%q,"customType":"%d"}}`, i, a, i))
	}
	c.say(b, "user", "meanwhile")
	equal(t, "the other goes on", len(c.list("getEntries", members{"session": b})), 1)
	close(release)
	if got := c.receive(); !strings.Contains(got, `"id":"slow","result":null`) {
		t.Errorf("got %s", got)
	}
	for i := range n {
		if got := c.receive(); !strings.Contains(got, fmt.Sprintf(`"id":"a%d","result"`, i)) {
			t.Fatalf("answer %d: %s", i, got)
		}
	}
	for i, e := range c.list("getEntries", members{"session": a}) {
		equal(t, "order", e["customType"], fmt.Sprint(i))
	}
	c.hangUp()
}

// A line may have any length. An entry that is too large is refused, and the next request is answered.
func TestLongLine(t *testing.T) {
	t.Parallel()
	sizes := []int{4 << 20}
	if soaktest.Every() {
		sizes = append(sizes, 200<<20)
	}
	c := dial(t)
	h, _ := c.create(members{"dialect": "pi"})
	for _, size := range sizes {
		long := strings.Repeat("x", size)
		go c.send(`{"jsonrpc":"2.0","id":1,"method":"appendMessage","params":{"session":"` + h + `","message":{"role":"user","content":"` + long + `"}}}`)
		want := `"result":{"id":`
		if size > store.MaxRecord {
			want = `"error":{"code":-32000,`
		}
		if got := c.receive(); !strings.Contains(got, want) {
			t.Fatalf("got %.200s", got)
		}
		equal(t, "it is there", strings.Contains(c.raw("getEntries", members{"session": h}), long), size <= store.MaxRecord)
	}
	c.hangUp()
}

// Answers are UTF-8 even if the log is not.
func TestAnswersAreUTF8(t *testing.T) {
	t.Parallel()
	c := dial(t)
	file := filepath.Join(c.home, "bytes.jsonl")
	write(t, file, `{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/"}`+"\n"+
		`{"type":"custom","id":"1","parentId":null,"timestamp":"t","customType":"`+"\xff"+`"}`+"\n")
	if got := c.raw("loadEntries", members{"path": file}); !strings.Contains(got, `"customType":"`+"\uFFFD"+`"`) {
		t.Errorf("got %s", got)
	}
}

// A whole conversation, byte for byte. With -update it is written anew.
func TestTranscript(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "transcript.txt")
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, home := newStore(t)
	tick := &clock{}
	c := dialStore(t, s, home, rpc.Options{Write: store.WriteOptions{Clock: tick.now, Random: &counter{}}})
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || line == "\n" {
			got.WriteString(line)
			continue
		}
		request, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		got.WriteString(line)
		c.send(strings.ReplaceAll(strings.TrimSpace(request), "$HOME", home))
		if strings.Contains(request, `"id"`) {
			got.WriteString("< " + strings.ReplaceAll(c.receive(), home, "$HOME"))
		}
	}
	c.hangUp()
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	equal(t, "transcript", strings.Split(got.String(), "\n"), strings.Split(string(text), "\n"))
}

// Errors of the library have a kind that programs rely on.
func TestErrorKinds(t *testing.T) {
	t.Parallel()
	c := dial(t)
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	write(t, bad, "this is no session\n")
	h := c.object("inMemory", members{"dialect": "codex"})["session"]
	for _, tt := range []struct {
		method string
		params members
		kind   string
	}{
		{"open", members{"path": bad}, "not-session"},
		{"open", members{"path": bad + "x", "readOnly": true}, "not-exist"},
		{"check", members{"ref": "nothing"}, "no-session"},
		{"readRun", members{"ref": "nothing"}, "no-run"},
		{"branch", members{"session": h, "id": "nothing"}, "unknown-entry"},
		{"appendUser", members{"session": h, "text": ""}, "silent"},
		{"appendToolResult", members{"session": h, "callId": "c", "parts": []members{{"type": "text", "text": "x"}}}, "refused"},
		{"appendSessionInit", members{"session": h, "systemPrompt": "", "task": "", "tools": []string{}}, "unsupported"},
		{"getEntry", members{"session": h}, ""},
	} {
		if r := c.try(tt.method, tt.params); r.Error == nil || r.Error.Data.Kind != tt.kind {
			t.Errorf("%s %v: %+v; want the kind %q", tt.method, tt.params, r.Error, tt.kind)
		}
	}
}
