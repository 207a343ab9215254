package session

import (
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// state reads thinking level, models, rules and mode from the path. It walks up from the leaf: of what only the last value
// counts, it decodes only that one.
func (c *Context) state(path []int32) error {
	t := c.tree
	s := stateWalk{c: c, rules: t.Rules(), at: map[string]int{}, firstAnswer: -1}
	for k := len(path) - 1; k >= 0; k-- {
		n := t.links[path[k]]
		switch n.kind {
		case KindThinkingLevelChange:
			if s.thinking {
				continue
			}
		case KindModeChange:
			if s.mode {
				continue
			}
		case KindTierChange:
			if s.tier {
				continue
			}
		case KindToolSelection:
			if c.ToolsSelected || !s.rules.ToolSelections {
				continue
			}
		case KindMessage:
			if n.role != RoleAssistant {
				continue
			}
			s.firstAnswer = k
			if s.model || s.rules.ModelByEntry {
				continue
			}
		case KindModelChange:
			if _, ok := s.at["default"]; ok && s.rules.SingleModel {
				continue
			}
		case KindTTSRInjection:
		default:
			continue
		}
		body, err := t.At(int(path[k])).Body()
		if err != nil {
			return err
		}
		s.take(body, k)
	}
	c.Models = s.result()
	c.TTSRRules = unique(s.ttsr)
	return nil
}

// ModelMark is a place in a tree whose default model is known.
type ModelMark struct {
	tree  *Tree
	at    int32
	model ModelRef
}

// DefaultModel returns the default model at an entry, as the context there does. It reads upwards from the entry to the one that names
// the model, or to the mark, and moves the mark: as a path grows, each part of it is read once.
func (t *Tree) DefaultModel(at EntryID, mark *ModelMark) (m ModelRef, err error) {
	to := t.ids.find(t.nodes, at)
	if to < 0 {
		return m, nil
	}
	if _, chosen := t.codec.EntryCodec.(Navigator); chosen || t.cyclic || t.Rules().ExplicitModelWins {
		c, err := BuildContext(t, at, ContextOptions{})
		if err != nil {
			return m, err
		}
		m, _ = c.DefaultModel()
		return m, nil
	}
	s := stateWalk{c: &Context{}, rules: t.Rules(), at: map[string]int{}, firstAnswer: -1}
	for i := to; i >= 0; i = t.links[i].parent {
		if mark.tree == t && mark.at == i {
			m = mark.model
			break
		}
		n := t.links[i]
		if n.kind != KindModelChange && (n.kind != KindMessage || n.role != RoleAssistant || s.rules.ModelByEntry) {
			continue
		}
		body, err := t.At(int(i)).Body()
		if err != nil {
			return m, err
		}
		s.take(body, 0)
		if k, ok := s.at["default"]; ok {
			m = s.roles[k].ModelRef
			break
		}
	}
	*mark = ModelMark{t, to, m}
	return m, nil
}

// stateWalk is what the walk up from the leaf has found so far.
type stateWalk struct {
	c                    *Context
	rules                Rules
	thinking, mode, tier bool
	// model: the default model is known; answers further up do not change it.
	model       bool
	roles       []roleModel // latest first
	at          map[string]int
	answered    ModelRef   // the last model that answered
	firstAnswer int        // position of the first answer on the path
	ttsr        [][]string // latest first
}

// roleModel is the model of a role, and the first position on the path that names the role.
type roleModel struct {
	ModelRef
	first int
}

func (s *stateWalk) take(body Body, at int) {
	switch b := body.(type) {
	case ThinkingLevelChange:
		s.thinking = true
		s.c.ThinkingLevel, s.c.thinking, s.c.configured = b.Level, b.JSON, b.Configured
	case ModeChange:
		s.mode = true
		s.c.Mode, s.c.mode, s.c.ModeData = b.Mode, b.JSON, b.Data
	case TierChange:
		s.tier = true
		s.c.ServiceTier = b.JSON
	case ToolSelection:
		s.c.SelectedTools, s.c.ToolsSelected = b.Tools, true
	case ModelChange:
		if b.JSON == nil {
			return
		}
		m := ModelRef{Role: b.Role, Provider: b.Provider, Model: b.ModelID, Name: b.Model, JSON: b.JSON}
		if s.rules.SingleModel {
			m.Role = "default"
		}
		s.set(m, at)
		s.model = s.model || m.Role == "default"
	case Message:
		if b.ModelJSON == nil {
			return
		}
		s.model = true
		s.answered = ModelRef{Role: "default", Provider: b.Provider, Model: b.Model, JSON: b.ModelJSON}
		if b.Provider != "" && b.Model != "" {
			s.answered.Name = b.Provider + "/" + b.Model
		}
		if !s.rules.ExplicitModelWins {
			s.set(s.answered, at)
		}
	case TTSRInjection:
		s.ttsr = append(s.ttsr, b.Rules)
	}
}

// set gives a role its model, unless a later entry has done so.
func (s *stateWalk) set(m ModelRef, at int) {
	if i, ok := s.at[m.Role]; ok {
		s.roles[i].first = min(s.roles[i].first, at)
		return
	}
	s.at[m.Role] = len(s.roles)
	s.roles = append(s.roles, roleModel{m, at})
}

// result lists the models in the order in which their roles occur on the path.
func (s *stateWalk) result() []ModelRef {
	if s.answered.JSON != nil {
		s.set(s.answered, s.firstAnswer) // with ExplicitModelWins: it counts only where no change names the default model
	}
	if i, ok := s.at["default"]; ok && s.firstAnswer >= 0 {
		s.roles[i].first = min(s.roles[i].first, s.firstAnswer)
	}
	sorting.By(s.roles, func(a, b roleModel) int { return a.first - b.first })
	models := make([]ModelRef, 0, len(s.roles))
	for _, r := range s.roles {
		models = append(models, r.ModelRef)
	}
	return models
}

// unique joins lists, which are given latest first, in path order and without duplicates.
func unique(lists [][]string) []string {
	seen := map[string]bool{}
	rules := []string{}
	for _, list := range slices.Backward(lists) {
		for _, r := range list {
			if !seen[r] {
				seen[r] = true
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// AppendState appends the state of the context as members of a JSON object without the braces: thinkingLevel, models,
// injectedTtsrRules, mode, and model if the agent has only one; configuredThinkingLevel, serviceTier and modeData if set;
// selectedMCPToolNames and hasPersistedMCPToolSelection if the agent selects tools. Values are spelled as the agent's own
// program does, including those of an unexpected type.
func (c *Context) AppendState(dst []byte) []byte {
	for _, m := range []struct {
		key   string
		value Raw
	}{
		{`"thinkingLevel":`, spelled(c.thinking, c.ThinkingLevel)},
		{`"configuredThinkingLevel":`, c.configured},
		{`"serviceTier":`, c.ServiceTier},
	} {
		if m.value != nil {
			dst = append(append(append(dst, m.key...), m.value...), ',')
		}
	}
	rules := c.tree.Rules()
	single := rules.SingleModel
	dst = append(dst, `"models":{`...)
	comma := false
	for _, m := range c.Models {
		value := m.JSON
		if single || value == nil {
			if m.Name == "" {
				continue
			}
			value = rawjson.Quote(m.Name)
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = append(rawjson.AppendString(dst, m.Role), ':')
		dst = append(dst, value...)
	}
	dst = appendTexts(append(dst, `},"injectedTtsrRules":`...), c.TTSRRules)
	if rules.ToolSelections {
		dst = appendTexts(append(dst, `,"selectedMCPToolNames":`...), c.SelectedTools)
		dst = strconv.AppendBool(append(dst, `,"hasPersistedMCPToolSelection":`...), c.ToolsSelected)
	}
	if value := spelled(c.mode, c.Mode); value != nil {
		dst = append(append(dst, `,"mode":`...), value...)
	}
	if c.ModeData != nil {
		dst = append(append(dst, `,"modeData":`...), c.ModeData...)
	}
	if single {
		model := Raw("null")
		if len(c.Models) > 0 {
			model = c.Models[0].JSON
		}
		dst = append(append(dst, `,"model":`...), model...)
	}
	return dst
}

// appendTexts appends a list of strings.
func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, s := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, s)
	}
	return append(dst, ']')
}

// spelled returns the raw value, or else the text quoted; nil if there is neither.
func spelled(value Raw, text string) Raw {
	if value == nil && text != "" {
		return rawjson.Quote(text)
	}
	return value
}
