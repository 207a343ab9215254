package pi_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestList: rows have the members, the order and the times of the programs' own lists.
func TestList(t *testing.T) {
	changed := time.Date(2026, 3, 1, 12, 0, 0, 999_600_000, time.UTC)
	const (
		header = `{"type":"session","version":3,"id":"5e55","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/garden"}`
		prompt = `{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Where do"},{"type":"image"},{"type":"text","text":"the tulips go?"}]}}`
		answer = `{"type":"message","id":"b","parentId":"a","timestamp":"2026-02-16T10:22:00.000Z","message":{"role":"assistant","content":"Here.","timestamp":1771237380000}}`
		result = `{"type":"message","id":"c","parentId":"b","timestamp":"2026-02-16T10:30:00.000Z","message":{"role":"toolResult","content":[]}}`
		silent = `{"type":"message","id":"d","parentId":"c","timestamp":"2026-02-16T10:21:30.000Z","message":{"role":"user","content":[]}}`
		short  = `{"type":"compaction","id":"e","parentId":"d","timestamp":"2026-02-16T10:31:00.000Z","summary":"s","shortSummary":"Tulips"}`
		named  = `{"type":"session_info","id":"f","parentId":"e","timestamp":"2026-02-16T10:32:00.000Z","name":" Garden "}`
		slot   = `{"type":"title","v":1,"title":"Slot","pad":" "}`
		tail   = `,"created":"2026-02-16T10:20:00.000Z","modified":"2026-03-01T12:00:00.999Z","messageCount":0,"firstMessage":"(no messages)","allMessagesText":""}`
	)
	titled := strings.Replace(header, `"cwd"`, `"title":"Header","parentSession":"/p.jsonl","cwd"`, 1)
	for _, test := range []struct {
		name string
		d    *pi.Dialect
		log  []string
		want string
	}{
		{"pi", pi.Pi, []string{header, prompt, answer, result, silent, short, named},
			`{"path":"/x.jsonl","id":"5e55","cwd":"/garden","name":"Garden","created":"2026-02-16T10:20:00.000Z","modified":"2026-02-16T10:23:00.000Z",` +
				`"messageCount":4,"firstMessage":"Where do the tulips go?","allMessagesText":"Where do the tulips go? Here."}`},
		{"pi goes by the header where nothing was said", pi.Pi, []string{header},
			`{"path":"/x.jsonl","id":"5e55","cwd":"/garden","created":"2026-02-16T10:20:00.000Z","modified":"2026-02-16T10:20:00.000Z",` +
				`"messageCount":0,"firstMessage":"(no messages)","allMessagesText":""}`},
		{"pi goes by the file where the header has no time", pi.Pi, []string{`{"type":"session","version":3,"id":"5e55"}`},
			`{"path":"/x.jsonl","id":"5e55","cwd":"","created":null,"modified":"2026-03-01T12:00:01.000Z",` +
				`"messageCount":0,"firstMessage":"(no messages)","allMessagesText":""}`},
		{"pi shows no time beyond all dates", pi.Pi, []string{header, strings.Replace(answer, "1771237380000", "1e300", 1)},
			`{"path":"/x.jsonl","id":"5e55","cwd":"/garden","created":"2026-02-16T10:20:00.000Z","modified":null,` +
				`"messageCount":1,"firstMessage":"(no messages)","allMessagesText":"Here."}`},
		{"omp", pi.Omp, []string{header, prompt, answer, result, silent, short, named},
			`{"path":"/x.jsonl","id":"5e55","cwd":"/garden","title":"Tulips","created":"2026-02-16T10:20:00.000Z","modified":"2026-03-01T12:00:00.999Z",` +
				`"messageCount":4,"firstMessage":"Where do the tulips go?","allMessagesText":"Where do the tulips go? Here."}`},
		{"omp's title in the header", pi.Omp, []string{titled}, `{"path":"/x.jsonl","id":"5e55","cwd":"/garden","title":"Header","parentSessionPath":"/p.jsonl"` + tail},
		{"omp's title in the slot", pi.Omp, []string{slot, titled}, `{"path":"/x.jsonl","id":"5e55","cwd":"/garden","title":"Slot","parentSessionPath":"/p.jsonl"` + tail},
		{"an empty slot removes omp's title", pi.Omp, []string{strings.Replace(slot, "Slot", "", 1), titled},
			`{"path":"/x.jsonl","id":"5e55","cwd":"/garden","parentSessionPath":"/p.jsonl"` + tail},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := dialecttest.Decode(test.d, "x", []byte(strings.Join(test.log, "\n")+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := test.d.List(tree, "/x.jsonl", changed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := difftest.Diff(test.want, string(l.JSON)); diff != "" {
				t.Errorf("the row (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListLeavesOut: omp does not list a session with an empty id.
func TestListLeavesOut(t *testing.T) {
	tree, err := dialecttest.Decode(pi.Omp, "x", []byte(`{"type":"session","version":3,"id":""}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pi.Omp.List(tree, "/x.jsonl", time.Time{}); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("the error is %v", err)
	}
}
