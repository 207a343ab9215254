package copilot

import (
	"cmp"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ session.Skimmer = (*Dialect)(nil)
	_ dialect.Parter  = (*Dialect)(nil)
)

// message is an event without its place in the log.
func message(typ string, data []byte) []byte {
	w := dialect.Object(`{"type":`)
	w = append(w, rawjson.Quote(typ)...)
	w.Add("data", data)
	return w.End()
}

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	data := rawjson.Get(raw, "data")
	switch e.Kind {
	case session.KindMessage:
		m := session.Message{Role: e.Role, Native: e.Type, JSON: message(e.Type, data), Time: d.Time(raw)}
		switch e.Role {
		case session.RoleAssistant:
			var u session.Usage
			if m.Provider, m.Model, u = usedBy(data, nil); m.Model != "" {
				m.ModelJSON = rawjson.Get(data, "model")
			}
			if u != (session.Usage{}) {
				m.Usage = &u
			}
		case session.RoleUser:
			m.Meta = isMeta(e.Type, data)
		}
		return m, nil
	case session.KindCompaction:
		tokens := rawjson.Get(data, "preCompactionTokens")
		return session.Compaction{Summary: rawjson.Str(data, "summaryContent"), TokensJSON: tokens, TokensBefore: int(dialect.Integer(tokens)),
			Details: data, ReplacesAll: true}, nil
	case session.KindBranchSummary:
		inserted := rawjson.Get(data, insertedMember)
		return session.BranchSummary{From: session.EntryID(rawjson.Str(inserted, "from")), Details: rawjson.Get(inserted, "details"), Summary: rawjson.Str(data, "content")}, nil
	case session.KindCustomMessage:
		inserted := rawjson.Get(data, insertedMember)
		return session.CustomMessage{Type: rawjson.Str(inserted, "type"), Content: said(data), Display: string(rawjson.Get(inserted, "display")) == "true",
			Details: rawjson.Get(inserted, "details"), Attribution: rawjson.Str(inserted, "attribution")}, nil
	case session.KindModelChange:
		model := rawjson.Str(data, "newModel")
		c := session.ModelChange{Role: "default", ModelID: model, Provider: cmp.Or(rawjson.Str(data, providerMember), providerOf(model)), JSON: rawjson.Get(data, "newModel")}
		c.Model = c.Provider + "/" + model
		return c, nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: rawjson.Str(data, "title")}, nil
	case session.KindCustom:
		if e.Type == typeCustom {
			return session.Custom{Type: rawjson.Str(data, "type"), Data: rawjson.Get(data, "data")}, nil
		}
		return session.Custom{Type: e.Type, Data: data}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// said is the content of a user's message: the members that the model sees.
func said(data []byte) []byte {
	var w dialect.Object
	w.Copy(data, "content", "attachments")
	return w.End()
}

// isMeta reports whether the program wrote a message in the user's name: a notification, a skill, a task for a sub-agent.
func isMeta(typ string, data []byte) bool {
	source := rawjson.Get(data, "source")
	return typ == typeNotification || rawjson.IsString(source) && string(rawjson.Inside(source)) != "user"
}

// providerOf returns the provider of a model. The program reaches all providers through GitHub.
func providerOf(model string) string {
	if model == "" {
		return ""
	}
	return cmp.Or(dialect.ProviderOf(model), "github-copilot")
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	return entryParts(nil, e, raw, nil), nil
}

// Skim implements session.Skimmer.
func (d *entries) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	s.Parts = entryParts(s.Parts, e, raw, s)
	if e.Kind == session.KindMessage && e.Role == session.RoleAssistant {
		s.Provider, s.Model, s.Usage = usedBy(rawjson.Get(raw, "data"), s)
	}
	return nil
}

// entryParts adds the parts of an entry. s decodes texts.
func entryParts(list []session.Part, e session.Entry, raw []byte, s *session.Skim) []session.Part {
	data := rawjson.Get(raw, "data")
	switch e.Kind {
	case session.KindMessage:
		return appendParts(list, e.Type, data, s)
	case session.KindBranchSummary, session.KindCustomMessage:
		return appendParts(list, typeUser, data, s)
	case session.KindCompaction:
		return appendText(list, rawjson.Get(data, "summaryContent"), s)
	case session.KindOpaque, session.KindCustom:
		return append(list, session.OpaquePart{Type: e.Type, JSON: raw})
	}
	return list
}

// appendText adds a text that is not empty.
func appendText(list []session.Part, value []byte, s *session.Skim) []session.Part {
	if text, _ := s.Text(value); text != "" {
		list = append(list, session.Text{Text: text})
	}
	return list
}

// Members that are found in one pass.
var (
	answerKeys  = []string{"reasoningText", "reasoningOpaque", "content", "toolRequests"}
	resultKeys  = []string{"toolCallId", "success", "result", "error"}
	contentKeys = []string{"content", "binaryResultsForLlm"}
)

// appendParts adds the parts of an event.
func appendParts(list []session.Part, typ string, data []byte, s *session.Skim) []session.Part {
	switch typ {
	case typeUser, typeNotification:
		list = appendText(list, rawjson.Get(data, "content"), s)
		for a := range rawjson.Elements(rawjson.Get(data, "attachments")) {
			list = append(list, attachment(a))
		}
	case typeAnswer:
		var v [4][]byte
		rawjson.Pick(data, answerKeys, v[:])
		thought, _ := s.Text(v[0])
		signature, _ := s.Text(v[1])
		if thought != "" || signature != "" {
			list = append(list, session.Thinking{Text: thought, Signature: signature, Redacted: thought == ""})
		}
		list = appendText(list, v[2], s)
		for c := range rawjson.Elements(v[3]) {
			list = append(list, session.ToolCall{ID: rawjson.Str(c, "toolCallId"), Name: rawjson.Str(c, "name"), Arguments: arguments(c)})
		}
	case typeResult:
		var v [4][]byte
		rawjson.Pick(data, resultKeys, v[:])
		id, _ := rawjson.Unquote(v[0])
		list = append(list, session.ToolResult{CallID: id, Parts: resultParts(v[2], v[3], s), IsError: string(v[1]) == "false"})
	}
	return list
}

// arguments are those of a call: an object, or a text for a tool without a schema.
func arguments(call []byte) []byte {
	if args := rawjson.Get(call, "arguments"); args != nil {
		return args
	}
	return []byte("{}")
}

// resultParts are the texts and images in a tool's result, or its error.
func resultParts(result, failure []byte, s *session.Skim) (list []session.Part) {
	var v [2][]byte
	if rawjson.IsObject(result) {
		rawjson.Pick(result, contentKeys, v[:])
	} else {
		v[0] = rawjson.Get(failure, "message")
	}
	list = appendText(list, v[0], s)
	for b := range rawjson.Elements(v[1]) {
		if mime := rawjson.Str(b, "mimeType"); strings.HasPrefix(mime, "image/") && rawjson.IsString(rawjson.Get(b, "data")) {
			list = append(list, session.Image{MIME: mime, Data: rawjson.Str(b, "data")})
		}
	}
	return list
}

// attachment is what the user added to a prompt: an image, or a reference to a file.
func attachment(a []byte) session.Part {
	if mime := rawjson.Str(a, "mimeType"); strings.HasPrefix(mime, "image/") && rawjson.IsString(rawjson.Get(a, "data")) {
		return session.Image{MIME: mime, Data: rawjson.Str(a, "data")}
	}
	return session.OpaquePart{Type: "attachment", JSON: a}
}

// MessageParts returns what is inside a message in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	return appendParts(nil, rawjson.Str(m, "type"), rawjson.Get(m, "data"), nil)
}

// Messages returns the message of an entry; see Replay for what is sent.
func (d *entries) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind == session.KindMessage {
		return [][]byte{rawjson.Compact(message(e.Type, rawjson.Get(raw, "data")))}, nil
	}
	return nil, nil
}

// LLM returns the message itself: the form that goes to a provider depends on the provider.
func (d *Dialect) LLM(m []byte) ([]byte, error) { return m, nil }

// Edit replaces the content of a message.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	data := rawjson.Get(m, "data")
	for key, value := range rawjson.Fields(content) {
		data = rawjson.Set(data, key, rawjson.Compact(value))
	}
	return rawjson.Set(m, "data", data), nil
}

// Role says who speaks in a message.
func (d *Dialect) Role(m []byte) session.Role {
	switch rawjson.Str(m, "type") {
	case typeUser, typeNotification:
		return session.RoleUser
	case typeAnswer:
		return session.RoleAssistant
	case typeResult:
		return session.RoleTool
	}
	return session.RoleNone
}

// ToolCalls returns the ids of the calls in a message.
func (d *Dialect) ToolCalls(m []byte) (ids []string) {
	if rawjson.Str(m, "type") != typeAnswer {
		return nil
	}
	for c := range rawjson.Elements(rawjson.Get(rawjson.Get(m, "data"), "toolRequests")) {
		ids = append(ids, rawjson.Str(c, "toolCallId"))
	}
	return ids
}

// ToolResults returns the id of the call that a message answers.
func (d *Dialect) ToolResults(m []byte) []string {
	if rawjson.Str(m, "type") != typeResult {
		return nil
	}
	return []string{rawjson.Str(rawjson.Get(m, "data"), "toolCallId")}
}

// Failed is always false: an answer does not say that its turn failed.
func (d *Dialect) Failed([]byte) bool { return false }

// Strip removes calls and results. An answer without calls and text is not worth sending.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	data := rawjson.Get(m, "data")
	switch rawjson.Str(m, "type") {
	case typeResult:
		if drop(rawjson.Str(data, "toolCallId")) {
			return nil, nil
		}
	case typeAnswer:
		left := 0
		calls := rawjson.MapElements(rawjson.Get(data, "toolRequests"), func(c []byte) []byte {
			if drop(rawjson.Str(c, "toolCallId")) {
				return nil
			}
			left++
			return c
		})
		if left == 0 && strings.TrimSpace(rawjson.Str(data, "content")) == "" {
			return nil, nil
		}
		// Thinking was signed together with the calls.
		data = rawjson.Delete(rawjson.Delete(data, "reasoningOpaque"), "encryptedContent")
		return rawjson.Set(m, "data", rawjson.Set(data, "toolRequests", calls)), nil
	}
	return m, nil
}
