package opencode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The parts of a message are ordered by their ids, even in a copy of the session.
func TestCopyKeepsOrder(t *testing.T) {
	var parts []string
	for k := range 8 {
		parts = append(parts, fmt.Sprintf(`{"id":"prt_1df000000001%05dabcdefghi","message_id":"msg_1df000000001Fixtur00001abc","session_id":"ses_1","data":{"type":"text","text":"%d"}}`, k, k))
	}
	record := `{"message":{"id":"msg_1df000000001Fixtur00001abc","session_id":"ses_1","data":{"role":"user"}},"part":[` + strings.Join(parts, ",") + `]}`
	for n := range 5 {
		var ids []string
		for p := range rawjson.Elements(rawjson.Get(opencode.OpenCode.Copy([]byte(record), session.Header{}, dialect.NewSession{ID: session.ID(fmt.Sprint("ses_", n))}), "part")) {
			ids = append(ids, rawjson.Str(p, "id"))
		}
		if len(ids) != 8 || !slices.IsSorted(ids) || strings.Contains(record, ids[0]) {
			t.Errorf("session %d has the parts %q, want new ids in the same order", n, ids)
		}
	}
}
