package pi

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Messages returns what an entry contributes to a context, as the program does. Messages of the log are the bytes of the file if
// nothing has to change; others have the members of the program's objects in their order.
func (d *Dialect) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	switch e.Kind {
	case session.KindMessage:
		m := rawjson.Get(raw, "message")
		if m == nil || rawjson.IsNull(m) {
			return nil, nil
		}
		if d.newer.noRetried && e.Role == session.RoleAssistant && rawjson.Truthy(rawjson.Get(m, "retryRecovery")) {
			return nil, nil
		}
		return [][]byte{d.normal(e.Role, d.migrated(e, m))}, nil
	case session.KindCustomMessage:
		if slices.Contains(d.newer.hidden, rawjson.Str(raw, "customType")) {
			return nil, nil
		}
		return [][]byte{d.customMessage(raw)}, nil
	case session.KindBranchSummary:
		if !rawjson.Truthy(rawjson.Get(raw, "summary")) {
			return nil, nil
		}
		m := object(`"role":"branchSummary"`)
		m.Copy(raw, "summary", "fromId")
		return [][]byte{ended(m, raw)}, nil
	case session.KindCompaction:
		return d.compactionMessages(raw), nil
	}
	return nil, nil
}

// migrated returns a message of an old version in today's form.
func (d *Dialect) migrated(e session.Entry, m []byte) []byte {
	if e.Migrated && rawjson.Str(m, "role") == "hookMessage" {
		return rawjson.Set(m, "role", []byte(`"custom"`))
	}
	return m
}

// normal corrects a message as the programs do when they load it: pi adds a missing content, omp removes what is only valid
// while the provider keeps the conversation.
func (d *Dialect) normal(role session.Role, m []byte) []byte {
	empty := []byte(`[]`)
	switch role {
	case session.RoleAssistant:
		if d.omp {
			return withoutHistory(m)
		}
	case session.RoleUser, session.RoleTool:
	case session.RoleSystem:
		empty = []byte(`""`)
	default:
		return m
	}
	if d.omp || !rawjson.IsNull(rawjson.Get(m, "content")) {
		return m
	}
	return rawjson.Set(m, "content", empty)
}

// withoutHistory removes the provider's own history from an answer, and the signatures that are bound to it. It is not valid
// after a reload.
func withoutHistory(m []byte) []byte {
	const history = "openaiResponsesHistory"
	// \u is searched for because the word may be spelled with escapes
	if !bytes.Contains(m, []byte(history)) && !bytes.Contains(m, []byte(`\u`)) {
		return m // for nearly every message: one search, no parsing
	}
	if rawjson.Str(rawjson.Get(m, "providerPayload"), "type") != history {
		return m
	}
	m = rawjson.Delete(m, "providerPayload")
	content := rawjson.Get(m, "content")
	if !rawjson.IsArray(content) {
		return m
	}
	out := []byte("[")
	for block := range rawjson.Elements(content) {
		if rawjson.Str(block, "type") == "thinking" {
			block = rawjson.Delete(block, "thinkingSignature")
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, block...)
	}
	return rawjson.Set(m, "content", append(out, ']'))
}

func (d *Dialect) customMessage(raw []byte) []byte {
	m := object(`"role":"custom"`)
	m.Copy(raw, "customType")
	if content := rawjson.Get(raw, "content"); !d.omp && rawjson.IsNull(content) {
		m.Add("content", []byte("[]"))
	} else if content != nil {
		m.Add("content", content)
	}
	m.Copy(raw, "display", "details")
	if d.omp {
		m.Copy(raw, "attribution")
	}
	return ended(m, raw)
}

// compactionMessages returns the messages of a compaction. pi puts a system message before the summary if the entry has one.
func (d *Dialect) compactionMessages(raw []byte) [][]byte {
	var list [][]byte
	m := object(`"role":"compactionSummary"`)
	m.Copy(raw, "summary")
	if d.omp {
		m.Copy(raw, "shortSummary")
	} else if system := rawjson.Get(raw, "systemMessage"); rawjson.Truthy(system) {
		list = append(list, system)
	}
	m.Copy(raw, "tokensBefore")
	m.Copy(raw, d.newer.summary...)
	if payload := d.providerHistory(rawjson.Get(raw, "preserveData")); payload != nil {
		m.Add("providerPayload", payload)
	}
	m.Copy(raw, d.newer.details...)
	return append(list, ended(m, raw))
}

// object begins an object with its first member.
func object(first string) dialect.Object { return dialect.Object("{" + first) }

// ended ends a message with the time of its entry in milliseconds, as the programs do.
func ended(w dialect.Object, raw []byte) []byte {
	value := []byte("null")
	if ms, ok := jsMillis(rawjson.Get(raw, "timestamp")); ok {
		value = strconv.AppendInt(nil, ms, 10)
	}
	w.Add("timestamp", value)
	return w.End()
}

// Edit applies a context edit of pi to one message. Roles whose content is always a list get blocks.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	switch role := rawjson.Str(m, "role"); role {
	case "assistant", "toolResult":
		if rawjson.IsString(content) {
			content = block(content)
		}
	case "user", "custom":
	default:
		return m, nil
	}
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// Role says who speaks in a message.
func (d *Dialect) Role(m []byte) session.Role {
	// The programs write the role first, and once, so the usual case needs no walk through the message.
	if rest, ok := bytes.CutPrefix(m, roleFirst); ok {
		if end := bytes.IndexByte(rest, '"'); end > 0 && !bytes.Contains(rest, []byte(`"role"`)) && bytes.IndexByte(rest[:end], '\\') < 0 {
			return roleOf(rest[:end])
		}
	}
	return roleOf(text(rawjson.Get(m, "role")))
}

var roleFirst = []byte(`{"role":"`)

// ToolCalls returns the ids of the calls in an assistant's message.
func (d *Dialect) ToolCalls(m []byte) []string {
	if rawjson.Str(m, "role") != "assistant" {
		return nil
	}
	return dialect.BlockIDs(m, "content", "toolCall")
}

// ToolResults returns the id of the call whose result the message is.
func (d *Dialect) ToolResults(m []byte) []string {
	if rawjson.Str(m, "role") != "toolResult" {
		return nil
	}
	if id := rawjson.Str(m, "toolCallId"); id != "" {
		return []string{id}
	}
	return nil
}

// Failed reports whether the message is a turn that ended in an error or was aborted.
func (d *Dialect) Failed(m []byte) bool {
	if rawjson.Str(m, "role") != "assistant" {
		return false
	}
	stop := rawjson.Str(m, "stopReason")
	return stop == "error" || stop == "aborted"
}

// Strip removes tool calls from an assistant's message. omp 18 keeps an answer that has any block left, and removes
// encrypted thinking.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	if d.newer.keepsThinking {
		left := false
		blocks := rawjson.MapElements(rawjson.Get(m, "content"), func(block []byte) []byte {
			switch typ := rawjson.Str(block, "type"); {
			case typ == "redactedThinking", typ == "toolCall" && drop(rawjson.Str(block, "id")):
				return nil
			case typ == "thinking":
				block = rawjson.Delete(block, "thinkingSignature")
			}
			left = true
			return block
		})
		if !left {
			return nil, nil
		}
		return rawjson.Set(m, "content", blocks), nil
	}
	return dialect.Strip(m, "content", "thinkingSignature", drop, "toolCall"), nil
}
