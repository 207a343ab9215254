package main

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// view is an entry that was looked into.
// Body and parts are two ways to look at the same bytes; most commands need both, so they are decoded together.
type view struct {
	session.Entry
	raw   []byte
	body  session.Body
	parts []session.Part
	time  session.Time
}

// look reads an entry, once for all that is asked of it.
func look(codec session.Codec, e session.Entry) (view, error) {
	raw, err := e.Raw()
	if err != nil {
		return view{Entry: e}, err
	}
	return lookInto(codec, e, raw)
}

// lookInto is look for bytes that are at hand, because they were read for something else or are not in a log any
// more.
func lookInto(codec session.Codec, e session.Entry, raw []byte) (view, error) {
	v := view{Entry: e, raw: raw}
	var err error
	if v.body, err = codec.Body(e, v.raw); err != nil {
		return v, err
	}
	v.parts, err = codec.Parts(e, v.raw)
	v.time = codec.Time(v.raw)
	return v, err
}

// role is who speaks: in neutral words where there are any, otherwise in the agent's own.
// A role that only one agent has ("bashExecution") would otherwise read "other".
func (v view) role() string {
	if m, ok := v.body.(session.Message); ok && v.Role == session.RoleOther && m.Native != "" {
		return m.Native
	}
	return v.Role.String()
}

// kindWords are short names for the column of a tree.
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
}

// word says in one word what an entry is: the role of a message, the kind of all else.
// Types that nobody knows are shown under their own name.
func (v view) word() string {
	if v.Kind == session.KindMessage {
		if role := v.role(); role != "" {
			return role
		}
	}
	if w := kindWords[v.Kind]; w != "" {
		return w
	}
	if v.Type != "" {
		return v.Type
	}
	return "?"
}

// line says in one line what an entry says, in at most so many columns.
// 0 columns means all of it. The cases are the bodies of package session, which are a closed set.
func (v view) line(most int) string {
	switch b := v.body.(type) {
	case session.Message:
		return partsLine(v.parts, most)
	case session.ThinkingLevelChange:
		return orElse(screen.OneLine(b.Level, most), "off")
	case session.ModelChange:
		return screen.OneLine(modelText(b), most)
	case session.Compaction:
		return screen.OneLine(orElse(b.ShortSummary, b.Summary), most)
	case session.BranchSummary:
		return screen.OneLine(b.Summary, most)
	case session.Custom:
		return screen.OneLine(b.Type+" "+shortJSON(b.Data, most), most)
	case session.CustomMessage:
		return screen.OneLine(b.Type+": "+partsLine(v.parts, most), most)
	case session.Label:
		return screen.OneLine(labelText(b), most)
	case session.TTSRInjection:
		return screen.OneLine(strings.Join(b.Rules, ", "), most)
	case session.SessionInit:
		return screen.OneLine(orElse(b.Task, b.SystemPrompt), most)
	case session.ModeChange:
		return screen.OneLine(b.Mode+" "+shortJSON(b.Data, most), most)
	case session.SessionInfo:
		return orElse(screen.OneLine(b.Name, most), "(none)")
	case session.Leaf:
		return screen.OneLine(orElse(string(b.Target), "before the first entry"), most)
	case session.ContextEdit:
		return screen.OneLine(editText(b), most)
	case session.Opaque:
		return shortJSON(b.JSON, most)
	}
	return ""
}

// orElse is cmp.Or for two texts, which reads better in the middle of a line.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// modelText leaves the usual role out.
func modelText(m session.ModelChange) string {
	if m.Role == "default" || m.Role == "" {
		return orElse(m.Model, "(none)")
	}
	return orElse(m.Model, "(none)") + " for " + m.Role
}

// labelText also shows labels that were taken away: they are entries like others.
func labelText(l session.Label) string {
	if l.Label == "" {
		return "removed from " + string(l.Target)
	}
	return l.Label + " on " + string(l.Target)
}

func editText(e session.ContextEdit) string {
	if e.Content == nil {
		return "hides " + string(e.Target)
	}
	return "replaces " + string(e.Target)
}

// partsLine is what the parts of a message say in one line: text before all else, then what was called.
// Thinking is shown only where there is nothing else: it is long, and seldom what one looks for.
func partsLine(parts []session.Part, most int) string {
	var words, calls []string
	thinking := ""
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			words = append(words, screen.OneLine(p.Text, most))
		case session.Thinking:
			thinking = orElse(thinking, screen.OneLine(p.Text, most))
		case session.ToolCall:
			calls = append(calls, callLine(p, most))
		case session.ToolResult:
			words = append(words, resultLine(p, most))
		case session.Image:
			words = append(words, "[image "+orElse(p.MIME, "?")+"]")
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

func resultLine(r session.ToolResult, most int) string {
	head := orElse(r.Name, "result")
	if r.IsError {
		head = "✗ " + head
	}
	return head + ": " + orElse(partsLine(r.Parts, most), "(empty)")
}

func opaqueLine(p session.OpaquePart, most int) string {
	if s, ok := rawjson.Unquote(p.JSON); ok {
		return p.Type + ": " + screen.OneLine(s, most)
	}
	return "[" + orElse(p.Type, "?") + "]"
}

// callLine is a tool call in short: its name, and what it is about.
func callLine(c session.ToolCall, most int) string {
	return screen.OneLine(orElse(c.Name, "?")+" "+shortJSON(c.Arguments, most), most)
}

// telling are the members that say what a call is about; the first of them that is there needs no name.
var telling = []string{
	"command", "cmd", "pattern", "query", "path", "file_path", "filePath", "file", "url", "code", "script", "task", "prompt",
}

// envelope are members that are shown in columns of their own, or say nothing to people.
var envelope = map[string]bool{
	"type": true, "id": true, "parentId": true, "parent_id": true, "timestamp": true, "customType": true,
}

// shortJSON gives a JSON value in a few words. Its quotes and braces are of no interest here.
// Eight members of 40 columns are what fits on a line; what is longer is cut there anyway.
func shortJSON(value []byte, most int) string {
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
