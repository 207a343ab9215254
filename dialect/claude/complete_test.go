package claude_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// TestFrameParallel writes the results of parallel calls in one batch: each is a child of its own call, whether prompt and calls
// are in the log or in the batch.
func TestFrameParallel(t *testing.T) {
	var log bytes.Buffer
	line(&log, "user", "u0", "null", "", 0)
	tree, err := dialecttest.Decode(claude.Claude, "log", log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	call := func(id string) string {
		return `{"role":"assistant","id":"msg_1","content":[{"type":"tool_use","id":"` + id + `","name":"Dig","input":{}}]}`
	}
	result := func(id string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"out"}]}`
	}
	turn := []string{call("a"), call("b"), call("c"), result("a"), result("b"), result("c")}
	for name, messages := range map[string][]string{"in the batch": append([]string{`{"role":"user","content":"Dig."}`}, turn...), "in the log": turn} {
		var batch []dialect.NewRecord
		parent := session.EntryID("u0")
		for i, m := range messages {
			n := dialect.NewEntry{ID: session.EntryID(fmt.Sprintf("n%d", i)), Parent: parent, Time: time.UnixMilli(1777629700000), Body: session.Message{JSON: []byte(m)}}
			record, err := claude.Claude.Record(n)
			if err != nil {
				t.Fatal(err)
			}
			batch, parent = append(batch, dialect.NewRecord{NewEntry: n, Record: record}), n.ID
		}
		calls, results := map[string]string{}, 0
		for f, err := range claude.Claude.Frame(tree, slices.Values(batch)) {
			if err != nil {
				t.Fatal(err)
			}
			message := rawjson.Get(f.Record, "message")
			for _, id := range claude.Claude.ToolCalls(message) {
				calls[id] = rawjson.Str(f.Record, "uuid")
			}
			for _, id := range claude.Claude.ToolResults(message) {
				results++
				if got := rawjson.Str(f.Record, "parentUuid"); got != calls[id] || rawjson.Str(f.Record, "sourceToolAssistantUUID") != got {
					t.Errorf("the prompt is %s: the result of %s hangs on %s, its call is %s", name, id, got, calls[id])
				}
			}
		}
		if results != 3 {
			t.Errorf("the prompt is %s: %d results", name, results)
		}
	}
}

// TestRecordStop: an answer keeps its stop reason and its stop sequence.
func TestRecordStop(t *testing.T) {
	const message = `{"role":"assistant","content":[{"type":"text","text":"Dug."}],"stop_reason":"stop_sequence","stop_sequence":"END"}`
	record, err := claude.Claude.Record(dialect.NewEntry{ID: "n1", Body: session.Message{JSON: []byte(message)}})
	if err != nil {
		t.Fatal(err)
	}
	m := rawjson.Get(record, "message")
	if rawjson.Str(m, "stop_reason") != "stop_sequence" || rawjson.Str(m, "stop_sequence") != "END" {
		t.Errorf("%s, want the stop reason and sequence of %s", m, message)
	}
}

// counted is a log in memory that counts how often it is read.
type counted struct {
	log   []byte
	reads int
}

func (c *counted) Bytes(s session.Span) ([]byte, error) {
	c.reads++
	return c.log[s.Offset:s.End()], nil
}

// TestFrameLongTurn: a result after many others of one turn is written without reading the turn again.
func TestFrameLongTurn(t *testing.T) {
	const n = 1000
	var w bytes.Buffer
	line(&w, "user", "u0", "null", "", 0)
	parent := "u0"
	for i := range n {
		id := fmt.Sprint(i)
		line(&w, "assistant", "a"+id, parent, "call c"+id, 2*i)
		line(&w, "user", "r"+id, "a"+id, "result c"+id, 2*i+1)
		parent = "r" + id
	}
	text := bytes.ReplaceAll(w.Bytes(), []byte(`"uuid":"u0"`), []byte(`"uuid":"u0","promptId":"p0"`))
	text = bytes.TrimSuffix(text, text[bytes.LastIndex(text[:len(text)-1], []byte("\n"))+1:]) // removes the last result
	log := &counted{log: text}
	b := session.NewBuilder("log", log)
	if err := dialect.DecodeLog(claude.Claude.NewDecoder(b), bytes.Clone(text)); err != nil {
		t.Fatal(err)
	}
	tree := b.Finish()
	e := dialect.NewEntry{ID: "n", Parent: tree.LeafID(), Body: session.Message{JSON: []byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c999","content":"out"}]}`)}}
	record, err := claude.Claude.Record(e)
	if err != nil {
		t.Fatal(err)
	}
	log.reads = 0
	for f, err := range claude.Claude.Frame(tree, slices.Values([]dialect.NewRecord{{NewEntry: e, Record: record}})) {
		if err != nil {
			t.Fatal(err)
		}
		if rawjson.Str(f.Record, "parentUuid") != "a999" || rawjson.Str(f.Record, "promptId") != "p0" || log.reads > 4 {
			t.Errorf("after %d reads, want at most 4: %s, want the parent a999 and the prompt p0", log.reads, f.Record)
		}
	}
}
