package convert_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

var updateConverted = flag.Bool("update-converted", false, "write the goldens of conversions anew")

// samples are small sessions with some of everything that several agents support.
var samples = map[string]string{
	"pi": `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-000000000001","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}
{"type":"model_change","id":"a0000000","parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","provider":"acme","modelId":"m1"}
{"type":"message","id":"a0000001","parentId":"a0000000","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"How deep?"}],"timestamp":1772460001000}}
{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Look.","thinkingSignature":"s"},{"type":"text","text":"Let me look."},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"cat depth"}}],"api":"acme","provider":"acme","model":"m1","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}},"stopReason":"toolUse","timestamp":1772460002000}}
{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"2 m"}],"isError":false,"timestamp":1772460003000}}
{"type":"message","id":"a0000004","parentId":"a0000001","timestamp":"2026-03-02T14:00:04.000Z","message":{"role":"user","content":[{"type":"text","text":"Another way."}],"timestamp":1772460004000}}
{"type":"label","id":"a0000005","parentId":"a0000003","timestamp":"2026-03-02T14:00:05.000Z","targetId":"a0000002","label":"look"}
{"type":"mode_change","id":"a0000006","parentId":"a0000005","timestamp":"2026-03-02T14:00:06.000Z","mode":"plan"}
{"type":"compaction","id":"a0000007","parentId":"a0000006","timestamp":"2026-03-02T14:00:07.000Z","summary":"Two metres.","firstKeptEntryId":"a0000002","tokensBefore":15}
`,
	"operator": `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-000000000002","timestamp":1772460000.25,"cwd":"/work/pond"}
{"id":"b0000001","timestamp":1772460001.5,"type":"message","message":{"contents":[{"type":"text","content":"How deep?"}],"id":"5f0c2a34-0000-4000-8000-000000000001","timestamp":1772460001.5,"role":"user"}}
{"id":"b0000002","timestamp":1772460002.5,"parent_id":"b0000001","type":"message","message":{"contents":[{"type":"tool_call","id":"c1","name":"bash","args":{"c":1},"metadata":{}},{"type":"tool_call","id":"c2","name":"read","args":{},"metadata":{}}],"id":"5f0c2a34-0000-4000-8000-000000000002","timestamp":1772460002.5,"role":"assistant","stop_reason":"tool_calls","error":""}}
{"id":"b0000003","timestamp":1772460003.5,"parent_id":"b0000002","type":"message","message":{"contents":[{"type":"tool_result","id":"c1","content":"2 m","is_error":false,"metadata":{},"terminate":false},{"type":"tool_result","id":"c2","content":"no","is_error":true,"metadata":{},"terminate":false}],"id":"5f0c2a34-0000-4000-8000-000000000003","timestamp":1772460003.5,"role":"tool"}}
{"id":"b0000004","timestamp":1772460004.5,"parent_id":"b0000003","type":"leaf","target_id":"b0000002"}
`,
	"wave": `{"type":"metadata","workdir":"/work/pond","createdAt":"2026-03-02T14:00:00.000Z","gitBranch":"main"}
{"timestamp":"2026-03-02T14:00:01.000Z","id":"msg-1","role":"user","blocks":[{"type":"text","content":"How deep?","stage":"end"}]}
{"timestamp":"2026-03-02T14:00:02.000Z","id":"msg-2","role":"assistant","blocks":[{"type":"reasoning","content":"Look.","stage":"end"},{"type":"tool","parameters":"{\"command\":\"cat depth\"}","result":"2 m","id":"c1","name":"Bash","success":true,"stage":"end"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"model":"m1"}}
{"timestamp":"2026-03-02T14:00:03.000Z","id":"msg-3","role":"assistant","blocks":[{"type":"compact","content":"Two metres."}]}
`,
}

// The golden files have the result of converting a small session to each dialect, and the report.
func TestConvertGolden(t *testing.T) {
	for name, log := range samples {
		for _, to := range targets() {
			if to.Name() == name {
				continue
			}
			t.Run(name+"-"+to.Name(), func(t *testing.T) {
				t.Parallel()
				w := world.New(t, withCodelia)
				path := w.Put("in/019cab00-0000-7000-8000-000000000003.jsonl", log)
				src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format(name)})
				w.Must(err)
				defer src.Close()
				there, report := thereAndBack(w, src, to)
				report.Source.File, report.Target.File = "", filepath.Base(report.Target.File)
				text, err := json.MarshalIndent(report, "", "  ")
				w.Must(err)
				got := strings.Join(w.ReadLines(there.Path()), "\n") + "\n\n" + string(text) + "\n"
				// An id may contain a time, which changes if other tests have created ids.
				got = strings.ReplaceAll(got, string(report.Target.ID), "NEW-ID")
				golden := filepath.Join("testdata", "convert", name+"-"+to.Name()+".golden")
				if *updateConverted {
					w.Must(os.MkdirAll(filepath.Dir(golden), 0o777))
					w.Must(os.WriteFile(golden, []byte(got), 0o666))
				}
				want, err := os.ReadFile(golden)
				w.Must(err)
				if got != string(want) {
					t.Errorf("%s; go test ./convert -run Golden -update-converted writes it anew:\n%s", golden, got)
				}
			})
		}
	}
}

// Converted from pi to Operator, text, tools, thinking, branches, labels, compactions and models have Operator's own form.
func TestConvertNatively(t *testing.T) {
	t.Parallel()
	w := world.New(t, withCodelia)
	src, err := w.Open(t.Context(), w.Put("in/a.jsonl", samples["pi"]), store.OpenOptions{Dialect: w.Format("pi")})
	w.Must(err)
	defer src.Close()
	there, report := thereAndBack(w, src, w.Format("operator"))
	dst, err := w.Open(t.Context(), there.Path(), store.OpenOptions{})
	w.Must(err)
	defer dst.Close()
	if dst.Dialect().Name() != "operator" || !report.Lossless {
		t.Errorf("%s, lossless %v", dst.Dialect().Name(), report.Lossless)
	}
	for e := range src.Tree().Entries() {
		now, err := dst.Tree().Get(e.ID)
		w.Must(err)
		if now.Parent != e.Parent || now.Kind != e.Kind && e.Kind != session.KindModeChange {
			t.Errorf("%s: %s below %q, was %s below %q", e.ID, now.Kind, now.Parent, e.Kind, e.Parent)
		}
		if src.Tree().Label(e.ID) != dst.Tree().Label(e.ID) {
			t.Errorf("%s: label %q", e.ID, dst.Tree().Label(e.ID))
		}
		before, err := e.Parts()
		w.Must(err)
		after, err := now.Parts()
		w.Must(err)
		if text := fmt.Sprintf("%+v", after); e.Role != session.RoleTool && e.Kind != session.KindModeChange && !reflect.DeepEqual(before, after) || e.Role == session.RoleTool && !strings.Contains(text, "2 m") {
			t.Errorf("%s: %s, was %+v", e.ID, text, before)
		}
	}
	a, err := src.Context(t.Context(), src.Leaf(), store.ContextOptions{})
	w.Must(err)
	b, err := dst.Context(t.Context(), dst.Leaf(), store.ContextOptions{})
	w.Must(err)
	if m, _ := a.DefaultModel(); len(b.Models) != 1 || b.Models[0].Model != m.Model || a.ThinkingLevel != b.ThinkingLevel {
		t.Errorf("models %v, were %v", b.Models, a.Models)
	}
	var before, after []session.EntryID
	for e := range a.Entries() {
		before = append(before, e.ID)
	}
	for e := range b.Entries() {
		after = append(after, e.ID)
	}
	if !reflect.DeepEqual(before, after) || len(after) == 0 {
		t.Errorf("the model sees %v, saw %v", after, before)
	}
}
