package crush

import (
	"encoding/base64"
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Texts that the program inserts.
const (
	interruptedText = "tool call was interrupted and did not produce a result, you may retry this call if the result is still needed"
	unloadedText    = "[Image data could not be loaded]"
	loadedText      = "[Image/media content loaded - see attached file]"
	mediaText       = "Here is the media content from the tool result:"
	attachedText    = "\n<system_info>The files below have been attached by the user, consider them in your response</system_info>\n"
)

// kinds are the types of parts that the program knows.
var kinds = []string{"text", "reasoning", "tool_call", "tool_result", "finish", "image_url", "binary", "shell_command"}

// violation says what the program cannot read of a part, so that it cannot read the session; "" if it can.
func violation(part []byte) string {
	kind, data := rawjson.Str(part, "type"), rawjson.Get(part, "data")
	switch {
	case !slices.Contains(kinds, kind):
		return "a part of the unknown type " + dialect.Shorten([]byte(kind))
	case !rawjson.IsObject(data) && string(data) != "null":
		return "a part of the type " + kind + " without an object as data"
	}
	return ""
}

// said is a message on a path.
type said struct {
	entry session.Entry
	role  string
	parts []byte
	// inside: the results of its calls may contain images.
	inside bool
}

// all returns the data of the parts of a type, without parts that have none.
func (m *said) all(kind string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for p := range rawjson.Elements(m.parts) {
			if data := rawjson.Get(p, "data"); rawjson.Str(p, "type") == kind && rawjson.IsObject(data) && !yield(data) {
				return
			}
		}
	}
}

// first returns a member of the data of the first part of a type.
func (m *said) first(kind, member string) string {
	for data := range m.all(kind) {
		return rawjson.Str(data, member)
	}
	return ""
}

// read returns the messages on a path that the model sees: those from the summary on. refused says why the program does not go on with the
// session.
func (r *reader) read(p session.Path) (list []said, refused *session.Problem, err error) {
	no := func(line int, offset int64, why string) ([]said, *session.Problem, error) {
		problem := form.Refusal(line, offset, why)
		return nil, &problem, nil
	}
	if r.dec.Broken > 0 {
		return no(r.dec.Broken, 0, "a row holds no JSON")
	}
	row := form.Row(r.dec.Header().Raw)
	if rawjson.Str(row, "parent_session_id") != "" {
		return nil, &session.Problem{Line: 1, Kind: session.ProblemRefused, Message: "Crush does not continue the session of a sub-agent",
			Advice: "nothing is sent; a fork is a session of its own"}, nil
	}
	summary := rawjson.Str(row, "summary_message_id")
	for _, e := range p.Entries() {
		raw, err := p.Record(e)
		if err != nil {
			return nil, nil, err
		}
		m := said{entry: e, role: rawjson.Str(form.Said(raw), "role"), parts: rawjson.Get(form.Said(raw), "parts"), inside: mediaInside(raw)}
		for part := range rawjson.Elements(m.parts) {
			if why := violation(part); why != "" {
				return no(e.Line, e.Span.Offset, "a message has "+why)
			}
		}
		if summary != "" && string(e.NativeID) == summary {
			list, m.role = nil, "user"
		}
		list = append(list, m)
	}
	return list, nil, nil
}

// Replay implements session.Replayer.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		list, refused, err := r.read(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		if refused != nil {
			return
		}
		results := resultsOf(list)
		for _, m := range list {
			for _, json := range m.send(results) {
				if !yield(session.ContextMessage{Entry: m.entry, JSON: json}, nil) {
					return
				}
			}
		}
	}
}

// resultsOf returns the results by the ids of their calls.
func resultsOf(list []said) map[string][][]byte {
	results := map[string][][]byte{}
	for _, m := range list {
		if m.role != "tool" {
			continue
		}
		for data := range m.all("tool_result") {
			id := rawjson.Str(data, "tool_call_id")
			results[id] = append(results[id], data)
		}
	}
	return results
}

// Messages returns what one message contributes to a context.
func (r *reader) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind == session.KindOpaque {
		return nil, nil
	}
	m := said{entry: e, role: rawjson.Str(form.Said(raw), "role"), parts: rawjson.Get(form.Said(raw), "parts"), inside: mediaInside(raw)}
	if m.role == "tool" {
		var list [][]byte
		for data := range m.all("tool_result") {
			list = append(list, result(data, "", true))
		}
		return list, nil
	}
	return m.send(nil), nil
}

// send returns a message in the form of chat completions. The results of calls follow the calls, and are taken from results; nil for calls
// alone.
func (m *said) send(results map[string][][]byte) [][]byte {
	switch m.role {
	case "user":
		if list := m.prompt(); list != nil {
			return [][]byte{chat.Message("user", chat.Content(list))}
		}
	case "assistant":
		return m.answer(results)
	}
	return nil
}

// prompt returns the parts of a message of the user: one text, with the texts of files and commands, and the other files.
func (m *said) prompt() (list [][]byte) {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(m.first("text", "text")))
	begun := false
	for data := range m.all("binary") {
		if strings.HasPrefix(rawjson.Str(data, "MIMEType"), "text/") {
			if !begun {
				text.WriteString(attachedText)
			}
			begun = true
			text.WriteString(attached(data))
		}
	}
	for data := range m.all("shell_command") {
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString(shellText(data))
	}
	if text.Len() > 0 {
		list = append(list, chat.Text(text.String()))
	}
	for data := range m.all("binary") {
		mime := rawjson.Str(data, "MIMEType")
		switch {
		case strings.HasPrefix(mime, "text/"):
		case strings.HasPrefix(mime, "image/"):
			list = append(list, chat.Image(dialect.ImageURL(session.Image{MIME: mime, Data: rawjson.Str(data, "Data")}), mime))
		default:
			var w dialect.Object
			w.Str("type", "file")
			w.Add("file", data)
			list = append(list, w.End())
		}
	}
	return list
}

// answer returns the message of the model and the results of its calls.
func (m *said) answer(results map[string][][]byte) [][]byte {
	var a chat.Answer
	var after, media [][]byte
	a.Text.WriteString(strings.TrimSpace(m.first("text", "text")))
	a.Thinking.WriteString(m.first("reasoning", "thinking"))
	for data := range m.all("tool_call") {
		c := callOf(data)
		a.Calls = append(a.Calls, chat.Call(c.ID, c.Name, c.Arguments))
		if results == nil {
			continue
		}
		child := ""
		if c.Name == "agent" || c.Name == "agentic_fetch" {
			child = string(m.entry.NativeID) + "$$" + c.ID
		}
		found := results[c.ID]
		delete(results, c.ID)
		for _, data := range found {
			after = append(after, result(data, child, m.inside))
			if i, ok := mediaOf(data); ok && !m.inside {
				media = append(media, chat.Image(dialect.ImageURL(i), i.MIME))
			}
		}
		if found == nil {
			after = append(after, chat.Result{CallID: c.ID, Name: c.Name, Content: rawjson.Quote(interruptedText), Failed: true}.Message())
		}
	}
	if a.Text.Len()+a.Thinking.Len() == 0 && a.Calls == nil {
		return nil
	}
	if media != nil {
		after = append(after, chat.Message("user", dialect.Array(slices.Insert(media, 0, chat.Text(mediaText)))))
	}
	return slices.Insert(after, 0, a.End())
}

// result returns the message of a result: its text, or its picture, which stands in it if inside is set. child is the session of the
// sub-agent that made it, "" for none.
func result(data []byte, child string, inside bool) []byte {
	r := resultOf(data)
	out := chat.Result{CallID: r.CallID, Name: r.Name, Content: rawjson.Quote(rawjson.Str(data, "content")), Failed: r.IsError, Session: child}
	media, ok := mediaOf(data)
	switch {
	case ok && inside:
		out.Content = dialect.Array([][]byte{chat.Image(dialect.ImageURL(media), media.MIME)})
	case ok:
		out.Content = rawjson.Quote(loadedText)
	case !r.IsError && rawjson.Str(data, "data") != "":
		out.Content = rawjson.Quote(unloadedText)
	}
	return out.Message()
}

// mediaOf returns the image in a result.
func mediaOf(data []byte) (session.Image, bool) {
	i := session.Image{MIME: rawjson.Str(data, "mime_type"), Data: rawjson.Str(data, "data")}
	_, err := base64.StdEncoding.DecodeString(i.Data)
	return i, i.Data != "" && err == nil && !rawjson.Truthy(rawjson.Get(data, "is_error"))
}

// mediaInside reports whether the results of an answer's calls may hold pictures for the provider of its model. For the others the
// program sends them in a message of the user.
func mediaInside(raw []byte) bool {
	return slices.Contains([]string{"anthropic", "bedrock"}, rawjson.Str(form.Said(raw), "provider"))
}

// Omits implements session.Omitter: results without a call, texts of results with a picture, and texts after the first one of a message.
func (r *reader) Omits(p session.Path) (problems []session.Problem) {
	list, refused, err := r.read(p)
	if err != nil {
		return nil // Replay reports it
	}
	if refused != nil {
		return []session.Problem{*refused}
	}
	called := map[string]bool{}
	for _, m := range list {
		unseen := func(what string) {
			problems = append(problems, session.Problem{Line: m.entry.Line, Offset: m.entry.Span.Offset, Kind: session.ProblemUnseen,
				Message: what, Advice: "it stays in the database"})
		}
		if m.role == "assistant" {
			for data := range m.all("tool_call") {
				called[rawjson.Str(data, "id")] = true
			}
		}
		for data := range m.all("tool_result") {
			if m.role == "tool" && !called[rawjson.Str(data, "tool_call_id")] {
				unseen("Crush does not send a result whose call is missing")
			} else if _, ok := mediaOf(data); ok && strings.TrimSpace(rawjson.Str(data, "content")) != "" {
				unseen("Crush does not send the text of a result that has a picture")
			}
		}
		if texts := slices.Collect(m.all("text")); len(texts) > 1 {
			unseen("Crush sends only the first text of a message")
		}
	}
	return problems
}
