package convert

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// View counts what the model sees at the leaf of a session. It excludes messages in which an agent tells the model about itself, since each
// agent makes its own.
type View struct {
	Messages int `json:"messages"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
	Images   int `json:"images"`
	Thinking int `json:"thinking"`
}

// viewOf returns the view at an entry.
func viewOf(s side, at session.EntryID) (v View, err error) {
	d, ok := s.dialect.(dialect.Parter)
	if !ok || at == "" {
		return v, nil
	}
	c, err := session.BuildContext(s.tree, at, session.ContextOptions{LLM: true})
	if err != nil {
		return v, err
	}
	for m, err := range c.Messages() {
		if err != nil {
			return v, err
		}
		if s.dialect.Codec().Role(m.JSON) != session.RoleSystem {
			v.Messages++
			v.count(d.MessageParts(m.JSON))
		}
	}
	return v, nil
}

func (v *View) count(parts []session.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.ToolCall:
			v.Calls++
		case session.ToolResult:
			v.Results++
			v.count(p.Parts)
		case session.Image:
			v.Images++
		case session.Thinking:
			v.Thinking++
		}
	}
}
