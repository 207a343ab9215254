package find

import (
	"bytes"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// What search looks at is said here once, for indexing and for searching: they cannot disagree.
//
// Every text stands in the record itself, decoded once or, in arguments that are JSON in a string, twice. Images and
// signatures are no text. Text that treeline puts together (the name of a tool that an agent does not spell) is left out:
// search finds what the files hold.

// headerTexts gives what search looks at in a header. Where the header is also an entry, the entry gives the rest.
func headerTexts(h session.Header, take func(query.Field, string)) {
	if h.Title != "" {
		take(query.FieldOther, h.Title)
	}
}

// searchTexts gives what search looks at in an entry, in order. raw is the entry's record. Empty texts are none.
func searchTexts(c session.Codec, e session.Entry, raw []byte, take func(query.Field, string)) error {
	_, err := textsWithout(c, e, raw, ownNames(e), nil, take)
	return err
}

// names are what makes a record an entry: id, parent, type and time. They are no text of one that nobody understands.
type names [4]string

func ownNames(e session.Entry) names { return names{string(e.ID), string(e.Parent), e.Type} }

// textsWithout is searchTexts for those who know of other names: with none there are more texts and never fewer. It gives the
// parts, too, which may be as large as the record. Who keeps no text has a skim for them, whose texts are good until it is
// reset; the others have none.
func textsWithout(c session.Codec, e session.Entry, raw []byte, own names, skim *session.Skim, takeAny func(query.Field, string)) ([]session.Part, error) {
	take := func(f query.Field, text string) {
		if text != "" {
			takeAny(f, text)
		}
	}
	switch e.Kind {
	// What these say is in no part, or not all of it.
	case session.KindLabel, session.KindSessionInfo, session.KindCompaction, session.KindModeChange, session.KindTTSRInjection:
		if err := bodyTexts(c, e, raw, take); err != nil {
			return nil, err
		}
	}
	parts, err := partsFor(c, e, raw, skim)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if _, unknown := p.(session.OpaquePart); unknown {
			own[len(own)-1] = strings.Trim(c.Time(raw).Text, `"`)
		}
		partTexts(p, fieldOf(e.Role), own, raw, skim, take)
	}
	return parts, nil
}

// partsFor gives the parts of an entry, in skim where there is one.
func partsFor(c session.Codec, e session.Entry, raw []byte, skim *session.Skim) ([]session.Part, error) {
	if skimmer, ok := c.EntryCodec.(session.Skimmer); ok && skim != nil {
		err := skimmer.Skim(e, raw, skim)
		return skim.Parts, err
	}
	return c.Parts(e, raw)
}

// mayHold says whether an entry may have texts of some of these fields. What users and assistants say is in their own entries
// alone; the rest may be in any.
func mayHold(e session.Entry, fields query.Field) bool {
	const own = query.FieldUser | query.FieldAssistant
	return fields == 0 || fields&^own != 0 || fields&fieldOf(e.Role) != 0
}

// fieldOf says which field the words of a role are.
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

// bodyTexts gives the texts of entries that have no parts, or more than they.
func bodyTexts(c session.Codec, e session.Entry, raw []byte, take func(query.Field, string)) error {
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

func partTexts(p session.Part, field query.Field, own names, raw []byte, skim *session.Skim, take func(query.Field, string)) {
	switch p := p.(type) {
	case session.Text:
		take(field, p.Text)
	case session.Thinking:
		take(query.FieldThinking, p.Text)
	case session.ToolCall:
		// Calls that treeline makes up, of what a user ran, have no id; nor have those of some odd logs.
		if p.ID != "" || spells(raw, p.Name) {
			take(query.FieldTool, p.Name)
		}
		// With keys: people look for the name of an argument.
		jsonTexts(p.Arguments, true, 0, skim, func(s string) { take(query.FieldTool, s) })
	case session.ToolResult:
		for _, inner := range p.Parts {
			partTexts(inner, query.FieldTool, own, raw, skim, take)
		}
	case session.OpaquePart:
		// Of what nobody knows the keys say nothing, nor does what makes it an entry.
		jsonTexts(p.JSON, false, 0, skim, func(s string) {
			if !slices.Contains(own[:], s) {
				take(field, s)
			}
		})
	}
}

// spells says whether a text is a string of a record. Most are spelled as we would do it; only where an escape is that we
// would not write are the strings decoded.
func spells(raw []byte, text string) bool {
	if bytes.Contains(raw, rawjson.Quote(text)) {
		return true
	}
	found := false
	if bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\/`)) {
		jsonTexts(raw, true, 0, nil, func(s string) { found = found || s == text })
	}
	return found
}

// jsonTexts gives the strings in a value, with its keys if they are wanted: what people see when they look at it. Numbers are
// texts, too, as they are spelled. What holds data and no words is left out.
func jsonTexts(value []byte, keys bool, depth int, skim *session.Skim, take func(string)) {
	// Deeper than people nest; hostile records do it by the million.
	const deepest = 64
	switch {
	case depth > deepest:
	case rawjson.IsString(value):
		if s, ok := skim.Text(value); ok && !isData(s) {
			take(s)
		}
	case rawjson.IsArray(value):
		for v := range rawjson.Elements(value) {
			jsonTexts(v, keys, depth+1, skim, take)
		}
	case rawjson.IsObject(value):
		for key, v := range rawjson.Members(value) {
			k := skim.Plain(key)
			if isDataKey(k) {
				continue
			}
			if keys {
				take(k)
			}
			jsonTexts(v, keys, depth+1, skim, take)
		}
	default:
		if s := skim.Plain(bytes.TrimSpace(value)); s != "null" { // which says that nothing is there
			take(s)
		}
	}
}

// isDataKey tells the members that hold what nobody reads: signatures, and what a provider encrypted.
func isDataKey(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "signature") || strings.HasPrefix(key, "encrypted")
}

// isData tells a string that holds bytes: an address with its content, or a long text of the alphabet of base64 alone.
func isData(s string) bool {
	const shortest = 256
	// The media type stands before it, and is short.
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
