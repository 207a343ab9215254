package codex_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/session"
)

// The members of a header that make the program refuse a log were determined with Codex 0.166.
func TestHeader(t *testing.T) {
	const id = `"019a2f00-0000-7000-8000-000000000001"`
	for member, resumed := range map[string]bool{
		`"source":null`: false, `"source":"novel"`: true, `"source":5`: false, `"source":{"custom":"x"}`: true, `"source":{"custom":5}`: false,
		`"source":{"subagent":"review"}`: true, `"source":{"subagent":"novel"}`: false, `"source":{"subagent":{"other":"x"}}`: true,
		`"source":{"subagent":{"other":5}}`: false, `"source":{"subagent":{"thread_spawn":{"depth":1}}}`: false,
		`"source":{"subagent":{"thread_spawn":{"depth":1,"parent_thread_id":` + id + `}}}`: true,
		`"history_mode":null`: false, `"history_mode":"legacy"`: true, `"agent_nickname":5`: false, `"agent_nickname":null`: true, `"agent_path":5`: false,
		`"base_instructions":{}`: false, `"base_instructions":{"text":"x"}`: true, `"base_instructions":{"text":"x","provenance":5}`: false,
		`"context_window":{}`: false, `"context_window":{"window_id":"w"}`: true, `"git":{}`: true, `"git":{"branch":5}`: false,
		`"dynamic_tools":[5]`: false, `"dynamic_tools":[]`: true, `"forked_from_ordinal_exclusive":"x"`: false, `"subagent_history_start_ordinal":3`: true,
		`"session_id":"019a2f00000070008000000000000001"`: true, `"session_id":"{019a2f00-0000-7000-8000-000000000001}"`: true, `"session_id":"rose"`: false,
	} {
		log := fmt.Sprintf(`{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":%s,"timestamp":"2026-03-01T08:00:00.000Z",`+
			`"cwd":"/garden","originator":"x","cli_version":"0.166.0",%s}}`+"\n"+
			`{"timestamp":"2026-03-01T08:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Plant roses."}]}}`+"\n", id, member)
		b := session.NewBuilder("header", whole(log))
		if err := dialect.DecodeLog(codex.Codex.NewDecoder(b), []byte(log)); err != nil {
			t.Fatal(err)
		}
		tree := b.Finish()
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		refused := len(c.Problems()) == 1 && c.Problems()[0].Kind == session.ProblemRefused
		if n := len(c.Problems()); refused == resumed || resumed && n > 0 {
			t.Errorf("%s: problems %v, want it resumed: %t", member, c.Problems(), resumed)
		}
	}
}

// whole is a log in memory.
type whole []byte

func (w whole) Bytes(s session.Span) ([]byte, error) { return bytes.Clone(w[s.Offset:s.End()]), nil }
