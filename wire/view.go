package wire

import (
	"cmp"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Codec is the part of a dialect that a view needs.
type Codec interface {
	Body(e session.Entry, raw []byte) (session.Body, error)
	Parts(e session.Entry, raw []byte) ([]session.Part, error)
	Time(raw []byte) session.Time
}

// View is a decoded entry. Body and parts are two forms of the same bytes; most output needs both.
type View struct {
	session.Entry
	Body  session.Body
	Parts []session.Part
	Time  session.Time
}

// Look reads and decodes an entry.
func Look(codec Codec, e session.Entry) (View, error) {
	raw, err := e.Raw()
	if err != nil {
		return View{Entry: e}, err
	}
	return Decode(codec, e, raw)
}

// Decode decodes an entry whose record the caller has already read.
func Decode(codec Codec, e session.Entry, raw []byte) (View, error) {
	v := View{Entry: e}
	var err error
	if v.Body, err = codec.Body(e, raw); err != nil {
		return v, err
	}
	v.Parts, err = codec.Parts(e, raw)
	v.Time = codec.Time(raw)
	return v, err
}

// Speaker returns the role of an entry, or "" if it has none. A role that only one agent has keeps the agent's name.
func (v View) Speaker() string {
	if m, ok := v.Body.(session.Message); ok && v.Role == session.RoleOther && m.Native != "" {
		return m.Native
	}
	return v.Role.String()
}

// Hidden reports whether the entry is a message that an extension hides from people.
func (v View) Hidden() bool {
	switch b := v.Body.(type) {
	case session.CustomMessage:
		return !b.Display
	case session.Message:
		display := rawjson.Get(b.JSON, "display")
		return b.Role == session.RoleOther && display != nil && !rawjson.Truthy(display)
	}
	return false
}

var kindWords = map[session.Kind]string{
	session.KindMessage:             "message",
	session.KindThinkingLevelChange: "thinking",
	session.KindModelChange:         "model",
	session.KindCompaction:          "compaction",
	session.KindBranchSummary:       "branch",
	session.KindCustom:              "custom",
	session.KindCustomMessage:       "custom",
	session.KindLabel:               "label",
	session.KindTTSRInjection:       "rules",
	session.KindSessionInit:         "init",
	session.KindModeChange:          "mode",
	session.KindSessionInfo:         "name",
	session.KindLeaf:                "leaf",
	session.KindContextEdit:         "edit",
	session.KindTierChange:          "tier",
	session.KindToolSelection:       "tools",
	session.KindReset:               "reset",
}

// Word describes an entry in one word: the role of a message, otherwise the kind. An unknown type keeps its own name.
func (v View) Word() string {
	if v.Kind == session.KindMessage {
		if role := v.Speaker(); role != "" {
			return role
		}
	}
	return cmp.Or(cmp.Or(kindWords[v.Kind], v.Type), "?")
}

// Line describes an entry on one line of at most most columns; 0 means no limit.
func (v View) Line(most int) string {
	switch b := v.Body.(type) {
	case session.Message:
		return partsLine(v.Parts, most)
	case session.ThinkingLevelChange:
		return cmp.Or(screen.OneLine(b.Level, most), "off")
	case session.ModelChange:
		text := cmp.Or(b.Model, "(none)")
		if b.Role != "default" && b.Role != "" {
			text += " for " + b.Role
		}
		return screen.OneLine(text, most)
	case session.Compaction:
		return screen.OneLine(cmp.Or(b.ShortSummary, b.Summary), most)
	case session.BranchSummary:
		return screen.OneLine(b.Summary, most)
	case session.Custom:
		return screen.OneLine(b.Type+" "+Brief(b.Data, most), most)
	case session.CustomMessage:
		return screen.OneLine(b.Type+": "+partsLine(v.Parts, most), most)
	case session.Label:
		if b.Label == "" {
			return screen.OneLine("removed from "+string(b.Target), most)
		}
		return screen.OneLine(b.Label+" on "+string(b.Target), most)
	case session.TTSRInjection:
		return screen.OneLine(strings.Join(b.Rules, ", "), most)
	case session.SessionInit:
		return screen.OneLine(cmp.Or(b.Task, b.SystemPrompt), most)
	case session.ModeChange:
		return screen.OneLine(b.Mode+" "+Brief(b.Data, most), most)
	case session.SessionInfo:
		return cmp.Or(screen.OneLine(b.Name, most), "(none)")
	case session.Leaf:
		return screen.OneLine(cmp.Or(string(b.Target), "before the first entry"), most)
	case session.ContextEdit:
		if b.Content == nil {
			return screen.OneLine("hides "+string(b.Target), most)
		}
		return screen.OneLine("replaces "+string(b.Target), most)
	case session.TierChange:
		return cmp.Or(Brief(b.Tier, most), "none")
	case session.ToolSelection:
		return cmp.Or(screen.OneLine(strings.Join(b.Tools, ", "), most), "none")
	case session.Opaque:
		return Brief(b.JSON, most)
	}
	return ""
}

// partsLine describes a message on one line: text first, then tool calls. Thinking is shown only if there is neither.
func partsLine(parts []session.Part, most int) string {
	var words, calls []string
	thinking := ""
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			words = append(words, screen.OneLine(p.Text, most))
		case session.Thinking:
			thinking = cmp.Or(thinking, screen.OneLine(p.Text, most))
		case session.ToolCall:
			calls = append(calls, callLine(p, most))
		case session.ToolResult:
			words = append(words, resultLine(p, most))
		case session.Image:
			words = append(words, "[image "+cmp.Or(p.MIME, "?")+"]")
		case session.OpaquePart:
			words = append(words, opaqueLine(p, most))
		}
	}
	text := strings.Join(words, " ")
	if len(calls) > 0 {
		text = strings.TrimSpace(text + " → " + strings.Join(calls, ", "))
	}
	if strings.TrimSpace(text) == "" && thinking != "" {
		text = "(thinking) " + thinking
	}
	return screen.OneLine(text, most)
}

// resultName returns the name of a result's tool, with the session of the sub-agent that the call started.
func resultName(r session.ToolResult) string {
	name := screen.OneLine(cmp.Or(r.Name, "result"), 60)
	if r.Session != "" {
		name += " (" + screen.OneLine(string(r.Session), 60) + ")"
	}
	return name
}

func resultLine(r session.ToolResult, most int) string {
	head := resultName(r)
	if r.IsError {
		head = "✗ " + head
	}
	return head + ": " + cmp.Or(partsLine(r.Parts, most), "(empty)")
}

func opaqueLine(p session.OpaquePart, most int) string {
	if s, ok := rawjson.Unquote(p.JSON); ok {
		return p.Type + ": " + screen.OneLine(s, most)
	}
	return "[" + cmp.Or(p.Type, "?") + "]"
}

// callLine describes a tool call on one line: its name and its arguments.
func callLine(c session.ToolCall, most int) string {
	return screen.OneLine(cmp.Or(c.Name, "?")+" "+Brief(c.Arguments, most), most)
}

// telling are the arguments that best describe a call. The first one present is shown without its name.
var telling = []string{
	"command", "cmd", "pattern", "query", "path", "file_path", "filePath", "file", "url", "code", "script", "task", "prompt",
}

// envelope are members that are shown elsewhere or not at all.
var envelope = map[string]bool{
	"type": true, "id": true, "parentId": true, "parent_id": true, "timestamp": true, "customType": true,
}

// Brief describes a JSON value, such as the arguments of a call, without quotes and braces: at most eight members of 40 columns.
func Brief(value []byte, most int) string {
	if rawjson.IsNull(value) {
		return ""
	}
	if s, ok := rawjson.Unquote(value); ok {
		return screen.OneLine(s, most)
	}
	if !rawjson.IsObject(value) {
		return screen.OneLine(string(value), most)
	}
	var words []string
	first := ""
	for _, key := range telling {
		if s, ok := rawjson.Unquote(rawjson.Get(value, key)); ok && s != "" {
			first, words = key, append(words, screen.OneLine(s, most))
			break
		}
	}
	const enough, short = 8, 40
	for key, member := range rawjson.Fields(value) {
		if key == first || envelope[key] {
			continue
		}
		if len(words) == enough {
			words = append(words, screen.Ellipsis)
			break
		}
		text := screen.OneLine(string(member), short)
		if s, ok := rawjson.Unquote(member); ok {
			text = screen.OneLine(s, short)
		}
		words = append(words, key+"="+text)
	}
	return screen.OneLine(strings.Join(words, " "), most)
}
