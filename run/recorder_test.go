package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
)

// notebook keeps what a Recorder writes.
type notebook struct {
	lines []string
	fail  error
}

func (n *notebook) options() run.RecorderOptions {
	return run.RecorderOptions{
		Append: func(_ context.Context, record []byte) error {
			if n.fail != nil {
				return n.fail
			}
			n.lines = append(n.lines, string(record))
			return nil
		},
		Clock: func() time.Time { return time.Date(2026, 5, 4, 8, 15, 0, 0, time.UTC) },
	}
}

func header() run.Header {
	return run.Header{SchemaVersion: 1, RunID: "5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10", SessionID: "s", StartedAt: "2026-05-04T08:15:00.000Z"}
}

// A request is encoded during the call: later changes of its messages do not leak into it.
func TestEncodedAtTheCall(t *testing.T) {
	var n notebook
	r := run.NewRecorder(header(), n.options())
	history := run.Raw(`[{"role":"user","content":"a"}]`)
	q := &run.LLMRequest{Input: run.RequestInput{Messages: history}}
	w, err := r.Append(t.Context(), q)
	if err != nil || w.Seq != 1 || q.Seq != 0 || q.RunID != "" {
		t.Fatalf("%+v, %v; the caller's is %+v", w, err, q)
	}
	copy(history, `[{"role":"user","content":"b"}]`)
	raw := []byte(`{"type":"x.acme.note", "text":"first"}`)
	if _, err := r.AppendRaw(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	copy(raw, `{"type":"x.acme.note", "text":"later"}`)
	if !strings.Contains(n.lines[0], `"content":"a"`) || !strings.Contains(n.lines[1], "first") {
		t.Errorf("%q; want strings.Contains(n.lines[0], `\"content\":\"a\"`), strings.Contains(n.lines[1], \"first\")", n.lines)
	}
	if want := `{"type":"x.acme.note","text":"first","run_id":"5d1c0e66-7f0c-4a55-9d0e-3c1f8a4b2e10","ts":"2026-05-04T08:15:00.000Z"}`; n.lines[1] != want {
		t.Errorf("%s instead of %s", n.lines[1], want)
	}
}

func TestRefusals(t *testing.T) {
	var n notebook
	r := run.NewRecorder(header(), n.options())
	good := func(record string) {
		t.Helper()
		if _, err := r.AppendRaw(t.Context(), []byte(record)); err != nil {
			t.Fatalf("%s: %v", record, err)
		}
	}
	bad := func(record, why string) {
		t.Helper()
		before := len(n.lines)
		_, err := r.AppendRaw(t.Context(), []byte(record))
		if !errors.Is(err, run.ErrRefused) || !strings.Contains(err.Error(), why) || len(n.lines) != before {
			t.Errorf("%s: %v; want the error run.ErrRefused, strings.Contains(err.Error(), why), len(n.lines) == %v", record, err, before)
		}
	}
	// The first request may have the number 0.
	good(`{"type":"llm.request","seq":0,"input":{"messages":[]}}`)
	good(`{"type":"llm.response","output":{"messages":[]}}`)
	n.lines = nil
	good(`{"type":"llm.request","seq":3,"input":{"messages":[]}}`)
	bad(`not JSON`, "must be a JSON object")
	bad(`[1]`, "must be a JSON object")
	bad(`{}`, "no type")
	bad(`{"type":"header","schema_version":1}`, "written once")
	bad(`{"type":"llm.reqest"}`, "x.<org>.<name>")
	bad(`{"type":"x.acme"}`, "x.<org>.<name>")
	bad(`{"type":"run.status","run_id":"other","status":"running"}`, `of run "other"`)
	bad(`{"type":"run.status","ts":"yesterday","status":"running"}`, "not a time")
	bad(`{"type":"run.status"}`, "status must be a string")
	bad(`{"type":"run.status","status":"running","meta":1}`, "meta must be an object")
	bad(`{"type":"agent.event","event":{"type":"text"}}`, "seq must be an integer")
	bad(`{"type":"tool.output","tool":"t","tool_call_id":"c"}`, "result_raw must be a string")
	bad(`{"type":"llm.request","seq":3,"input":{"messages":[]}}`, "seq 3 after")
	bad(`{"type":"llm.request","seq":4,"input":{}}`, "input.messages must be an array")
	bad(`{"type":"llm.response","seq":4,"output":{"messages":[]}}`, "no open request")
	good(`{"type":"llm.request","input":{"messages":[]}}`)
	bad(`{"type":"llm.response","output":{"messages":[]}}`, "2 requests wait")
	good(`{"type":"llm.response","seq":4,"output":{"messages":[]}}`)
	bad(`{"type":"llm.response","seq":4,"output":{"messages":[]}}`, "no open request")
	good(`{"type":"llm.response","output":{"messages":[]}}`)
	good(`{"type":"run.status","status":"a status of tomorrow"}`)
	good(`{"type":"run.end","outcome":"completed"}`)
	bad(`{"type":"run.status","status":"running"}`, "has ended")
	if err := r.End(t.Context(), run.OutcomeError, ""); !errors.Is(err, run.ErrEnded) {
		t.Error(err)
	}
	if got := rawjson.Str([]byte(n.lines[3]), "type"); got != "llm.response" || !strings.Contains(n.lines[3], `"seq":3`) {
		t.Errorf("%s; want got == \"llm.response\", strings.Contains(n.lines[3], `\"seq\":3`)", n.lines[3])
	}
}

// Every append after a failed write returns that write's error, because the end of the log is unknown, unless it is certain
// that nothing was written.
func TestFailureStays(t *testing.T) {
	var n notebook
	r := run.NewRecorder(header(), n.options())
	n.fail = &run.UnwrittenError{Err: context.Canceled}
	if _, err := r.Append(t.Context(), &run.RunStatus{Status: run.StatusRunning}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	n.fail = nil
	if _, err := r.Append(t.Context(), &run.RunStatus{Status: run.StatusRunning}); err != nil || len(n.lines) != 1 {
		t.Errorf("after an append that wrote nothing: %v, %q", err, n.lines)
	}
	n.lines = nil
	n.fail = errors.New("disk full")
	if _, err := r.Append(t.Context(), &run.RunStatus{Status: run.StatusRunning}); !errors.Is(err, n.fail) {
		t.Fatal(err)
	}
	was := n.fail
	n.fail = nil
	if _, err := r.Append(t.Context(), &run.RunStatus{Status: run.StatusRunning}); !errors.Is(err, was) || len(n.lines) > 0 {
		t.Fatal(err, n.lines)
	}
}

func TestManyAtOnce(t *testing.T) {
	var n notebook
	r := run.NewRecorder(header(), n.options())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				w, err := r.Append(t.Context(), &run.LLMRequest{Input: run.RequestInput{Messages: run.Raw("[]")}})
				if err == nil {
					_, err = r.Append(t.Context(), &run.LLMResponse{Seq: w.Seq, Output: run.ResponseOutput{Messages: run.Raw("[]")}})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	head, err := run.EncodeHeader(header())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.End(t.Context(), run.OutcomeCompleted, "done\u2028"); err != nil {
		t.Fatal(err)
	}
	l := decode(t, []byte(string(head)+"\n"+strings.Join(n.lines, "\n")+"\n"))
	report, err := run.Audit(l)
	if err != nil || len(report.Findings) != 1 || report.Requests != 400 || report.Findings[0].Kind != run.FindingNoStart {
		t.Errorf("%+v, %v; want no error, len(report.Findings) == 1, report.Requests == 400, report.Findings[0].Kind == run.FindingNoStart", report, err)
	}
	if strings.Contains(n.lines[800], "\u2028") {
		t.Error("a line break of Unicode stands in the log")
	}
}

// A recorder that continues a log knows which requests are open and whether the run ended.
func TestContinue(t *testing.T) {
	var n notebook
	data := plain(t)
	if r, err := run.ContinueRecorder(decode(t, data), n.options()); err != nil || !r.Ended() {
		t.Fatal(err)
	}
	data = data[:strings.Index(string(data), `{"type":"llm.response"`)]
	r, err := run.ContinueRecorder(decode(t, data), n.options())
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Append(t.Context(), &run.LLMResponse{Output: run.ResponseOutput{Messages: run.Raw("[]")}})
	if err != nil || w.Seq != 7 {
		t.Errorf("%+v, %v; want no error, w.Seq == 7", w, err)
	}
	newer := edit(t, data, `"schema_version":1`, `"schema_version":2`)
	if _, err := run.ContinueRecorder(decode(t, newer), n.options()); !errors.Is(err, run.ErrNewer) {
		t.Error(err)
	}
	if _, err := run.EncodeHeader(run.Header{SchemaVersion: 2}); err == nil {
		t.Error("a header of another version is written")
	}
}
