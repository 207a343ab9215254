package codex_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// reads is a log in memory that counts the records that are read.
type reads struct {
	log   []byte
	count int
}

func (r *reads) Bytes(s session.Span) ([]byte, error) {
	r.count++
	return bytes.Clone(r.log[s.Offset:s.End()]), nil
}

// TestFarCalls: an output gets the type of the last call with its id, wherever that stands. Many outputs of far or missing calls do not
// each read the whole log.
func TestFarCalls(t *testing.T) {
	call := func(kind, id string) string {
		return line("response_item", object{"type": text(kind), "name": text("x"), "input": text("x"), "arguments": text("{}"), "call_id": text(id)}) + "\n"
	}
	const n = 500
	log := &reads{}
	b := session.NewBuilder("log", log)
	dec := codex.Codex.NewDecoder(b)
	grow := func(more string) {
		at := len(log.log)
		log.log = append(log.log, more...)
		for record := range bytes.Lines(log.log[at:]) {
			record = bytes.TrimSuffix(record, []byte("\n"))
			dec.Decode(dialect.Record{Data: record, Offset: int64(at)})
			at += len(record) + 1
		}
	}
	// framed gives the type of an output that is appended.
	framed := func(id string) string {
		m := fmt.Appendf(nil, `{"type":"function_call_output","call_id":%q,"output":"x"}`, id)
		e := dialect.NewEntry{Body: session.Message{JSON: m}}
		record, err := codex.Codex.Record(e)
		if err != nil {
			t.Fatal(err)
		}
		for out, err := range codex.Codex.Frame(b.Finish(), slices.Values([]dialect.NewRecord{{NewEntry: e, Record: record}})) {
			if err != nil {
				t.Fatal(err)
			}
			return rawjson.Str(rawjson.Get(out.Record, "payload"), "type")
		}
		return ""
	}
	const function, custom = "function_call_output", "custom_tool_call_output"
	grow(header + "\n" + call("custom_tool_call", "first") + call("custom_tool_call", "again") + strings.Repeat(said("assistant", "ho"), n) +
		call("function_call", "again") + call("custom_tool_call", "last"))
	for k := range n {
		for id, want := range map[string]string{"first": custom, "last": custom, "again": function, fmt.Sprint("none", k): function, fmt.Sprint("new", k-1): custom} {
			if k > 0 || id != "new-1" {
				if got := framed(id); got != want {
					t.Fatalf("round %d: the output of %q has the type %q, not %q", k, id, got, want)
				}
			}
		}
		grow(call("custom_tool_call", fmt.Sprint("new", k)))
	}
	if most := 10 * b.Finish().Len(); log.count > most {
		t.Errorf("%d records were read, more than %d", log.count, most)
	}
	// A later call with the same id counts.
	grow(call("function_call", "first"))
	if got := framed("first"); got != function {
		t.Errorf("the output of the second call with an id has the type %q, not %q", got, function)
	}
	framed("none")
	if got := framed("first"); got != function {
		t.Errorf("when it is known, the output of the second call with an id has the type %q, not %q", got, function)
	}
}
