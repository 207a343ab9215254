package convert_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// dice makes up sessions: all kinds of entries, trees of any form, unknown members.
type dice struct {
	*rand.Rand
	ids   []string
	calls []string
	n     int
	whole bool // compactions keep nothing, since what they keep could begin with a result
}

func (r *dice) one(list ...string) string { return list[r.IntN(len(list))] }

func (r *dice) maybe(s string) string {
	if r.IntN(3) == 0 {
		return s
	}
	return ""
}

func (r *dice) text() string {
	return r.one(`"plain"`, `"two\nlines"`, `""`, `"é \u2028 \ud83d\ude00"`, `"line`+"\u2028"+`separator"`, `"half \ud800"`, `"quote \" slash \\ / <b>"`)
}

func (r *dice) value() string {
	return r.one(`1`, `1.50`, `12345678901234567890`, `null`, `true`, `[]`, `{"b":1,"a":[{"x":"y"}]}`, r.text())
}

// unknown returns members that no agent knows.
func (r *dice) unknown() string {
	return r.maybe(`,"zz":`+r.value()) + r.maybe(`,"a/b~c":`+r.value())
}

func (r *dice) id() string {
	r.n++
	return fmt.Sprintf("e%07x", r.n)
}

func (r *dice) parent() string {
	switch {
	case len(r.ids) == 0 || r.IntN(30) == 0:
		return ""
	case r.IntN(5) == 0:
		return r.ids[r.IntN(len(r.ids))]
	}
	return r.ids[len(r.ids)-1]
}

func (r *dice) call() string {
	id := fmt.Sprintf("call%d", r.IntN(1000))
	r.calls = append(r.calls, id)
	return id
}

func (r *dice) called() string {
	if len(r.calls) == 0 || r.IntN(8) == 0 {
		return "nobody"
	}
	return r.calls[len(r.calls)-1]
}

// pi makes a log of the pi family.
func (r *dice) pi() string {
	lines := []string{fmt.Sprintf(`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-%012x","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"%s%s%s}`,
		r.IntN(1<<40), r.maybe(`,"title":"Pond"`), r.maybe(`,"parentSession":"/old.jsonl"`), r.unknown())}
	for range 1 + r.IntN(14) {
		id, parent := r.id(), "null"
		if p := r.parent(); p != "" {
			parent = `"` + p + `"`
		}
		lines = append(lines, fmt.Sprintf(`{"type":%s,"id":"%s","parentId":%s,"timestamp":"2026-03-02T14:00:%02d.%03dZ"%s}`,
			r.piEntry(), id, parent, r.IntN(60), r.IntN(1000), r.unknown()))
		r.ids = append(r.ids, id)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r *dice) some() string {
	if len(r.ids) == 0 {
		return "missing"
	}
	return r.ids[r.IntN(len(r.ids))]
}

func (r *dice) kept() string {
	if r.whole {
		return "none"
	}
	return r.some()
}

func (r *dice) piBlocks() string {
	var list []string
	for range r.IntN(4) {
		list = append(list, r.one(
			`{"type":"text","text":`+r.text()+r.unknown()+`}`,
			`{"type":"thinking","thinking":`+r.text()+r.maybe(`,"thinkingSignature":"sig"`)+`}`,
			`{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`,
			`{"type":"toolCall","id":"`+r.call()+`","name":"bash","arguments":{"command":`+r.text()+`}}`,
			`{"type":"novel","x":`+r.value()+`}`))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (r *dice) piEntry() string {
	usage := `"usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":0,"totalTokens":16,"cost":{"input":0.5,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0.75}` + r.unknown() + `}`
	switch r.IntN(18) {
	case 0, 1, 2, 3:
		return `"message","message":{"role":"user","content":` + r.one(r.text(), r.piBlocks()) + `,"timestamp":1772460001000` + r.unknown() + `}`
	case 4, 5, 6, 7:
		return `"message","message":{"role":"assistant","content":` + r.piBlocks() + `,"api":"acme","provider":"acme","model":"` + r.one("m1", "m2") + `",` + usage +
			`,"stopReason":"` + r.one("stop", "toolUse", "error", "aborted", "length") + `"` + r.maybe(`,"errorMessage":"broken"`) + `,"timestamp":1772460002000` + r.unknown() + `}`
	case 8, 9:
		return `"message","message":{"role":"toolResult","toolCallId":"` + r.called() + `","toolName":"bash","content":` + r.piBlocks() + `,"isError":` + r.one("true", "false") + r.maybe(`,"details":{"a":1}`) + `,"timestamp":1772460003000}`
	case 10:
		return r.one(`"message","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1}`, `"message","message":{"role":"odd"}`, `"message"`)
	case 11:
		return `"compaction","summary":` + r.text() + `,"firstKeptEntryId":"` + r.kept() + `","tokensBefore":100` + r.maybe(`,"shortSummary":"s"`) + r.maybe(`,"details":{"f":[1]}`)
	case 12:
		return `"branch_summary","fromId":"` + r.one(r.some(), "root") + `","summary":` + r.text()
	case 13:
		return `"label","targetId":"` + r.some() + `"` + r.maybe(`,"label":"here"`)
	case 14:
		return r.one(`"model_change","provider":"acme","modelId":"m2"`, `"model_change","model":"acme/m1","role":"default"`, `"model_change","model":"acme/tiny","role":"smol"`)
	case 15:
		return r.one(`"thinking_level_change","thinkingLevel":"high"`, `"thinking_level_change","thinkingLevel":"odd"`, `"mode_change","mode":"plan","data":{"x":1}`, `"session_info","name":"Pond"`)
	case 16:
		return r.one(`"custom","customType":"ext","data":`+r.value(), `"custom","customType":"treeline.leaf"`, `"custom_message","customType":"ext","content":`+r.one(r.text(), r.piBlocks())+`,"display":true`)
	}
	return r.one(`"ttsr_injection","injectedRules":["r"]`, `"session_init","systemPrompt":"s","task":"t","tools":["x"]`, `"novelty","x":`+r.value(), `"context_edit","targetId":"`+r.some()+`","replacement":null`)
}

// operator makes a log of Operator.
func (r *dice) operator() string {
	lines := []string{fmt.Sprintf(`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-%012x","timestamp":1772460000.25,"cwd":"/work/pond"%s}`, r.IntN(1<<40), r.unknown())}
	for range 1 + r.IntN(14) {
		id, parent := r.id(), r.maybe(`,"parent_id":null`)
		if p := r.parent(); p != "" {
			parent = `,"parent_id":"` + p + `"`
		}
		lines = append(lines, fmt.Sprintf(`{"id":"%s","timestamp":17724600%02d.%06d%s,"type":%s%s}`, id, r.IntN(60), r.IntN(1000000), parent, r.operatorEntry(), r.unknown()))
		r.ids = append(r.ids, id)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r *dice) operatorBlocks() string {
	var list []string
	for range r.IntN(4) {
		list = append(list, r.one(
			`{"type":"text","content":`+r.text()+`}`, `{"type":"thinking","content":`+r.text()+`,"signature":"s"}`,
			`{"type":"image","images":["iVBORw0KGgo=","/9j/4AAQ"]}`, `{"type":"audio","audio":["x"]}`,
			`{"type":"tool_call","id":"`+r.call()+`","name":"bash","kind":"shell","args":{"c":`+r.value()+`},"metadata":{}}`))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (r *dice) operatorEntry() string {
	end := `,"id":"5f0c2a34-0000-4000-8000-000000000001","timestamp":1772460001.5,"role":"`
	result := func() string {
		return `{"type":"tool_result","id":"` + r.called() + `","content":` + r.text() + `,"is_error":false,"metadata":{},"terminate":false}`
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		return `"message","message":{"contents":` + r.operatorBlocks() + end + `user"}` + r.maybe(`,"meta":{"reactions":["+1"]}`)
	case 3, 4, 5:
		return `"message","message":{"contents":` + r.operatorBlocks() + end + `assistant"` + r.maybe(`,"usage":{"input_tokens":5,"output_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0,"cost":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0,"total":0.5}}`) +
			`,"stop_reason":"` + r.one("stop", "tool_calls", "content_filter", "abort") + `","error":` + r.one(`""`, `"broken"`) + `}`
	case 6, 7:
		return `"message","message":{"contents":[` + result() + `,` + result() + `]` + end + r.one("tool", "user", "system", "odd") + `"}`
	case 8:
		return r.one(`"compaction","summary":"s","first_kept_entry_id":"`+r.kept()+`","tokens_before":7,"from_hook":false`, `"branch_summary","from_id":"root","summary":"b","from_hook":true`)
	case 9:
		return r.one(`"label","label":"here","target_id":"`+r.some()+`"`, `"leaf","target_id":"`+r.some()+`"`, `"leaf"`, `"session_info","name":"Pond"`)
	case 10:
		return r.one(`"model_change","model_id":"m","provider_id":"acme"`, `"thinking_level_change","thinking_level":"low"`, `"channel","name":"telegram","chat_id":"1"`)
	}
	return r.one(`"custom","custom_type":"x","data":`+r.value(), `"custom_message","custom_type":"x","content":`+r.operatorBlocks()+`,"display":true`, `"novel","x":`+r.value())
}

// wave makes a log of Wave.
func (r *dice) wave() string {
	lines := []string{`{"type":"metadata","workdir":"/work/pond","createdAt":"2026-03-02T14:00:00.000Z"` + r.maybe(`,"gitBranch":"main"`) + `}`}
	for i := range 1 + r.IntN(10) {
		var blocks []string
		for range 1 + r.IntN(3) {
			blocks = append(blocks, r.one(
				`{"type":"text","content":`+r.text()+r.maybe(`,"stage":"end"`)+`}`, `{"type":"reasoning","content":`+r.text()+`,"stage":"end"}`,
				`{"type":"tool","parameters":"{\"a\":1}","result":`+r.text()+`,"id":"`+r.call()+`","name":"Bash","success":true,"stage":"end"}`,
				`{"type":"tool","parameters":"{bad","id":"`+r.call()+`","name":"Bash","stage":"running"}`,
				`{"type":"image","imageUrls":["data:image/png;base64,AAAA","/a/path.png"]}`, `{"type":"bang","command":"ls","output":"a","stage":"end","exitCode":0}`,
				`{"type":"error","content":"broken"}`, `{"type":"novel","x":`+r.value()+`}`, r.maybe(`{"type":"compact","content":"sum"},`)+`{"type":"text","content":"x"}`))
		}
		lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-03-02T14:00:%02d.000Z","id":"msg-%d","role":"%s","blocks":[%s]%s%s%s}`, i, r.IntN(20), r.one("user", "assistant"), strings.Join(blocks, ","),
			r.maybe(`,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"model":"gpt"}`), r.maybe(`,"isMeta":true`), r.unknown()))
	}
	return strings.Join(lines, "\n") + "\n"
}

// state makes a state of codelia's.
func (r *dice) state() string {
	lines := []string{`{"schema_version":1,"session_id":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","updated_at":"2026-03-02T14:00:00.000Z"` +
		r.maybe(`,"run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"`) + r.maybe(`,"invoke_seq":7`) +
		r.one(``, `,"workspace_root":"/work/pond"`, `,"workspace_root":"/work/pond","meta":{"codelia_workspace_root":"/work/pond","todos":[1.50]}`) + `}`}
	parts := func() string {
		var list []string
		for range r.IntN(4) {
			list = append(list, r.one(`{"type":"text","text":`+r.text()+r.unknown()+`}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}`,
				`{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}`, `{"type":"other","provider":"openai","kind":"refusal","payload":`+r.value()+`}`))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for range r.IntN(12) {
		lines = append(lines, r.one(
			`{"role":"user","content":`+r.one(r.text(), parts())+r.unknown()+`}`,
			`{"role":"assistant","content":`+r.one("null", r.text(), parts())+r.maybe(`,"refusal":null`)+`}`,
			`{"role":"assistant","content":`+r.one("null", r.text())+`,"tool_calls":[{"id":"`+r.call()+`","type":"function","function":{"name":"bash","arguments":`+r.one(`"{\"a\":1}"`, `"{bad"`, `""`)+`}`+r.maybe(`,"provider_meta":{"x":1}`)+`}]}`,
			`{"role":"tool","tool_call_id":"`+r.called()+`","tool_name":"bash","content":`+r.one(r.text(), parts())+r.maybe(`,"is_error":true`)+r.maybe(`,"output_ref":{"id":"o1"}`)+`}`,
			`{"role":"reasoning","content":`+r.one("null", r.text())+r.maybe(`,"raw_item":{"s":1}`)+`}`,
			`{"role":"system","content":`+r.text()+`}`, `{"role":"odd","content":1}`))
	}
	return strings.Join(lines, "\n") + "\n"
}

// inMemory returns a world whose converted sessions are in memory, each in a new folder. Files take three times the CPU time; the goldens
// use them. In memory, all logs may consist of lines, as in an agent's database.
func inMemory(t *testing.T) (w *world.World, folder func() string) {
	lines := memory.LinesIf(func(string) bool { return true })
	w = world.New(t, func(w *world.World) {
		w.Drivers = []backend.Driver{memory.Driver("memory", lines), file.Driver(file.Options{})}
		w.Roots = []string{"memory://all"}
	})
	n := 0
	return w, func() string {
		n++
		return fmt.Sprintf("memory://all/%d", n)
	}
}

// Nothing disappears without being listed: whatever a session has is the same after converting to another dialect and back, or the report
// lists it as dropped.
func TestConvertRandom(t *testing.T) {
	for worker := range 4 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			w, folder := inMemory(t)
			c := soaktest.Begin(t)
			var seed uint64
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			for round := range c.Rounds(soaktest.Part(3*len(agents)/4+1, len(agents)/4+1), 3) {
				seed = c.Seed(uint64(4*round + worker))
				r := &dice{Rand: rand.New(rand.NewPCG(seed, 7))}
				name := agents[seed%uint64(len(agents))]
				path := w.Put(filepath.Join("in", fmt.Sprint(seed), "019cab00-0000-7000-8000-00000000000a.jsonl"), r.log(name))
				from := w.Format(name)
				for _, to := range targets() {
					if to == from || r.IntN(3) > 0 {
						continue
					}
					src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: from})
					w.Must(err)
					var leaf *session.EntryID
					if n := src.Tree().Len(); n > 0 && r.IntN(4) == 0 {
						id := src.Tree().At(r.IntN(n)).ID
						leaf = &id
					}
					_, report := partThereAndBack(w, src, to, leaf, folder)
					if leaf == nil && report.Dropped > 0 && to.Name() != "wave-doc" { // without a header, it cannot carry what belongs to no other record
						t.Errorf("seed %d: %s → %s drops %d entries", seed, name, to.Name(), report.Dropped)
					}
					w.Must(src.Close())
					if t.Failed() {
						t.FailNow()
					}
				}
			}
		})
	}
}
