package run_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/run"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestAuditTotals(t *testing.T) {
	report, err := run.Audit(decode(t, plain(t)))
	if err != nil {
		t.Fatal(err)
	}
	all := run.Tokens{Responses: 2, Input: 100, Cached: 10, Output: 13, Total: 113}
	small := all
	small.Model = "m-small"
	want := &run.Report{
		RunID: "5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10", SessionID: "c0ffee00-1111-4222-8333-444455556666", Outcome: "completed",
		Records: 15, Requests: 2, Responses: 2, Events: 4, ToolCalls: 1, ToolOutputs: 1, Compactions: 1, Seconds: 2.23,
		Tokens: all, Models: []run.Tokens{small}, Findings: []run.Finding{}, Problems: []run.Problem{},
	}
	if !reflect.DeepEqual(want, report) {
		t.Errorf("%+v instead of %+v", report, want)
	}
}

func TestAuditFindings(t *testing.T) {
	line := func(begin string) string { // the whole line that contains begin
		for l := range strings.Lines(string(plain(t))) {
			if strings.Contains(l, begin) {
				return l
			}
		}
		t.Fatalf("no line has %q", begin)
		return ""
	}
	end, output := line(`"type":"run.end"`), line(`"type":"tool.output"`)
	response := line(`"seq":8,"output"`)
	tests := []struct {
		name  string
		edits []string
		want  string // kinds of findings; notes in brackets
	}{
		{"crashed", []string{end, ""}, "no-end"},
		{"a tool that never answered", []string{output, ""}, "no-output"},
		{"cancelled with an open call", []string{output, "", `"outcome":"completed"`, `"outcome":"cancelled"`, `"completed","message"`, `"cancelled","message"`}, "(no-output)"},
		{"an output of nothing", []string{`"tool_call_id":"c-1","result_raw"`, `"tool_call_id":"c-9","result_raw"`}, "no-call no-output"},
		{"an output twice", []string{output, output + output}, "output-again"},
		{"no response", []string{response, ""}, "no-response"},
		{"a response twice", []string{response, response + response}, "no-request"},
		{"a response before its request", []string{`"seq":8,"output"`, `"seq":9,"output"`}, "no-request no-response"},
		{"requests out of order", []string{`"seq":8,"model"`, `"seq":6,"model"`, `"seq":8,"output"`, `"seq":6,"output"`}, "request-order"},
		{"requests out of order after one without a number", []string{`"seq":8,"model"`, `"model"`, response, "", line(`"type":"run.status","run_id":"5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10","ts":"2026-05-04T08:15:02.220Z"`),
			`{"type":"llm.request","seq":6,"input":{"messages":[]}}` + "\n" + `{"type":"llm.response","seq":6,"output":{"messages":[]}}` + "\n"}, "no-seq request-order no-response"},
		{"events out of order", []string{`"seq":2,"event"`, `"seq":1,"event"`}, "event-order (event-gap)"},
		{"an event is missing", []string{`"seq":3,"event"`, `"seq":5,"event"`}, "(event-gap)"},
		{"no seq", []string{`"seq":3,"event"`, `"event"`}, "no-seq"},
		{"null as the run", []string{`"run_id":"5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10","ts":"2026-05-04T08:15:02.230Z"`, `"run_id":null,"ts":"2026-05-04T08:15:02.230Z"`}, ""},
		{"after the end", []string{end, end + output}, "(time-order) after-end output-again"},
		{"of another run", []string{`"run.status","run_id":"5d1c`, `"run.status","run_id":"6d1c`}, "other-run"},
		{"an unknown outcome", []string{`"outcome":"completed"`, `"outcome":"weird"`, `"completed","message"`, `"weird","message"`}, "(unknown-value) (unknown-value)"},
		{"the end says another thing", []string{`"completed","message"`, `"error","message"`}, "outcome-mismatch"},
		{"no start", []string{line(`"type":"run.start"`), ""}, "(no-start)"},
		{"a request that was kept too late", []string{
			`{"role":"user","content":"How many lines?"}],"tools"`,
			`{"role":"user","content":"How many lines?"},{"role":"assistant","tool_calls":[{"id":"c-1"}]}],"tools"`,
		}, "(late-snapshot)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report, err := run.Audit(decode(t, edit(t, plain(t), test.edits...)))
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			faults := 0
			for _, f := range report.Findings {
				kind := string(f.Kind)
				if f.Note {
					kind = "(" + kind + ")"
				} else {
					faults++
				}
				kinds = append(kinds, kind)
			}
			if got := strings.Join(kinds, " "); got != test.want || report.Faults() != faults {
				t.Errorf("found %q instead of %q", got, test.want)
			}
		})
	}
}

func TestEventsBySeq(t *testing.T) {
	data := edit(t, plain(t), `"seq":0,"event"`, `"seq":10,"event"`, `"seq":2,"event"`, `"event"`)
	var got []int
	for _, r := range decode(t, data).Events() {
		got = append(got, r.Line)
	}
	if !slices.Equal([]int{9, 10, 14, 7}, got) {
		t.Errorf("lines %v", got)
	}
	if !run.IsCompaction([]byte(`{"type":"compaction_start"}`)) || run.IsCompaction([]byte(`{"type":"text"}`)) {
		t.Error("compactions are not recognised")
	}
}

func TestDiff(t *testing.T) {
	a := decode(t, plain(t))
	tests := []struct {
		name  string
		edits []string
		step  string
		where string
	}{
		{"the same", nil, "", ""},
		{"other ids, times and numbers", []string{
			`"id":"c-1","type"`, `"id":"zz","type"`, `"tool_call_id":"c-1","result_raw"`, `"tool_call_id":"zz","result_raw"`,
			`"id":"c-1","type"`, `"id":"zz","type"`, `"tool_call_id":"c-1","tool_name"`, `"tool_call_id":"zz","tool_name"`,
			`"seq":8,"model"`, `"seq":9,"model"`, `"seq":8,"output"`, `"seq":9,"output"`, `"ts":"2026-05-04T08:15:02.230Z"`, `"ts":"2027-05-04T08:15:02.230Z"`,
		}, "", ""},
		{"asked otherwise", []string{`"text":"How many lines?"`, `"text":"How many words?"`}, "input", "/text"},
		{"sent otherwise", []string{`"content":"Be brief.","message_ts"`, `"content":"Be long.","message_ts"`}, "request 1", "/input/messages/0/content"},
		{"called otherwise", []string{`a.txt`, `b.txt`}, "response 1", "/output/messages/0/tool_calls/0/function/arguments"},
		{"put out otherwise", []string{`"result_raw":"12\n"`, `"result_raw":"13\n"`}, "tool output 1.1", "/result_raw"},
		{"ended otherwise", []string{`"outcome":"completed"`, `"outcome":"error"`}, "outcome", "/outcome"},
		{"an answer for another call", []string{`"tool_call_id":"c-1","tool_name"`, `"tool_call_id":"c-2","tool_name"`}, "request 2", "/input/messages/3/tool_call_id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list, err := run.Diff(a, decode(t, edit(t, plain(t), test.edits...)))
			if err != nil {
				t.Fatal(err)
			}
			s, differs := run.FirstDifference(list)
			if differs != (test.step != "") || s.Name != test.step {
				t.Fatalf("%q instead of %q: %+v", s.Name, test.step, s.Difference)
			}
			if differs && s.Difference.Pointer != test.where {
				t.Errorf("at %q instead of %q", s.Difference.Pointer, test.where)
			}
		})
	}
	stray := decode(t, edit(t, plain(t), `"tool_call_id":"c-1","result_raw"`, `"tool_call_id":"c-9","result_raw"`))
	list, err := run.Diff(stray, stray)
	if err != nil || !slices.ContainsFunc(list, func(s run.Step) bool { return s.Name == "tool output 1 without a call" }) {
		t.Errorf("%+v, %v; want a step for the output without a call", list, err)
	}
	short := plain(t)
	short = short[:strings.Index(string(short), `{"type":"llm.request","run_id":"5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10","ts":"2026-05-04T08:15:01.400Z"`)]
	list, err = run.Diff(a, decode(t, short))
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := run.FirstDifference(list); s.Name != "request 2" || s.LineB != 0 || s.LineA != 12 {
		t.Errorf(`%+v; want s.Name == "request 2", s.LineB == 0, s.LineA == 12`, s)
	}
	if last := list[len(list)-1]; last.Name != "outcome" || last.Difference == nil || last.Difference.B != `"crashed"` {
		t.Errorf("%+v; want last.Name == \"outcome\", last.Difference != nil, last.Difference.B == `\"crashed\"`", last.Difference)
	}
}

func TestCompareChat(t *testing.T) {
	x := decode(t, plain(t)).Exchanges()
	const same = `{"model":"m-small","messages":[{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"content":"How many lines?","role":"user"}],` +
		`"tools":[{"type":"function","function":{"name":"count","description":"Counts lines","parameters":{"type":"object"}}}],"tool_choice":"auto","stream":true}`
	tests := []struct{ body, pointer string }{
		{same, ""},
		{strings.Replace(same, "How many lines?", "What?", 1), "/messages/1/content"},
		{strings.Replace(same, `"role":"user"`, `"role":"assistant"`, 1), "/messages/1/role"},
		{strings.Replace(same, `"Counts lines"`, `"Counts"`, 1), "/tools/0/description"},
		{strings.Replace(same, `"auto"`, `"required"`, 1), "/tool_choice"},
		{strings.Replace(same, `m-small`, `m-large`, 1), "/model"},
		{`{}`, "/messages/0"},
	}
	for _, test := range tests {
		d, err := run.CompareChat(x[0], []byte(test.body))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d != nil {
			got = d.Pointer
		}
		if got != test.pointer {
			t.Errorf("%s: differs at %q instead of %q", test.body, got, test.pointer)
		}
	}
	// A request that was recorded with its own answer equals the request without it.
	late := edit(t, plain(t), `{"role":"user","content":"How many lines?"}],"tools"`,
		`{"role":"user","content":"How many lines?"},{"role":"assistant","tool_calls":[{"id":"c-1","type":"function","function":{"name":"count","arguments":"{\"path\":\"a.txt\"}"}}]},{"role":"tool","tool_call_id":"c-1","content":"12\n"}],"tools"`)
	if d, err := run.CompareChat(decode(t, late).Exchanges()[0], []byte(same)); err != nil || d != nil {
		t.Errorf("%+v, %v; want no error, d == nil", d, err)
	}
}

// A hostile request, nested as deeply as it is long, is compared in linear time.
func TestCompareDeep(t *testing.T) {
	const depth = 500_000
	deep := func(inside string) []byte {
		return []byte(strings.Repeat("[", depth) + inside + strings.Repeat("]", depth))
	}
	if d := run.Compare(deep("1"), deep(" 1 ")); d != nil {
		t.Errorf("%s; want no difference", d.Pointer)
	}
	if d := run.Compare(deep("1"), deep("2")); d == nil || d.Pointer != strings.Repeat("/0", 100) {
		t.Errorf("%+v; want a difference at the deepest level that is taken apart", d)
	}
}

// A recorded call that is not an object is not passed on to an agent.
func TestAnswerCalls(t *testing.T) {
	x := decode(t, edit(t, plain(t), `"tool_calls":[{"id":"c-1","type"`, `"tool_calls":[1,null,{"id":"c-1","type"`)).Exchanges()[0]
	a, err := run.NewAnswer("r", x)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, c := range a.Chunks(false) {
		if call := rawjson.At(c, "/choices/0/delta/tool_calls/0"); call != nil {
			calls++
			if got := string(rawjson.Get(call, "index")); got != "0" || rawjson.Str(call, "id") != "c-1" {
				t.Errorf("%s; want the call c-1 with the index 0", call)
			}
		}
	}
	if calls != 1 {
		t.Errorf("%d calls in pieces, want 1", calls)
	}
}

// TestAuditImpossibleUsage: numbers that are impossible for a response do not spoil the sums.
func TestAuditImpossibleUsage(t *testing.T) {
	t.Parallel()
	log := `{"type":"header","schema_version":1,"run_id":"r","started_at":"2026-04-01T10:00:00.000Z"}` + "\n"
	for i, input := range []string{"9000000000000000000", "9000000000000000000", "-5", "7"} {
		log += fmt.Sprintf(`{"type":"llm.request","run_id":"r","ts":"2026-04-01T10:00:01.000Z","seq":%d,"input":{"messages":[]}}`+"\n", i)
		log += fmt.Sprintf(`{"type":"llm.response","run_id":"r","ts":"2026-04-01T10:00:02.000Z","seq":%d,"output":{"messages":[],"usage":{"model":"m","input_tokens":%s,"output_tokens":1,"total_tokens":1}}}`+"\n", i, input)
	}
	report, err := run.Audit(decode(t, []byte(log)))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, f := range report.Findings {
		if f.Kind == run.FindingUsage {
			lines++
		}
	}
	if report.Tokens.Input != 7 || report.Tokens.Output != 4 || report.Models[0].Input != 7 || lines != 3 {
		t.Errorf("%+v, %+v, %d findings", report.Tokens, report.Models, lines)
	}
}
