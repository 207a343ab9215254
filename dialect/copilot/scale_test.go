package copilot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

const (
	begun = `{"type":"session.start","data":{"sessionId":"5e550000-0000-4000-8000-000000000000","version":1,"producer":"p","copilotVersion":"1","startTime":"2026-03-01T08:00:00.000Z"},"id":"5e550000-0000-4000-8000-000000000000","timestamp":"2026-03-01T08:00:00.000Z","parentId":null}`
	// place is the rest of an event.
	place = `,"id":"0000%04x-0000-4000-8000-000000000000","timestamp":"2026-03-01T08:00:00.000Z","parentId":null}`
)

// Calls of one id get its results in order, also if all results stand before the calls. In quadratic time it would take many times as long.
func TestManyCallsOfOneID(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var log strings.Builder
	log.WriteString(begun + "\n")
	for i := range n {
		fmt.Fprintf(&log, `{"type":"tool.execution_complete","data":{"toolCallId":"a","success":true,"result":{"content":"%d"}}`+place+"\n", i, i%0xffff)
	}
	log.WriteString(`{"type":"assistant.message","data":{"messageId":"m","content":"","toolRequests":[`)
	log.WriteString(strings.TrimSuffix(strings.Repeat(`{"toolCallId":"a","name":"b"},`, n), ","))
	fmt.Fprintf(&log, `]}`+place+"\n", 1)
	tree, err := dialecttest.Decode(copilot.Copilot, "log", []byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sent := -1 // the first is the answer
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`"content":"%d"`, sent); sent >= 0 && !strings.Contains(string(m.JSON), want) {
			t.Fatalf("message %d is %s", sent, m.JSON)
		}
		sent++
	}
	if sent != n {
		t.Errorf("%d results were sent", sent)
	}
}

// Whether a record has a line of its own is found out once for a line. For each record in it, it would take minutes.
func TestManyRecordsBehindBlanks(t *testing.T) {
	t.Parallel()
	const n = 20_000
	log := begun + "\n" + strings.Repeat(" ", 16<<20) + strings.Repeat(fmt.Sprintf(`{"type":"user.message","data":{"content":"Dig."}`+place, 1), n) + "\n"
	tree, err := dialecttest.Decode(copilot.Copilot, "log", []byte(log))
	if err != nil || tree.Len() != n {
		t.Errorf("%d entries, %v", tree.Len(), err)
	}
}
