// Package texts says which texts of sessions and runs are searched. Indexing and searching share it, so that they cannot disagree.
//
// Every text occurs in the record itself, decoded once or, in arguments that are JSON in a string, twice. Images and signatures are not
// texts. Text that treeline makes up (the name of a tool that an agent does not spell) is left out: a search finds what the files contain.
package texts

import (
	"bytes"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Header returns the texts of a header. If the header is also an entry, Entry returns the rest.
func Header(h session.Header, take func(query.Field, string)) {
	if h.Title != "" {
		take(query.FieldOther, h.Title)
	}
}

// Names are the id, parent, type and time of an entry. They are not indexed for opaque entries.
type Names [4]string

// Own returns the names of an entry.
func Own(e session.Entry) Names { return Names{string(e.ID), string(e.Parent), e.Type} }

// Entry returns the texts of an entry, in order, and its parts, which may be as large as the record. raw is the entry's record. own are its
// names; without them the result has more texts, never fewer. A caller that keeps no text passes a skim: the texts are then valid until it
// is reset.
func Entry(c session.EntryCodec, e session.Entry, raw []byte, own Names, skim *session.Skim, takeAny func(query.Field, string)) ([]session.Part, error) {
	take := func(f query.Field, text string) {
		if text != "" {
			takeAny(f, text)
		}
	}
	if echo, ok := c.(session.Echoer); ok && echo.Echoes(e, raw) {
		return nil, nil
	}
	switch e.Kind {
	// Their parts do not contain all of their texts.
	case session.KindLabel, session.KindSessionInfo, session.KindCompaction, session.KindModeChange, session.KindTTSRInjection:
		if err := bodyTexts(c, e, raw, take); err != nil {
			return nil, err
		}
	}
	parts, err := partsOf(c, e, raw, skim)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if _, opaque := p.(session.OpaquePart); opaque {
			own[len(own)-1] = strings.Trim(c.Time(raw).Text, `"`)
		}
		partTexts(p, fieldOf(e.Role), own, raw, skim, take)
	}
	return parts, nil
}

// partsOf returns the parts of an entry, in skim if there is one and the codec can.
func partsOf(c session.EntryCodec, e session.Entry, raw []byte, skim *session.Skim) ([]session.Part, error) {
	if s, ok := c.(session.Skimmer); ok && skim != nil {
		err := s.Skim(e, raw, skim)
		return skim.Parts, err
	}
	return c.Parts(e, raw)
}

// MayHold reports whether an entry may have texts of some of these fields. Texts of users and assistants are in their own entries; the rest
// may be in any.
func MayHold(e session.Entry, fields query.Field) bool {
	const own = query.FieldUser | query.FieldAssistant
	return fields == 0 || fields&^own != 0 || fields&fieldOf(e.Role) != 0
}

// fieldOf returns the field of a role's texts.
func fieldOf(r session.Role) query.Field {
	switch r {
	case session.RoleUser:
		return query.FieldUser
	case session.RoleAssistant:
		return query.FieldAssistant
	case session.RoleTool:
		return query.FieldTool
	}
	return query.FieldOther
}

// bodyTexts returns the texts of an entry that are not in its parts.
func bodyTexts(c session.EntryCodec, e session.Entry, raw []byte, take func(query.Field, string)) error {
	body, err := c.Body(e, raw)
	if err != nil {
		return err
	}
	switch b := body.(type) {
	case session.Label:
		take(query.FieldOther, b.Label)
	case session.SessionInfo:
		take(query.FieldOther, b.Name)
	case session.Compaction:
		take(query.FieldOther, b.ShortSummary)
	case session.ModeChange:
		take(query.FieldOther, b.Mode)
	case session.TTSRInjection:
		for _, r := range b.Rules {
			take(query.FieldOther, r)
		}
	}
	return nil
}

func partTexts(p session.Part, field query.Field, own Names, raw []byte, skim *session.Skim, take func(query.Field, string)) {
	switch p := p.(type) {
	case session.Text:
		take(field, p.Text)
	case session.Thinking:
		take(query.FieldThinking, p.Text)
	case session.ToolCall:
		// A call that treeline made up for a user's command has no id; neither has one in some odd logs.
		if p.ID != "" || spells(raw, p.Name) {
			take(query.FieldTool, p.Name)
		}
		// With keys: people search for the name of an argument.
		jsonTexts(p.Arguments, true, skim, func(s string) { take(query.FieldTool, s) })
	case session.ToolResult:
		for _, inner := range p.Parts {
			partTexts(inner, query.FieldTool, own, raw, skim, take)
		}
	case session.OpaquePart:
		jsonTexts(p.JSON, false, skim, func(s string) {
			if !slices.Contains(own[:], s) {
				take(field, s)
			}
		})
	}
}

// spells reports whether a record has a string of that text. Strings are decoded only if the record has escapes that treeline would not
// write.
func spells(raw []byte, text string) bool {
	if bytes.Contains(raw, rawjson.Quote(text)) {
		return true
	}
	found := false
	if bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\/`)) {
		jsonTexts(raw, true, nil, func(s string) { found = found || s == text })
	}
	return found
}

// jsonTexts returns the strings in a value, with its keys if keys is set. Numbers are texts as they are spelled. Strings that are data
// instead of words are left out.
func jsonTexts(value []byte, keys bool, skim *session.Skim, take func(string)) {
	const deepest = 64 // hostile records nest by the million
	rawjson.Leaves(value, deepest, func(key []byte) bool {
		k := skim.Plain(key)
		if isDataKey(k) {
			return false
		}
		if keys {
			take(k)
		}
		return true
	}, func(leaf []byte) {
		if rawjson.IsString(leaf) {
			if s, ok := skim.Text(leaf); ok && !isData(s) {
				take(s)
			}
		} else if s := skim.Plain(leaf); s != "null" {
			take(s)
		}
	})
}

// isDataKey reports whether a member holds a signature or encrypted content.
func isDataKey(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "signature") || strings.HasPrefix(key, "encrypted")
}

// isData reports whether a string holds bytes: a data URL, or a long text in the alphabet of base64.
func isData(s string) bool {
	const shortest = 256
	// The media type before the content is short.
	if strings.HasPrefix(s, "data:") && strings.Contains(s[:min(len(s), 256)], ";base64,") {
		return true
	}
	if len(s) < shortest {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("+/=-_", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Run returns the texts of a record of a run: prompts, requests, answers and output.
func Run(record []byte, take func(query.Field, string)) {
	body, err := run.Decode(record)
	if err != nil {
		return // a record that cannot be decoded has no texts
	}
	// Without keys: messages have the same keys in every record.
	all := func(f query.Field, values ...[]byte) {
		for _, v := range values {
			if v != nil {
				jsonTexts(v, false, nil, func(s string) { take(f, s) })
			}
		}
	}
	some := func(f query.Field, texts ...string) {
		for _, t := range texts {
			if t != "" {
				take(f, t)
			}
		}
	}
	switch b := body.(type) {
	case *run.RunStart:
		some(query.FieldUser, b.Input.Text)
		all(query.FieldUser, b.Input.Parts)
	// A request repeats the conversation so far; the roles of its messages do not matter.
	case *run.LLMRequest:
		all(query.FieldOther, b.Input.Messages)
	case *run.LLMResponse:
		all(query.FieldAssistant, b.Output.Messages)
	case *run.ToolOutput:
		some(query.FieldTool, b.Result)
	case *run.AgentEvent:
		all(query.FieldOther, b.Event)
	case *run.RunStatus:
		some(query.FieldOther, b.Message)
	case *run.RunError:
		some(query.FieldOther, b.Error.Name, b.Error.Message, b.Error.Stack)
	case *run.RunEnd:
		some(query.FieldOther, b.Final)
	}
}
