package goose

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Texts that the program inserts.
const (
	blindText       = "[image omitted: model does not support vision]"
	blindResult     = "This tool result included an image that was omitted as the model does not support vision."
	assistantImage  = "[Image content removed - not supported in assistant messages]"
	emptyResultText = "(empty result)"
	failedText      = "The tool call returned the following error:\n"
	unreadable      = "unparseable_tool_call" // the name of a call that the program could not read
	internalError   = "-32603: "              // the code that the program puts before errors of tools
	documentBegin   = "[document ("
	documentEnd     = ") not sent: documents can only be sent in user messages]"
)

// said is a message that the model sees. contents are those of a row, without those that are not for the model.
type said struct {
	entry    session.Entry
	role     string // "tool" for a message of the user with results
	contents [][]byte
}

// shown reports whether a content is for the model.
func shown(c []byte) bool {
	audience := rawjson.Get(rawjson.Get(c, "annotations"), "audience")
	if !rawjson.IsArray(audience) {
		return true
	}
	for a := range rawjson.Elements(audience) {
		if s, _ := rawjson.Unquote(a); s == "assistant" {
			return true
		}
	}
	return false
}

// read returns the messages on a path that the model sees, and the model that is used. refused says why the program does not read the
// session.
func (r *reader) read(p session.Path) (list []said, model string, refused *session.Problem, err error) {
	if r.dec.Broken > 0 {
		problem := form.Refusal(r.dec.Broken, 0, "a row holds no JSON")
		return nil, "", &problem, nil
	}
	for _, e := range p.Entries() {
		if e.Kind == session.KindOpaque {
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, "", nil, err
		}
		row := form.Said(raw)
		if _, name := modelOf(rawjson.Get(row, "metadata_json")); name != "" {
			model = name
		}
		if why := unreadableRow(row); why != "" {
			problem := form.Refusal(e.Line, e.Span.Offset, why)
			return nil, "", &problem, nil
		}
		if flag(row, "agentVisible") {
			m := said{entry: e, role: rawjson.Str(row, "role")}
			for c := range rawjson.Elements(rawjson.Get(row, "content_json")) {
				m.contents = append(m.contents, c)
			}
			list = append(list, m)
		}
	}
	return list, model, nil, nil
}

// repeats reports whether a content of an answer is thinking that came before, with the same signature. The program keeps the first.
func repeats(c []byte, thoughts map[string]bool) bool {
	var key string
	switch typeOf(c) {
	case "thinking":
		key = rawjson.Str(c, "thinking") + "\x00" + rawjson.Str(c, "signature")
	case "redactedThinking":
		key = "\x00\x00" + rawjson.Str(c, "data")
	default:
		return false
	}
	known := thoughts[key]
	thoughts[key] = true
	return known
}

func typeOf(c []byte) string { return rawjson.Str(c, "type") }

// tidy changes the messages as the program does before it sends them: calls and results without each other, and empty messages, are
// left out, neighbours of one role are joined, and the first message is made the user's. dropped, if not nil, is called for each loss.
func tidy(list []said, dropped func(m said, what string)) []said {
	if dropped == nil {
		dropped = func(said, string) {}
	}
	thoughts := map[string]bool{}
	for i, m := range list {
		if m.role == "assistant" {
			m.contents = trimmed(m.contents)
		}
		list[i].contents = slices.DeleteFunc(m.contents, func(c []byte) bool { return !shown(c) || m.role == "assistant" && repeats(c, thoughts) })
	}
	var out []said
	for _, m := range pairs(list, dropped) {
		if !m.says() {
			continue
		}
		if m.role != "assistant" {
			if m.role = "user"; slices.ContainsFunc(m.contents, func(c []byte) bool { return typeOf(c) == "toolResponse" }) {
				m.role = "tool"
			}
		}
		if len(out) > 0 && out[len(out)-1].role == m.role {
			last := &out[len(out)-1]
			last.contents = append(last.contents, m.contents...) // pairs made the slice, so it may grow
			continue
		}
		out = append(out, m)
	}
	if len(out) == 0 || out[0].role != "assistant" {
		return out
	}
	again := false
	for len(out) > 0 {
		first := &out[0]
		switch {
		case first.role == "assistant":
			dropped(*first, "Goose does not send an answer before the first prompt")
		case first.role == "tool":
			// The calls of all its results were left out.
			again = again || !first.onlyResults()
			first.contents = slices.DeleteFunc(first.contents, func(c []byte) bool {
				if typeOf(c) == "toolResponse" {
					dropped(*first, missingCall)
					return true
				}
				return false
			})
			first.role = "user"
		}
		if first.role == "user" && first.says() {
			break
		}
		out = out[1:]
	}
	if len(out) > 0 && again {
		out = tidy(out, dropped) // without the later results of calls that were left out, which no provider accepts alone
	}
	return out
}

// says reports whether a message has anything but empty texts.
func (m *said) says() bool {
	return slices.ContainsFunc(m.contents, func(c []byte) bool { return typeOf(c) != "text" || rawjson.Str(c, "text") != "" })
}

// missingCall says that a result is lost.
const missingCall = "Goose does not send a result whose call is missing"

// onlyResults reports whether a message has only results of tools.
func (m *said) onlyResults() bool {
	return !slices.ContainsFunc(m.contents, func(c []byte) bool { return typeOf(c) != "toolResponse" })
}

// pairs leaves out calls without a result, results without a call, and contents that the message's role must not have.
func pairs(list []said, dropped func(m said, what string)) []said {
	open := map[string]bool{}
	keep := func(m said, f func(c []byte) bool) said {
		m.contents = slices.DeleteFunc(slices.Clone(m.contents), func(c []byte) bool { return !f(c) })
		return m
	}
	out := make([]said, 0, len(list))
	for _, m := range list {
		out = append(out, keep(m, func(c []byte) bool {
			id := rawjson.Str(c, "id")
			switch kind := typeOf(c); {
			case m.role == "assistant" && kind == "toolRequest":
				open[id] = true
			case m.role == "assistant":
				return kind != "toolResponse"
			case kind == "toolResponse":
				was := open[id]
				delete(open, id)
				if !was {
					dropped(m, missingCall)
				}
				return was
			case kind == "toolRequest" || kind == "thinking" || kind == "redactedThinking" || kind == "toolConfirmationRequest":
				return false
			}
			return true
		}))
	}
	for i, m := range out {
		if m.role == "assistant" {
			out[i] = keep(m, func(c []byte) bool {
				orphan := typeOf(c) == "toolRequest" && open[rawjson.Str(c, "id")]
				if orphan {
					dropped(m, "Goose does not send a call without a result")
				}
				return !orphan
			})
		}
	}
	return out
}

// goOn reports whether two contents are texts of an answer that become one text. They have the same annotations.
func goOn(a, b []byte) bool {
	return typeOf(a) == "text" && typeOf(b) == "text" &&
		bytes.Equal(rawjson.Compact(rawjson.Get(a, "annotations")), rawjson.Compact(rawjson.Get(b, "annotations")))
}

// trimmed joins the texts of an answer that follow each other, and removes white space from their ends.
func trimmed(contents [][]byte) (out [][]byte) {
	for i := 0; i < len(contents); {
		c, end := contents[i], i+1
		if typeOf(c) == "text" {
			var b strings.Builder
			for b.WriteString(rawjson.Str(c, "text")); end < len(contents) && goOn(c, contents[end]); end++ {
				b.WriteString(rawjson.Str(contents[end], "text"))
			}
			text := b.String()
			if short := strings.TrimRightFunc(text, unicode.IsSpace); end > i+1 || short != text {
				c = rawjson.Set(contents[end-1], "text", rawjson.Quote(short))
			}
		}
		out, i = append(out, c), end
	}
	return out
}

// Replay implements session.Replayer.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		list, model, refused, err := r.read(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		if refused != nil {
			return
		}
		names := map[string]string{}
		for _, m := range tidy(list, nil) {
			for _, json := range m.send(names, seesPictures(model)) {
				if !yield(session.ContextMessage{Entry: m.entry, JSON: json}, nil) {
					return
				}
			}
		}
	}
}

// Messages returns what one message contributes to a context.
func (r *reader) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	row := form.Said(raw)
	if e.Kind == session.KindOpaque || !flag(row, "agentVisible") {
		return nil, nil
	}
	m := said{entry: e, role: rawjson.Str(row, "role"), contents: slices.Collect(rawjson.Elements(rawjson.Get(row, "content_json")))}
	_, model := modelOf(rawjson.Get(row, "metadata_json"))
	return m.send(map[string]string{}, seesPictures(model)), nil
}

// send returns a message in the form of chat completions. names are those of tools by the ids of their calls.
func (m *said) send(names map[string]string, sees bool) [][]byte {
	if m.role == "assistant" {
		return m.answer(names)
	}
	var list, results [][]byte
	for _, c := range m.contents {
		switch typeOf(c) {
		case "text":
			if text := rawjson.Str(c, "text"); text != "" {
				list = append(list, chat.Text(text))
			}
		case "image":
			if i := picture(c); sees {
				list = append(list, chat.Image(dialect.ImageURL(i), i.MIME))
			} else {
				list = append(list, chat.Text(blindText))
			}
		case "document":
			list = append(list, document(c))
		case "toolResponse":
			results = append(results, result(c, names, sees))
		}
	}
	if list != nil {
		results = slices.Insert(results, 0, chat.Message("user", joined(list)))
	}
	return results
}

// joined makes a content of parts. If all parts are texts, they become one text.
func joined(list [][]byte) []byte {
	var texts []string
	for _, p := range list {
		if typeOf(p) != "text" {
			return dialect.Array(list)
		}
		texts = append(texts, rawjson.Str(p, "text"))
	}
	return rawjson.Quote(strings.Join(texts, "\n"))
}

// answer returns the message of the model, if it says anything besides thinking.
func (m *said) answer(names map[string]string) [][]byte {
	var a chat.Answer
	var before []byte // the previous content
	for _, c := range m.contents {
		kind, text := typeOf(c), ""
		switch kind {
		case "text":
			text = rawjson.Str(c, "text")
		case "image":
			text = assistantImage
		case "document":
			text = documentBegin + rawjson.Str(c, "mimeType") + documentEnd
		case "thinking":
			a.Thinking.WriteString(rawjson.Str(c, "thinking"))
		case "toolRequest":
			call := callOf(c)
			if rawjson.Str(rawjson.Get(c, "toolCall"), "status") == "error" {
				call.Name = unreadable
			}
			names[call.ID] = call.Name
			a.Calls = append(a.Calls, chat.Call(call.ID, plainName(call.Name), argumentsOf(call)))
		}
		if text != "" {
			if a.Text.Len() > 0 && !goOn(before, c) {
				a.Text.WriteByte('\n')
			}
			a.Text.WriteString(text)
		}
		before = c
	}
	if a.Text.Len() == 0 && a.Calls == nil {
		return nil
	}
	return [][]byte{a.End()}
}

// document is a file in the form of the chat API.
func document(c []byte) []byte {
	var f, w dialect.Object
	f.Str("filename", "document.pdf")
	f.Str("file_data", "data:"+rawjson.Str(c, "mimeType")+";base64,"+rawjson.Str(c, "data"))
	w.Str("type", "file")
	w.Add("file", f.End())
	return w.End()
}

// plainName is the name of a tool without the characters that no provider accepts.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
}

// argumentsOf returns the arguments of a call as an object; any other value becomes a member of one.
func argumentsOf(call session.ToolCall) []byte {
	if rawjson.IsObject(call.Arguments) {
		return call.Arguments
	}
	var w dialect.Object
	w.Add("value", call.Arguments)
	return w.End()
}

// result returns the message of a result.
func result(c []byte, names map[string]string, sees bool) []byte {
	id := rawjson.Str(c, "id")
	out := chat.Result{CallID: id, Name: names[id]}
	state := rawjson.Get(c, "toolResult")
	if rawjson.Str(state, "status") == "error" {
		out.Content, out.Failed = rawjson.Quote(failedText+internalError+rawjson.Str(state, "error")), true
		return out.Message()
	}
	r := resultOf(c)
	value := rawjson.Get(state, "value")
	var texts []string
	var images [][]byte
	empty := true
	for inside := range rawjson.Elements(blocksOf(value)) {
		if !shown(inside) {
			continue
		}
		switch typeOf(inside) {
		case "text", "resource":
			text := rawjson.Str(inside, "text") + resourceText(rawjson.Get(inside, "resource"))
			texts, empty = append(texts, text), empty && text == ""
		case "image":
			if i := picture(inside); sees {
				images = append(images, chat.Image(dialect.ImageURL(i), i.MIME))
			} else {
				texts = append(texts, blindResult)
			}
			empty = false
		default:
			texts = append(texts, "")
		}
	}
	if empty {
		texts = append(texts, emptyResultText)
	}
	out.Failed, out.Session, out.Content = r.IsError, string(r.Session), rawjson.Quote(strings.Join(texts, " "))
	if images != nil {
		if texts != nil {
			images = slices.Insert(images, 0, chat.Text(strings.Join(texts, " ")))
		}
		out.Content = dialect.Array(images)
	}
	return out.Message()
}

// Omits implements session.Omitter. It reports calls and results without each other, and images for a model that does not accept them.
func (r *reader) Omits(p session.Path) (problems []session.Problem) {
	list, model, refused, err := r.read(p)
	if err != nil {
		return nil // Replay returns the error
	}
	if refused != nil {
		return []session.Problem{*refused}
	}
	unseen := func(m said, what string) {
		problems = append(problems, session.Problem{Line: m.entry.Line, Offset: m.entry.Span.Offset, Kind: session.ProblemUnseen,
			Message: what, Advice: "it stays in the database"})
	}
	for _, m := range list {
		if slices.ContainsFunc(m.contents, hasPicture) && !seesPictures(model) {
			unseen(m, "Goose sends a text instead of a picture, because it does not know that the model sees pictures")
		}
	}
	for _, m := range list {
		if m.role == "assistant" && slices.ContainsFunc(m.contents, func(c []byte) bool { return typeOf(c) == "document" }) {
			unseen(m, "Goose sends a text instead of a document in an answer")
		}
	}
	tidy(list, unseen)
	sorting.By(problems, func(a, b session.Problem) int { return a.Line - b.Line })
	return problems
}

// hasPicture reports whether a content is a picture, or a result with one.
func hasPicture(c []byte) bool {
	if typeOf(c) == "image" {
		return true
	}
	for inside := range rawjson.Elements(blocksOf(rawjson.Get(rawjson.Get(c, "toolResult"), "value"))) {
		if typeOf(inside) == "image" {
			return true
		}
	}
	return false
}
