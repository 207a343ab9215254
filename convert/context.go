package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"time"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// context returns what the model sees at an entry, without thinking: a signature of another agent is not valid. Messages in which an agent
// tells the model about itself are left out, because the other agent makes its own.
func (s *script) context(at session.EntryID) ([]casting.Atom, error) {
	// Messages that are made from a path already have the form that is sent. Without LLM, what else they say, such as that a call failed,
	// is not lost.
	c, err := session.BuildContext(s.tree, at, session.ContextOptions{LLM: !s.tree.Replayed(), Resolve: s.resolve, Restore: func(e session.Entry, record []byte) []byte {
		if whole, err := s.whole(e); err == nil {
			return whole
		}
		return record
	}})
	if err != nil {
		return nil, err
	}
	failed, err := s.failed(at)
	if err != nil {
		return nil, err
	}
	codec := s.from.Codec()
	models := s.modelsTo(at)
	var list []casting.Atom
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		role := codec.Role(m.JSON)
		if m.Made || role == session.RoleSystem && s.tree.Replayed() {
			continue
		}
		info := s.infoOf(m.Entry, models)
		info.Role = role
		index := -1
		if m.Entry.ID != "" {
			index = m.Entry.Index
		}
		for _, p := range dialect.Spoken(s.parts(m.JSON)) {
			a := casting.Atom{Role: role, Part: p, Entry: index, Info: info}
			switch p := p.(type) {
			case session.Thinking, session.OpaquePart:
				continue
			case session.ToolResult:
				a.Role = session.RoleTool
				p.Parts = dialect.Spoken(p.Parts)
				p.IsError = p.IsError || failed[p.CallID]
				a.Part = p
			case session.ToolCall:
				p.Arguments = dialect.AnyArguments(p.Arguments)
				a.Part = p
			}
			if _, result := p.(session.ToolResult); role == session.RoleTool && !result {
				continue // it answers nothing
			}
			list = append(list, a)
		}
	}
	return list, nil
}

// modelAt is a model that is in use from an entry on.
type modelAt struct {
	from int
	session.ModelRef
}

// modelsOf returns the models that entries name, by the position of the entry, for agents whose answers do not name their model.
func modelsOf(t *session.Tree) map[int]session.ModelRef {
	models := map[int]session.ModelRef{}
	for e := range t.Entries() {
		if e.Kind != session.KindModelChange {
			continue
		}
		body, err := e.Body()
		if m, ok := body.(session.ModelChange); err == nil && ok && m.Role == "default" {
			models[e.Index] = session.ModelRef{Provider: m.Provider, Model: m.ModelID}
		}
	}
	return models
}

// modelsTo returns the models on the path to an entry, in the order of the log.
func (s *script) modelsTo(at session.EntryID) (list []modelAt) {
	path, err := s.tree.Path(at)
	if err != nil || len(s.models) == 0 {
		return nil
	}
	for _, i := range path.Indexes() {
		if m, ok := s.models[int(i)]; ok {
			list = append(list, modelAt{int(i), m})
		}
	}
	sorting.By(list, func(a, b modelAt) int { return cmp.Compare(a.from, b.from) })
	return list
}

// infoOf returns what is known of a message besides its parts. An answer that the program sends is treated as one that did not fail.
func (s *script) infoOf(e session.Entry, models []modelAt) *dialect.NewMessage {
	m := &dialect.NewMessage{Time: s.clock}
	if e.ID == "" {
		return m
	}
	m.Time = s.timeAt(e)
	if k := sort.Search(len(models), func(k int) bool { return models[k].from > e.Index }); k > 0 {
		m.Provider, m.Model = models[k-1].Provider, models[k-1].Model
	}
	body, err := e.Body()
	if err != nil {
		return m
	}
	switch b := body.(type) {
	case session.Message:
		m.Meta, m.Usage = b.Meta, b.Usage
		if b.Model != "" {
			m.Provider, m.Model = b.Provider, b.Model
		}
		if at, ok := b.Time.Time(); ok {
			m.Time = at.Round(time.Microsecond)
		}
		if dialect.StopOf(b.Stop) == dialect.StopLength {
			m.Stop = dialect.StopLength
		}
	case session.Compaction, session.BranchSummary, session.CustomMessage:
		m.Meta = true
	}
	if m.Model != "" && m.Provider == "" {
		m.Provider = dialect.ProviderOf(m.Model)
	}
	return m
}

func hexKey(key [sha256.Size]byte) string { return hex.EncodeToString(key[:16]) }
