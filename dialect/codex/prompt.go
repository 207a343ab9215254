package codex

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// isPrompt reports whether an item is a message of the user.
func isPrompt(f *fields) bool {
	if string(f.inner) == "agent_message" {
		return true
	}
	if string(f.inner) != "message" || string(f.role) != "user" {
		return false
	}
	if isPlainPrompt(f.payload) {
		return true
	}
	end, err := rawjson.Skip(f.payload, 0)
	if err != nil {
		return false
	}
	i, ok := itemOf(session.Entry{}, f.payload[:end])
	return ok && i.turn
}

// promptMembers are the members, apart from type and role, that decide whether the program reads a message.
var promptMembers = []string{"content", "id", "phase", "status", "internal_chat_message_metadata_passthrough"}

// plainPrompt is how the simplest prompt begins.
const plainPrompt = `{"type":"message","role":"user","content":[{"type":"input_text","text":"`

// isPlainPrompt reports whether a message of the user is one text and nothing unusual, as almost all are. It reads the
// message once, where itemOf reads it for each of its members. A result of false proves nothing.
func isPlainPrompt(message []byte) bool {
	if text, ok := bytes.CutPrefix(message, []byte(plainPrompt)); ok {
		end := stringEnd(text)
		if bytes.HasPrefix(text[end:], []byte(`"}]}`)) {
			return !mayMark(text) && !halfPair(text[:end])
		}
	}
	var values [5][]byte
	rawjson.Pick(message, promptMembers, values[:])
	content, id, phase, status, metadata := values[0], values[1], values[2], values[3], values[4]
	text, ok := bytes.CutPrefix(content, []byte(`[{"type":"input_text","text":"`))
	if !ok || id != nil && !rawjson.IsString(id) || phase != nil || status != nil || metadata != nil && !isPassed(metadata) || halfPair(message) {
		return false
	}
	return !mayMark(text) && string(text[stringEnd(text):]) == `"}]`
}

// mayMark reports whether a text, in its JSON encoding, may begin with one of promptMarkers. White space before the marker
// is skipped. Escapes and letters outside ASCII count as a possible marker.
func mayMark(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	const enough = 4 // no marker is shorter
	if text = text[:min(len(text), enough)]; len(text) < enough {
		return true
	}
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			return true
		}
	}
	for _, m := range promptMarkers {
		if m.begin[0]|' ' == text[0]|' ' && strings.EqualFold(m.begin[:enough], string(text)) {
			return true
		}
	}
	return false
}

// stringEnd returns the offset of the quote that ends a string, or the length of the text if there is none.
func stringEnd(text []byte) int {
	for at := 0; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return len(text)
		}
		at += n
		slants := 0
		for slants < at && text[at-1-slants] == '\\' {
			slants++
		}
		if slants%2 == 0 {
			return at
		}
	}
}
