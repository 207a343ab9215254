package opencode

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The messages of a context are those of package chat. The messages of entries have the form in which the program exports them:
// {"info":{…},"parts":[…]}.

// filePart is a file in a message of a context.
func filePart(p []byte) []byte {
	if mime := rawjson.Str(p, "mime"); strings.HasPrefix(mime, "image/") {
		return chat.Image(rawjson.Str(p, "url"), mime)
	}
	var w dialect.Object
	w.Str("type", "file")
	w.Add("file", p)
	return w.End()
}

// Role says who speaks in a message.
func (d *Format) Role(m []byte) session.Role {
	if info := rawjson.Get(m, "info"); info != nil {
		m = info
	}
	return d.Wire.Role(m)
}

// MessageParts returns what is inside a message in neutral form.
func (d *Format) MessageParts(m []byte) []session.Part {
	if info := rawjson.Get(m, "info"); info != nil {
		return ownParts(rawjson.Elements(rawjson.Get(m, "parts")))
	}
	return chat.Parts(m)
}
