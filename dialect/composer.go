package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Composer is a Writer that makes its own messages from neutral parts: typed appends use it, and sessions of other dialects
// can be converted to it. Its records can carry what it cannot express. A conversion parses the result again and compares: a
// Composer may lose something but must never invent anything.
type Composer interface {
	// Compose gives the message in the dialect's own JSON. There may be several: some agents keep tool results in separate
	// messages. It leaves out parts that the message cannot hold, and fails if the dialect has no such message or nothing is
	// left to say.
	Compose(m NewMessage) ([][]byte, error)
	// Content gives the content of a custom message with these texts and images.
	Content(parts []session.Part) []byte
	Parter
	// SetOrigin gives the record with origin, a JSON object, in a member that the agent ignores.
	SetOrigin(record, origin []byte) []byte
	// Origin gives what SetOrigin stored, or nil. bare is the record without it and without the members that the agent
	// changes with every save.
	Origin(record []byte) (origin, bare []byte)
}

// NewMessage is a message to be composed. If the source message has no time or model, the path provides
// them.
type NewMessage struct {
	// ID is unique to the message, for agents that give messages ids in addition to those of entries.
	ID    string
	Role  session.Role
	Parts []session.Part
	Time  time.Time
	// Meta: the agent inserted it in the user's name.
	Meta bool
	// Command is set for a command that the user ran. Parts then hold what the model sees of it, for agents without such messages.
	Command *Command
	// The remaining fields are for answers.
	Provider, Model string
	Stop            Stop
	Error           string
	Usage           *session.Usage
}

// Failed reports whether the message is an answer that ended in an error or was aborted. Agents keep such answers, even empty ones,
// and show the error.
func (m NewMessage) Failed() bool {
	return m.Role == session.RoleAssistant && (m.Error != "" && m.Stop == "" || m.Stop == StopError || m.Stop == StopAborted)
}

// Command is a command that the user ran without the model.
type Command struct {
	// Tool is "bash" or "python". Code is the command or script that it ran.
	Tool, Code, Output string
	// Exit is the exit code, a number; nil if it is unknown.
	Exit      session.Raw
	Cancelled bool
	// Hidden: the agent never sends it to the model.
	Hidden bool
}

// Stop says why an answer ended.
type Stop string

// The reasons that several agents have in common.
const (
	StopEnd     Stop = "stop"
	StopLength  Stop = "length"
	StopTools   Stop = "tools"
	StopAborted Stop = "aborted"
	StopError   Stop = "error"
	StopFilter  Stop = "filter"
)

// StopOf maps the words of agents and providers to a Stop; "" for an unknown word. Each dialect spells them its own way, and a conversion
// must not turn a failed turn into a good one.
func StopOf(word string) Stop {
	switch word {
	case "stop", "end_turn", "stop_sequence":
		return StopEnd
	case "length", "max_tokens", "max_output_tokens":
		return StopLength
	case "tools", "toolUse", "tool_calls", "tool_use":
		return StopTools
	case "aborted", "abort":
		return StopAborted
	case "error":
		return StopError
	case "filter", "content_filter", "refusal":
		return StopFilter
	}
	return ""
}

// Settle brings what a program gives into the form that a Composer takes: Stop may be a provider's word, and arguments that are not JSON
// become a text. wrong says what looks like a mistake, "" if nothing does: an unknown Stop, which becomes "", or a call without id or name.
func (m *NewMessage) Settle() (wrong string) {
	if m.Stop != "" {
		given := m.Stop
		if m.Stop = StopOf(string(given)); m.Stop == "" {
			wrong = fmt.Sprintf("%.40q is not a known reason for the end of an answer", string(given))
		}
	}
	m.Parts = slices.Clone(m.Parts) // the caller's stay as they are
	for i, p := range m.Parts {
		call, ok := p.(session.ToolCall)
		if !ok {
			continue
		}
		if call.ID == "" || call.Name == "" {
			wrong = fmt.Sprintf("the call of the tool %.80q with the id %.80q lacks one of them", call.Name, call.ID)
		}
		call.Arguments = asJSON(call.Arguments)
		m.Parts[i] = call
	}
	return wrong
}

// Results separates tool results from all other parts.
//
//go:noinline // its copies took 8.8 KB
func Results(parts []session.Part) (others []session.Part, results []session.ToolResult) {
	for _, p := range parts {
		if r, ok := p.(session.ToolResult); ok {
			results = append(results, r)
		} else {
			others = append(others, p)
		}
	}
	return others, results
}

// CallsIn returns the ids of the tool calls among parts; nil if there are none.
func CallsIn(parts []session.Part) (ids map[string]bool) {
	for _, p := range parts {
		if call, ok := p.(session.ToolCall); ok {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[call.ID] = true
		}
	}
	return ids
}

// Prose reduces parts to texts and images, for messages that can hold nothing else: a tool call becomes a text.
// Opaque parts have no text that a model could use and are left out; a conversion keeps them with the record.
func Prose(parts []session.Part) []session.Part {
	var out []session.Part
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text, session.Image:
			out = append(out, p)
		case session.Thinking:
			if strings.TrimSpace(p.Text) != "" { // a signature may stand alone
				out = append(out, session.Text{Text: p.Text})
			}
		case session.ToolCall:
			out = append(out, session.Text{Text: p.Name + " " + string(p.Arguments)})
		case session.ToolResult:
			out = append(out, Prose(p.Parts)...)
		}
	}
	return out
}

// Unlinked turns images that are only an address into texts, also in results, for agents that keep only the bytes of images.
func Unlinked(parts []session.Part) []session.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		switch p := p.(type) {
		case session.Image:
			if p.MIME == "" {
				out[i] = session.Text{Text: p.Data}
			}
		case session.ToolResult:
			p.Parts = Unlinked(p.Parts)
			out[i] = p
		}
	}
	return out
}

// Arguments returns the arguments of a call as an object, for agents that accept nothing else. Any other value becomes its member "input".
func Arguments(value session.Raw) []byte {
	args := rawjson.Compact(value)
	if rawjson.IsObject(args) {
		return args
	}
	var w Object
	if len(args) > 0 && !rawjson.IsNull(args) {
		w.Add("input", args)
	}
	return w.End()
}

// AnyArguments returns the arguments of a call as an object, which every provider wants. Some calls have a text instead, or what is not
// JSON.
func AnyArguments(value session.Raw) session.Raw { return Arguments(asJSON(value)) }

// asJSON returns arguments that are not JSON as a text.
func asJSON(value session.Raw) session.Raw {
	if len(value) > 0 && !rawjson.Valid(value) {
		return rawjson.Quote(string(value))
	}
	return value
}

// ErrSilent is returned for a message that says nothing. Providers refuse such a message.
var ErrSilent = errors.New("the message is empty")

// Speaks reports whether parts hold something that a provider accepts as a message: a text, an image, thinking, a call or a result.
//
//go:noinline // its copies took 6.3 KB
func Speaks(parts []session.Part) bool {
	return slices.ContainsFunc(parts, func(p session.Part) bool {
		switch p := p.(type) {
		case session.Text:
			return strings.TrimSpace(p.Text) != ""
		case session.Thinking:
			return strings.TrimSpace(p.Text) != ""
		case session.OpaquePart:
			return false
		}
		return true
	})
}

// Spoken leaves out texts and thinking without a word.
func Spoken(parts []session.Part) (list []session.Part) {
	for _, part := range parts {
		switch p := part.(type) {
		case session.Text:
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
		case session.Thinking:
			if strings.TrimSpace(p.Text) == "" && p.Signature == "" {
				continue
			}
		}
		list = append(list, part)
	}
	return list
}

// Lost names a kind of part of which a Composer kept fewer than it got, "" if there is none.
func Lost(given, kept []session.Part) string {
	before, after := map[string]int{}, map[string]int{}
	countParts(before, given)
	countParts(after, kept)
	for _, kind := range []string{"text", "thinking", "a tool call", "a tool result", "an image", "an unknown part"} {
		// Joined texts are not lost.
		if after[kind] < before[kind] && (kind != "text" || after[kind] == 0) {
			return kind
		}
	}
	return ""
}

// countParts counts parts by kind.
func countParts(kinds map[string]int, parts []session.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			kinds["text"]++
		case session.Thinking:
			kinds["thinking"]++
		case session.ToolCall:
			kinds["a tool call"]++
		case session.ToolResult:
			kinds["a tool result"]++
			countParts(kinds, p.Parts)
		case session.Image:
			kinds["an image"]++
		default:
			kinds["an unknown part"]++
		}
	}
}

// TextOf joins the texts among parts with newlines.
//
//go:noinline // its copies took 11.4 KB
func TextOf(parts []session.Part) string {
	var out []byte
	for _, p := range parts {
		if t, ok := p.(session.Text); ok {
			if len(out) > 0 {
				out = append(out, '\n')
			}
			out = append(out, t.Text...)
		}
	}
	return string(out)
}

// ComposeEach composes a message with the functions of a dialect: said makes a message of a role from texts and images,
// answer makes a message of the model. The caller handles the tool results. name is the name of the dialect, for errors.
func ComposeEach(m NewMessage, name string, said func(role string, parts []session.Part) []byte, answer func(parts []session.Part) []byte) (list [][]byte, results []session.ToolResult, err error) {
	parts, results := Results(m.Parts)
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		prose := Prose(parts)
		if !Speaks(prose) {
			return nil, nil, ErrSilent
		}
		list = append(list, said(m.Role.String(), prose))
	case session.RoleAssistant:
		if !Speaks(parts) && !m.Failed() {
			return nil, nil, ErrSilent
		}
		list = append(list, answer(parts))
	case session.RoleTool:
		if len(results) == 0 {
			return nil, nil, NoCall(name)
		}
	default:
		return nil, nil, CannotSay(name, m.Role)
	}
	return list, results, nil
}

// ComposeTurn is ComposeEach for an agent that keeps no system messages: each program makes its own.
func ComposeTurn(m NewMessage, name string, said, answer func(parts []session.Part) []byte) (list [][]byte, results []session.ToolResult, err error) {
	if m.Role == session.RoleSystem {
		return nil, nil, CannotSay(name, m.Role)
	}
	return ComposeEach(m, name, func(_ string, parts []session.Part) []byte { return said(parts) }, answer)
}

// StopWord returns an agent's word for why an answer ended. If m does not say why, the word follows from the content.
func StopWord(m NewMessage, words map[Stop]string) string {
	if word := words[m.Stop]; word != "" {
		return word
	}
	if m.Error != "" {
		return words[StopError]
	}
	for _, p := range m.Parts {
		if _, ok := p.(session.ToolCall); ok {
			return words[StopTools]
		}
	}
	return words[StopEnd]
}

// UsageNames are an agent's names for the usage of an answer: input, output, cache read, cache write and total. The name ""
// leaves a member out.
type UsageNames struct{ Tokens, Costs [5]string }

// UsageJSON encodes the usage of an answer with all members, because programs add them up. money spells a cost.
func UsageJSON(u *session.Usage, names UsageNames, money func(float64) []byte) []byte {
	var w, cost Object
	for i, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Total} {
		if names.Tokens[i] != "" {
			w.Add(names.Tokens[i], strconv.AppendInt(nil, n, 10))
		}
	}
	for i, c := range []float64{u.Costs.Input, u.Costs.Output, u.Costs.CacheRead, u.Costs.CacheWrite, u.Cost} {
		cost.Add(names.Costs[i], money(c))
	}
	w.Add("cost", cost.End())
	return w.End()
}

// OriginMember is the member in which most dialects keep an origin.
const OriginMember = "treelineOrigin"

// SetOrigin is Composer.SetOrigin for records that may have members of any name.
func SetOrigin(record, origin []byte) []byte { return rawjson.Set(record, OriginMember, origin) }

// Origin is Composer.Origin for records that SetOrigin changed.
func Origin(record []byte) (origin, bare []byte) {
	if origin = rawjson.Get(record, OriginMember); origin == nil {
		return nil, record
	}
	return origin, rawjson.Delete(record, OriginMember)
}

// MemberOrigin is the part of a Composer that keeps an origin in a member of the record, since the program ignores members that it
// does not know. A dialect embeds it.
type MemberOrigin struct{}

// SetOrigin adds the member.
func (MemberOrigin) SetOrigin(record, origin []byte) []byte { return SetOrigin(record, origin) }

// Origin removes it again.
func (MemberOrigin) Origin(record []byte) (origin, bare []byte) { return Origin(record) }

// ComposingDialect is a WritingDialect that is also a Composer.
type ComposingDialect struct {
	WritingDialect
	Composer
}

// AsComposer returns d as a ComposingDialect; ok is false if no session can be converted to it.
func AsComposer(d Dialect) (c ComposingDialect, ok bool) {
	if c.WritingDialect, ok = AsWriter(d); ok {
		c.Composer, ok = d.(Composer)
	}
	return c, ok
}
