package transcript

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// Who names the speaker of a block in cleaned text on one line. In the session of a sub-agent (isTask), the user is another agent.
func (b *Block) Who(isTask bool) string {
	switch {
	case b.Role == session.RoleUser && isTask:
		return "Calling agent"
	case b.Meta && b.Role == session.RoleUser:
		return "Agent, as the user"
	case b.Role == session.RoleUser:
		return "You"
	case b.Role == session.RoleAssistant:
		return "Assistant"
	case b.Role == session.RoleSystem:
		return "System"
	case b.Role == session.RoleTool:
		return "Tool"
	case b.Speaker == "summary":
		return "Summary"
	case b.Speaker != "" && b.Speaker != session.RoleOther.String():
		return screen.OneLine(b.Speaker, 40)
	}
	return screen.OneLine(b.Native, 40)
}

// Follows reports whether a block needs no speaker's name after the block before it: the model goes on, or a result follows the message
// with its call.
func (b *Block) Follows(before *Block) bool {
	if b.Fork != nil || before.Kind != b.Kind {
		return false
	}
	if before.Role == session.RoleAssistant && b.Role == before.Role {
		return true
	}
	for _, p := range b.Pieces {
		t, ok := p.(Tools)
		if !ok || slices.ContainsFunc(t.Calls, func(t Tool) bool { return t.Call != "" || !t.Answered }) {
			return false
		}
	}
	return len(b.Pieces) > 0 && (before.Role == session.RoleAssistant || before.Role == session.RoleTool)
}

// longPreamble is the length from which a preamble is worth folding.
const longPreamble = 240

// Preamble returns the text that the agent or its program wrote itself, if it is long enough to be folded; otherwise "".
func (b *Block) Preamble() string {
	if !b.Meta && b.Role != session.RoleSystem {
		return ""
	}
	var all strings.Builder
	for _, p := range b.Pieces {
		if t, ok := p.(Text); ok {
			all.WriteString(t.Text + "\n")
		}
	}
	if all.Len() < longPreamble {
		return ""
	}
	return all.String()
}

// String describes a picture in cleaned text on one line: its type and its size.
func (p Image) String() string {
	text := "image"
	if p.MIME != "" {
		text = screen.OneLine(p.MIME, 40)
	}
	switch {
	case p.Size >= 0:
		text += ", " + wire.Size(p.Size)
	case p.Blob:
		text += ", its blob is missing"
	}
	return text
}
