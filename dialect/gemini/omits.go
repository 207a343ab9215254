package gemini

import (
	"slices"

	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Omits implements session.Omitter.
func (d *reader) Omits(p session.Path) (list []session.Problem) {
	if why := d.refusal(p.Tree()); why != "" {
		return []session.Problem{{Line: 1, Kind: session.ProblemRefused, Message: "Gemini CLI does not resume the session: " + why,
			Advice: "its entries are shown all the same"}}
	}
	t, end := p.Tree(), d.end(p)
	unseen := func(e session.Entry, what string) {
		list = append(list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnseen, Message: "the model does not see " + what,
			Advice: "its entry is in the log and in the tree"})
	}
	for i := range t.Len() {
		if e := t.At(i); d.lost[i] && i <= end && e.Kind == session.KindMessage {
			unseen(e, "a message: Gemini CLI skips its line, which is not exactly one record to it")
		}
	}
	messages, err := d.upTo(t, end, p.Record)
	if err != nil {
		return nil // building the context returns the error
	}
	for k, m := range messages {
		if rawjson.Str(m.json, "type") != typeUser || k+1 == len(messages) || rawjson.Str(messages[k+1].json, "type") != typeAnswer {
			continue
		}
		if text := textOf(rawjson.Get(m.json, "content")); ignored(text) && !isContext(text) && text != "" {
			unseen(m.entry, "a prompt that was answered: Gemini CLI takes a text that begins with / or ? for a command")
		}
	}
	history := turns(messages)
	if len(history) == 0 {
		for i := range t.Len() {
			if e := t.At(i); e.Kind == session.KindMessage && i <= end {
				return append(list, session.Problem{Line: t.At(end).Line, Offset: t.At(end).Span.Offset, Kind: session.ProblemRefused,
					Message: "nothing of the conversation is left here: Gemini CLI does not list the session", Advice: "its entries are in the log and in the tree"})
			}
		}
	}
	kept := map[string]bool{} // ids of the answers that are sent
	for _, t := range valid(history) {
		if t.role == contents.Model {
			kept[t.id] = true
		}
	}
	for _, t := range history {
		if slices.ContainsFunc(t.parts, func(part []byte) bool {
			return rawjson.Get(rawjson.Get(part, contents.Result), contents.Inside) != nil
		}) {
			unseen(t.entry, "a picture: Gemini CLI sends no pictures inside results")
		}
		if slices.ContainsFunc(t.parts, isUnknown) {
			unseen(t.entry, "a part of a message: Gemini CLI does not know its type")
		}
		if t.role == contents.Model && !kept[t.id] && speaks(t) {
			unseen(t.entry, "an answer: one beside it has an empty part, and Gemini CLI drops all of them")
		}
	}
	sorting.By(list, func(a, b session.Problem) int { return a.Line - b.Line })
	return list
}

// speaks reports whether a turn has anything that would be sent.
func speaks(t turn) bool {
	return slices.ContainsFunc(t.parts, func(part []byte) bool { return !isThought(part) && !isBroken(part) })
}
