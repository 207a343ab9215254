package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// seen is a piece of what the model sees. The forms of a summary are the bare text and the text with the agent's words around it; anything
// else has one form.
type seen struct {
	role  session.Role
	forms []string
	call  string // the id of a call, or of the call that a result answers
}

func (s seen) String() string { return fmt.Sprintf("%s %q", s.role, s.forms[0]) }

// seenAt returns what the model sees at an entry, as far as agents must agree. What they may do differently is made equal
// by rule:
//   - thinking, blank texts, and the agent's own system messages do not count;
//   - each result follows its call; second ones do not count; one that is missing is there;
//   - a newline at the end of a text does not count: Claude Code adds one between texts.
func seenAt(w *world.World, s *store.Session, leaf session.EntryID) []seen {
	w.Helper()
	c, err := s.Context(w.Context(), leaf, store.ContextOptions{LLM: true})
	w.Must(err)
	var list []seen
	results := map[string][]seen{}
	for m, err := range c.Messages() {
		w.Must(err)
		role := s.Dialect().Codec().Role(m.JSON)
		for _, p := range s.MessageParts(m.JSON) {
			switch p := p.(type) {
			case session.Text:
				if strings.TrimSpace(p.Text) != "" && role != session.RoleSystem && role != session.RoleTool {
					list = append(list, seen{role: role, forms: append(summaryOf(w, m.Entry), "text "+strings.TrimRight(p.Text, "\n"))})
				}
			case session.Image:
				list = append(list, seen{role: role, forms: []string{imageOf(p)}})
			case session.ToolCall:
				if p.ID != "" {
					list = append(list, seen{role: role, call: p.ID, forms: []string{"call " + p.Name + " " + argumentsOf(p.Arguments)}})
				}
			case session.ToolResult:
				results[p.CallID] = append(results[p.CallID], seen{role: session.RoleTool, call: p.CallID, forms: []string{resultOf(p)}})
			}
		}
	}
	return placed(list, results)
}

// placed puts each result behind its call: the nth call of an id has its nth result.
func placed(list []seen, results map[string][]seen) (out []seen) {
	for _, s := range list {
		out = append(out, s)
		if s.call == "" {
			continue
		}
		r := seen{role: session.RoleTool, forms: []string{"result [no result: the tool did not finish] (error)"}}
		if rest := results[s.call]; len(rest) > 0 {
			r, results[s.call] = rest[0], rest[1:]
		}
		out = append(out, r)
	}
	return out
}

// summaryOf returns the bare text of a summary.
func summaryOf(w *world.World, e session.Entry) []string {
	w.Helper()
	if e.Kind != session.KindCompaction && e.Kind != session.KindBranchSummary {
		return nil
	}
	body, err := e.Body()
	w.Must(err)
	switch b := body.(type) {
	case session.Compaction:
		return []string{"text " + strings.TrimRight(b.Summary, "\n")}
	case session.BranchSummary:
		return []string{"text " + strings.TrimRight(b.Summary, "\n")}
	}
	return nil
}

func imageOf(i session.Image) string { return "image " + dialect.ImageURL(i) }

// argumentsOf returns arguments in a normalized form. Arguments that are not an object become the member "input" of one.
func argumentsOf(raw []byte) string {
	var value any
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&value) != nil {
		value = string(raw)
	}
	if _, ok := value.(map[string]any); !ok {
		value = map[string]any{"input": value}
	}
	out, _ := json.Marshal(value)
	return string(out)
}

func resultOf(r session.ToolResult) string {
	out := "result"
	for _, p := range r.Parts {
		switch p := p.(type) {
		case session.Text:
			if strings.TrimSpace(p.Text) != "" {
				out += " " + strings.TrimRight(p.Text, "\n")
			}
		case session.Image:
			out += " " + imageOf(p)
		}
	}
	if r.IsError {
		out += " (error)"
	}
	return out
}

// sameSeen compares what the model sees before and after, and returns the first difference.
func sameSeen(before, after []seen) string {
	for k := range max(len(before), len(after)) {
		switch {
		case k >= len(before):
			return fmt.Sprintf("%d: more than before: %s", k, after[k])
		case k >= len(after):
			return fmt.Sprintf("%d: missing: %s", k, before[k])
		}
		a, b := before[k], after[k]
		if a.role != b.role || !slices.ContainsFunc(a.forms, func(f string) bool { return slices.Contains(b.forms, f) }) {
			return fmt.Sprintf("%d: %s was %s", k, b, a)
		}
	}
	return ""
}
