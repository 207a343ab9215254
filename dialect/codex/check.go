package codex

import (
	"fmt"
	"path"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Ruler = (*Dialect)(nil)

// Check reports the rules of the program that a log breaks as a whole. Omits reports what the model does not see.
func (d *Dialect) Check(t *session.Tree, log dialect.LogInfo) (problems []session.Problem) {
	h := t.Header()
	payload := rawjson.Get(h.Raw, "payload")
	field := func(line int, offset int64, message, advice string) {
		problems = append(problems, session.Problem{Line: line, Offset: offset, Kind: session.ProblemField, Message: message, Advice: advice})
	}
	name := path.Base(strings.ReplaceAll(log.Name, `\`, "/"))
	if id, _ := (layout{}).Named(name); strings.HasPrefix(name, "rollout-") && id != h.ID {
		if dialect.IsUUID(string(id)) {
			field(h.Line, h.Span.Offset, fmt.Sprintf("the name of the file has another id than the header: Codex finds it as %s and goes on as %s", id, h.ID),
				"name the file after the header's id")
		} else {
			field(h.Line, h.Span.Offset, "the name of the file does not end in the id of the session: Codex does not find it",
				"name it rollout-<time>-"+string(h.ID)+".jsonl")
		}
	}
	if !isPaginated(payload) {
		if base := rawjson.Get(payload, "history_base"); !rawjson.IsNull(base) {
			field(h.Line, h.Span.Offset, "the header names a rollout that it goes on from, but no ordinals: Codex does not read that rollout",
				"it is not read here either")
		}
		return problems
	}
	first, missing := session.Entry{}, 0
	for e := range t.Entries() {
		// A made-up id that begins with "o" holds the line's ordinal.
		if e.Foreign() || strings.HasPrefix(string(e.ID), "o") {
			continue
		}
		if missing++; missing == 1 {
			first = e
		}
	}
	if missing > 0 {
		field(first.Line, first.Span.Offset, fmt.Sprintf("%d lines have no ordinal; Codex refuses the log where the last line has none", missing),
			"a repair adds them")
	}
	return problems
}
