package claude

import (
	"iter"

	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Replay implements session.Replayer: it does what the program does before it sends a conversation.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		refused, err := r.refuses(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
		}
		if refused || err != nil {
			return
		}
		turns, _, err := r.turns(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, t := range turns {
			made := t.Entry.ID == "" // the program makes up an answer for a prompt without one
			if !yield(session.ContextMessage{Entry: t.Entry, JSON: t.JSON(), Made: made}, nil) {
				return
			}
		}
	}
}

// turns returns the messages that the program sends, and the blocks that it drops.
func (r *reader) turns(p session.Path) ([]*request.Turn, []request.Drop, error) {
	begin := 0
	for k := p.Len() - 1; k >= 0 && begin == 0; k-- {
		if p.At(k).Kind == session.KindCompaction {
			begin = k + 1
		}
	}
	model, err := lastModel(p, begin)
	if err != nil {
		return nil, nil, err
	}
	var list []*request.Turn
	for k := begin; k < p.Len(); k++ {
		e := p.At(k)
		if e.Kind != session.KindMessage && e.Kind != session.KindCustomMessage {
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, nil, err
		}
		if t := request.Read(e, raw); t != nil {
			list = append(list, t)
		}
	}
	turns, dropped := request.Build(list, model)
	return turns, dropped, nil
}

// lastModel returns the model of the last answer before a place on a path.
func lastModel(p session.Path, end int) (string, error) {
	for k := end - 1; k >= 0; k-- {
		e := p.At(k)
		if e.Type != typeAssistant || e.Kind != session.KindMessage {
			continue
		}
		raw, err := p.Record(e)
		if model := rawjson.Str(rawjson.Get(raw, "message"), "model"); err != nil || model != "" && model != request.Synthetic {
			return model, err
		}
	}
	return "", nil
}

// refuses reports whether the program finds no conversation to resume: the time of the leaf cannot be read, or the
// last-prompt line names an entry of a sub-agent. It reads the record and not the marks, because entries may be added meanwhile.
func (r *reader) refuses(p session.Path) (bool, error) {
	to, ok := r.end(p)
	if !ok {
		return false, nil
	}
	if leaf, ok := p.Tree().Leaf(); ok && leaf.Index == to.Index && r.refused.Load() != uint32(resumes) {
		return true, nil
	}
	switch to.Type {
	case typeUser, typeAssistant, typeSystem, typeAttachment:
		raw, err := to.Raw()
		if err != nil || to.Kind == session.KindOpaque {
			return false, err
		}
		_, ok := millis(rawjson.Get(raw, "timestamp"))
		return !ok, nil
	}
	return false, nil
}

// end returns the entry to which a path was asked for. That is the leaf if it is on the path, otherwise the last entry. Other lines of
// the leaf's answer may follow the leaf on the path.
func (r *reader) end(p session.Path) (session.Entry, bool) {
	n := p.Len()
	if n == 0 {
		return session.Entry{}, false
	}
	last := p.At(n - 1)
	leaf, ok := p.Tree().Leaf()
	if !ok || leaf.Index == last.Index || leaf.Role != session.RoleAssistant && leaf.Role != session.RoleTool {
		return last, true
	}
	// Only lines of the same answer and their results follow the leaf.
	for k := n - 1; k >= 0; k-- {
		switch e := p.At(k); {
		case e.Index == leaf.Index:
			return leaf, true
		case e.Role != session.RoleAssistant && e.Role != session.RoleTool:
			return last, true
		}
	}
	return last, true
}
