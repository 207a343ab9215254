package opencode

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// said is a message on a path as the program reads it.
type said struct {
	entry session.Entry
	info  []byte
	parts [][]byte
	user  bool
}

// messageOf reads a message up to the part hidden, or all of it if hidden is "".
func messageOf(e session.Entry, raw []byte, hidden string) said {
	m := said{entry: e, info: rawjson.Get(rawjson.Get(raw, "message"), "data"), user: e.Role == session.RoleUser}
	for id, data := range partsOf(raw) {
		if hidden != "" && id == hidden {
			break
		}
		m.parts = append(m.parts, data)
	}
	return m
}

// read returns the messages on a path. A revert hides a part of the last one.
func (r *reader) read(p session.Path) ([]said, error) {
	var list []said
	for _, e := range p.Entries() {
		if e.Kind == session.KindOpaque {
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, err
		}
		hidden := ""
		if string(e.ID) == r.revert {
			hidden = r.part
		}
		list = append(list, messageOf(e, raw, hidden))
	}
	return list, nil
}

// compaction returns the part of a message that requests a compaction, nil if it has none.
func (m *said) compaction() []byte {
	if i := slices.IndexFunc(m.parts, func(p []byte) bool { return rawjson.Str(p, "type") == "compaction" }); i >= 0 && m.user {
		return m.parts[i]
	}
	return nil
}

// compacted returns the messages that are left by the last completed compaction. If the compaction names a tail, the messages from
// its beginning follow the summary.
func compacted(list []said) []said {
	done := map[string]int{} // id of the requesting message → position of the summary
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		if m.entry.Kind == session.KindCompaction {
			done[rawjson.Str(m.info, "parentID")] = i
		}
		summary, ok := done[string(m.entry.ID)]
		asked := m.compaction()
		if !ok || asked == nil {
			continue
		}
		tail := rawjson.Str(asked, "tail_start_id")
		if tail == "" {
			return list[i:]
		}
		from := slices.IndexFunc(list[:i], func(m said) bool { return string(m.entry.ID) == tail })
		if from < 0 {
			return list // the log lacks the beginning of the tail: all messages stay, in their order
		}
		return slices.Concat(list[i:i+1], list[summary:summary+1], list[from:i], list[i+1:summary], list[summary+1:])
	}
	return list
}

// Replay implements session.Replayer.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if r.broken > 0 {
			return
		}
		list, err := r.read(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		model := lastModel(list)
		for _, m := range compacted(list) {
			for _, json := range m.send(model) {
				if !yield(session.ContextMessage{Entry: m.entry, JSON: json}, nil) {
					return
				}
			}
		}
	}
}

// Messages returns what one message contributes to a context.
func (r *reader) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind == session.KindOpaque {
		return nil, nil
	}
	m := messageOf(e, raw, "")
	return m.send(""), nil
}

// lastModel is the model of the last prompt, which is used again on resume; "" if it is unknown.
func lastModel(list []said) string {
	for i := len(list) - 1; i >= 0; i-- {
		if m := rawjson.Get(list[i].info, "model"); list[i].user && rawjson.IsObject(m) {
			return rawjson.Str(m, "providerID") + "/" + rawjson.Str(m, "modelID")
		}
	}
	return ""
}

// failed reports whether the program leaves out an answer because it ended in an error. An answer that the user stopped stays if
// it said something before.
func (m *said) failed() bool {
	failed := rawjson.Get(m.info, "error")
	if !rawjson.Truthy(failed) {
		return false
	}
	spoke := slices.ContainsFunc(m.parts, func(p []byte) bool {
		kind := rawjson.Str(p, "type")
		return kind != "step-start" && kind != "reasoning"
	})
	return rawjson.Str(failed, "name") != aborted || !spoke
}

// send returns the messages that the program sends for one message, in the form of chat completions. model is the model that they are
// sent to, "" for the one that answered.
func (m *said) send(model string) [][]byte {
	if m.user {
		return m.prompt()
	}
	if m.failed() {
		return nil
	}
	other := model != "" && model != rawjson.Str(m.info, "providerID")+"/"+rawjson.Str(m.info, "modelID")
	a := answer{inside: mediaInside(model, m.info)}
	for _, p := range m.parts {
		switch rawjson.Str(p, "type") {
		case "step-start":
			a.flush()
		case "text":
			a.Text.WriteString(rawjson.Str(p, "text"))
			a.any = true
		case "reasoning":
			text := rawjson.Str(p, "text")
			switch {
			case !other:
				a.Thinking.WriteString(text)
				a.any = true
			case strings.TrimSpace(text) != "":
				a.Text.WriteString(text)
				a.any = true
			}
		case "tool":
			a.tool(p)
		}
	}
	a.flush()
	if a.media != nil {
		a.list = append(a.list, chat.Message("user", dialect.Array(append([][]byte{chat.Text(mediaText)}, a.media...))))
	}
	return a.list
}

// prompt returns the message of the user.
func (m *said) prompt() [][]byte {
	var list [][]byte
	for _, p := range m.parts {
		switch rawjson.Str(p, "type") {
		case "text":
			if text := rawjson.Str(p, "text"); text != "" && !rawjson.Truthy(rawjson.Get(p, "ignored")) {
				list = append(list, chat.Text(text))
			}
		case "file":
			if mime := rawjson.Str(p, "mime"); mime != "text/plain" && mime != "application/x-directory" {
				list = append(list, filePart(p))
			}
		case "compaction":
			list = append(list, chat.Text(compactionText))
		case "subtask":
			list = append(list, chat.Text(subtaskText))
		}
	}
	if list == nil {
		return nil
	}
	return [][]byte{chat.Message("user", chat.Content(list))}
}

// answer collects the messages of one step of an answer: what was said with the calls, then the results.
type answer struct {
	chat.Answer
	list, results [][]byte
	media         [][]byte
	any           bool
	inside        bool // images stay in results
}

// flush ends a step.
func (a *answer) flush() {
	if a.any || a.Calls != nil {
		a.list = append(append(a.list, a.End()), a.results...)
	}
	a.Answer, a.results, a.any = chat.Answer{}, nil, false
}

// tool adds a call and its result.
func (a *answer) tool(p []byte) {
	state, id, name := rawjson.Get(p, "state"), rawjson.Str(p, "callID"), rawjson.Str(p, "tool")
	a.Calls = append(a.Calls, chat.Call(id, name, rawjson.Get(state, "input")))
	content, failed := rawjson.Quote(interruptedText), true
	switch rawjson.Str(state, "status") {
	case "completed":
		failed = false
		text := rawjson.Str(state, "output")
		list := [][]byte(nil)
		if rawjson.Truthy(rawjson.Get(rawjson.Get(state, "time"), "compacted")) {
			text = clearedText
		} else {
			for at := range rawjson.Elements(rawjson.Get(state, "attachments")) {
				if isMedia(at) && !a.inside {
					a.media = append(a.media, filePart(at))
				} else {
					list = append(list, filePart(at))
				}
			}
		}
		if content = rawjson.Quote(text); list != nil {
			content = dialect.Array(append([][]byte{chat.Text(text)}, list...))
		}
	case "error":
		content = rawjson.Quote(rawjson.Str(state, "error"))
		// What a tool printed before it was interrupted counts.
		if m := rawjson.Get(state, "metadata"); rawjson.Truthy(rawjson.Get(m, "interrupted")) && rawjson.IsString(rawjson.Get(m, "output")) {
			content = rawjson.Get(m, "output")
		}
	}
	a.results = append(a.results, chat.Result{CallID: id, Name: name, Content: content, Failed: failed,
		Session: rawjson.Str(rawjson.Get(state, "metadata"), "sessionId")}.Message())
}

// isMedia reports whether a file is an image or a PDF.
func isMedia(file []byte) bool {
	mime := rawjson.Str(file, "mime")
	return strings.HasPrefix(mime, "image/") || mime == "application/pdf"
}

// mediaInside reports whether the results of tools may contain images for the provider of a model. For other providers the program
// sends images in a message of the user.
func mediaInside(model string, info []byte) bool {
	provider, _, _ := strings.Cut(model, "/")
	if model == "" {
		provider = rawjson.Str(info, "providerID")
	}
	return slices.Contains([]string{"anthropic", "openai", "amazon-bedrock", "google-vertex-anthropic"}, provider)
}
