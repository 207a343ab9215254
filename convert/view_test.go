package convert_test

import (
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/store"
)

// The report counts what the model sees on both sides: a result of Operator has no image, Claude Code gets no thinking of another model,
// and a call without a result gets one.
func TestConvertView(t *testing.T) {
	t.Parallel()
	const log = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-000000000001","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}
{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"How deep?"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":1772460001000}}
{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Look.","thinkingSignature":"s"},{"type":"toolCall","id":"c1","name":"bash","arguments":{}}],"api":"acme","provider":"acme","model":"m1","stopReason":"toolUse","timestamp":1772460002000}}
{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"2 m"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"isError":false,"timestamp":1772460003000}}
{"type":"message","id":"a0000004","parentId":"a0000003","timestamp":"2026-03-02T14:00:04.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c2","name":"bash","arguments":{}}],"api":"acme","provider":"acme","model":"m1","stopReason":"toolUse","timestamp":1772460004000}}
`
	w, folder := inMemory(t)
	src, err := w.Open(t.Context(), w.Put("in/a.jsonl", log), store.OpenOptions{Dialect: w.Format("pi")})
	w.Must(err)
	defer src.Close()
	for name, want := range map[string]convert.View{
		"omp":      {Messages: 4, Calls: 2, Results: 1, Images: 2, Thinking: 1},
		"operator": {Messages: 5, Calls: 2, Results: 2, Images: 1, Thinking: 1},
		"claude":   {Messages: 6, Calls: 2, Results: 2, Images: 2},
	} {
		there, report, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: w.Format(name), Dir: folder(), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		w.Must(there.Close())
		if diff := difftest.Diff(convert.View{Messages: 4, Calls: 2, Results: 1, Images: 2, Thinking: 1}, report.Source.View); diff != "" {
			t.Errorf("%s: before (-want +got):\n%s", name, diff)
		}
		if diff := difftest.Diff(want, report.Target.View); diff != "" {
			t.Errorf("%s: after (-want +got):\n%s", name, diff)
		}
	}
}
