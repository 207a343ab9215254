package opencode

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Omits implements session.Omitter. It reports answers that failed, outputs that the program cleared, and parts of an unknown
// kind.
func (r *reader) Omits(p session.Path) (problems []session.Problem) {
	if r.broken > 0 {
		return []session.Problem{{Line: r.broken, Kind: session.ProblemRefused, Message: "OpenCode cannot read the session: a row holds no JSON",
			Advice: "nothing is sent until the row is repaired or deleted"}}
	}
	list, err := r.read(p)
	if err != nil {
		return nil // Replay returns the error
	}
	for _, m := range compacted(list) {
		unseen := func(what string) {
			problems = append(problems, session.Problem{Line: m.entry.Line, Offset: m.entry.Span.Offset, Kind: session.ProblemUnseen,
				Message: what, Advice: "it stays in the database"})
		}
		if !m.user && m.failed() {
			if len(m.send("")) == 0 && speaks(m.parts) {
				unseen("OpenCode does not send an answer that ended in an error")
			}
			continue
		}
		for _, part := range m.parts {
			switch kind := rawjson.Str(part, "type"); kind {
			case "tool":
				if rawjson.Truthy(rawjson.Get(rawjson.Get(rawjson.Get(part, "state"), "time"), "compacted")) {
					unseen("OpenCode cleared the output of a tool to save room")
				}
			case "text", "reasoning", "file", "compaction", "subtask", "step-start", "step-finish", "snapshot", "patch", "retry", "agent":
			default:
				unseen("OpenCode does not send a part of the unknown type " + kind)
			}
		}
	}
	return problems
}

// speaks reports whether parts have anything that the model would see.
func speaks(parts [][]byte) bool {
	for _, p := range parts {
		switch rawjson.Str(p, "type") {
		case "text", "tool":
			return true
		}
	}
	return false
}
