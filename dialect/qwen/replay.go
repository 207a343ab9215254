package qwen

import (
	"iter"
	"slices"

	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// turn is a content of the history.
type turn struct {
	entry session.Entry
	role  string
	parts [][]byte
	// stray: the message has another role than those of the user and the model.
	stray bool
}

// Replay implements session.Replayer.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refused != "" {
			return
		}
		history, err := d.history(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		if slices.ContainsFunc(history, func(t turn) bool { return t.stray }) {
			return
		}
		for _, m := range send(history) {
			if !yield(session.ContextMessage{Entry: m.entry, JSON: m.json()}, nil) {
				return
			}
		}
	}
}

// begin returns the position on the path at which the program's history begins: after the last line that the program does not read.
func (d *reader) begin(p session.Path) int {
	for k := p.Len() - 1; k >= 0; k-- {
		if d.lost[p.At(k).Index] != "" {
			return k + 1
		}
	}
	return 0
}

// history returns the contents that the program makes of a path.
func (d *reader) history(p session.Path) (history []turn, err error) {
	var prompt *turn // the last message, if it is a prompt and nothing followed it
	var first session.Entry
	for k := d.begin(p); k < p.Len(); k++ {
		e := p.At(k)
		if d.isPiece(p.Tree(), e, first) {
			if history, err = d.goOn(p, history, first, e); err != nil {
				return nil, err
			}
			continue
		}
		first = e
		switch e.Kind {
		case session.KindMessage, session.KindCompaction, session.KindBranchSummary, session.KindCustomMessage:
		default:
			if e.Type != subCommand {
				continue
			}
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, err
		}
		payload := rawjson.Get(raw, "systemPayload")
		switch {
		case e.Kind == session.KindCompaction:
			history, prompt = nil, nil
			for m := range rawjson.Elements(rawjson.Get(payload, "compressedHistory")) {
				history = append(history, turnOf(e, m))
			}
		case e.Type == subCommand:
			if prompt != nil && answersCommand(prompt, payload) {
				history = history[:len(history)-1]
			}
			prompt = nil
		case rawjson.Str(raw, "subtype") == subRealtime:
		default:
			message := turnOf(e, rawjson.Get(raw, "message"))
			history = append(history, message)
			prompt = nil
			if e.Type == typeUser && rawjson.IsNull(rawjson.Get(raw, "subtype")) {
				prompt = &message
			}
		}
	}
	return history, nil
}

// goOn adds the parts of a line that goes on with a record. What the record is, its first line says: nothing is sent of one of the system,
// and a payload counts in the first line alone.
func (d *reader) goOn(p session.Path, history []turn, first, e session.Entry) ([]turn, error) {
	if d.isSystem(p, first) {
		return history, nil
	}
	raw, err := p.Record(e)
	if err != nil {
		return nil, err
	}
	message := rawjson.Get(raw, "message")
	if !rawjson.IsObject(message) {
		return history, nil
	}
	more, n := turnOf(e, message), len(history)
	if n > 0 && (history[n-1].entry.Index == first.Index || d.isPiece(p.Tree(), history[n-1].entry, first)) {
		history[n-1].parts = append(history[n-1].parts, more.parts...)
		return history, nil
	}
	return append(history, more), nil // the lines before it have no message
}

// isSystem reports whether the program keeps a record for itself.
func (d *reader) isSystem(p session.Path, first session.Entry) bool {
	raw, err := p.Record(first)
	return err == nil && (rawjson.Str(raw, "type") == typeSystem || rawjson.Str(raw, "subtype") == subRealtime)
}

// isPiece reports whether an entry continues the record of another one.
func (d *reader) isPiece(t *session.Tree, e, first session.Entry) bool {
	_, found := slices.BinarySearch(d.pieces[first.Index], e.Index)
	return found && first.Tree() == t
}

func turnOf(e session.Entry, message []byte) turn {
	t := turn{entry: e, role: rawjson.Str(message, "role")}
	t.stray = rawjson.Truthy(message) && t.role != contents.User && t.role != contents.Model
	for part := range rawjson.Elements(rawjson.Get(message, "parts")) {
		if rawjson.IsObject(part) || rawjson.IsString(part) {
			t.parts = append(t.parts, contents.List(part)...)
		}
	}
	return t
}

// answersCommand reports whether the program removes a prompt because it was a command that was answered without the model.
func answersCommand(prompt *turn, payload []byte) bool {
	items := 0
	for item := range rawjson.Elements(rawjson.Get(payload, "outputHistoryItems")) {
		if rawjson.Str(item, "type") != typeAssistant {
			return false
		}
		items++
	}
	return items > 0 && rawjson.Str(payload, "phase") == "result" && string(rawjson.Get(payload, "sentToModel")) != "true" &&
		len(prompt.parts) == 1 && members(prompt.parts[0]) == 1 && rawjson.IsString(rawjson.Get(prompt.parts[0], "text")) &&
		rawjson.Str(prompt.parts[0], "text") == rawjson.Str(payload, "rawCommand")
}

// members counts the members of an object.
func members(object []byte) (n int) {
	for range rawjson.Fields(object) {
		n++
	}
	return n
}

// Omits implements session.Omitter.
func (d *reader) Omits(p session.Path) (list []session.Problem) {
	if d.refused != "" {
		return []session.Problem{{Line: 1, Kind: session.ProblemRefused, Message: "Qwen Code does not resume the session: " + d.refused,
			Advice: "its entries are shown all the same"}}
	}
	unseen := func(e session.Entry, message string) {
		list = append(list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnseen, Message: message,
			Advice: "the entries are in the log and in the tree"})
	}
	if k := d.begin(p); k > 0 {
		e := p.At(k - 1)
		unseen(e, "the model sees nothing up to this line: Qwen Code skips it, because "+d.lost[e.Index]+", and does not find what came before")
	}
	t := p.Tree()
	for i := range t.Len() {
		if e := t.At(i); d.lost[i] != "" && e.Kind == session.KindMessage && p.Len() > 0 && i > p.At(p.Len()-1).Index {
			unseen(e, "the model does not see the message: Qwen Code skips its line, because "+d.lost[i])
		}
	}
	history, err := d.history(p)
	if err != nil {
		return nil // the context itself has the error
	}
	if k := slices.IndexFunc(history, func(t turn) bool { return t.stray }); k >= 0 {
		e := history[k].entry
		return []session.Problem{{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemRefused,
			Message: "Qwen Code does not resume the session: the role of a message is neither user nor model", Advice: "its entries are shown all the same"}}
	}
	var first session.Entry
	for k := d.begin(p); k < p.Len(); k++ {
		if e := p.At(k); !d.isPiece(t, e, first) {
			first = e
		} else if e.Kind == session.KindMessage && d.isSystem(p, first) {
			unseen(e, "the model does not see the message: it goes on with a record that Qwen Code keeps for itself")
		}
	}
	sent := map[int]bool{}
	for _, m := range send(history) {
		sent[m.entry.Index] = true
		for _, i := range m.also {
			sent[i] = true
		}
	}
	for _, t := range history {
		if t.role == contents.Model && !sent[t.entry.Index] && speaks(t) && t.entry.Kind == session.KindMessage && !isTimeout(t) {
			unseen(t.entry, "the model does not see the answer: one beside it has an empty part, and Qwen Code drops all of them")
		}
	}
	return list
}

// speaks reports whether a turn has a text or a call.
func speaks(t turn) bool {
	for _, part := range t.parts {
		if contents.Has(part, contents.Call) || contents.Has(part, "text") && !contents.Has(part, "thought") {
			return true
		}
	}
	return false
}
