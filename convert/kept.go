package convert

import (
	"slices"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// restored is what a script knows of restored records.
type restored struct {
	casting.Restored
	sheet pile.Sheet
	tree  *session.Tree // the records as a session of the target
}

// restoredCalls finds the calls in the restored stretches of a path that are followed by others.
func (s *script) restoredCalls(path session.Path, parts []stretch) error {
	s.restored.IDs, s.restored.Open = map[string]string{}, make([][]session.ToolCall, len(parts))
	for k, part := range parts[:len(parts)-1] {
		tip := s.tipOn(path, part)
		if !part.restored || tip == "" {
			continue
		}
		if err := s.readRestored(); err != nil {
			return err
		}
		if _, ok := s.restored.tree.Lookup(tip); !ok {
			continue
		}
		c, err := session.BuildContext(s.restored.tree, tip, session.ContextOptions{LLM: true})
		if err != nil {
			return err
		}
		if err := s.readCalls(k+1, c); err != nil {
			return err
		}
	}
	return nil
}

// readCalls notes the calls in what the model sees at the end of restored records, and those of the last answer that have no result. These
// wait for one at the beginning of a stretch.
func (s *script) readCalls(stretch int, seen *session.Context) error {
	// The source names the calls as the conversion to it did, which numbered them in this order.
	name := casting.Namer(s.from)
	var open []session.ToolCall // of the last answer with calls
	answered := map[string]bool{}
	answering := false
	for m, err := range seen.Messages() {
		if err != nil {
			return err
		}
		others, results := dialect.Results(messageParts(s.to.Dialect, m.JSON))
		asks := s.to.Dialect.Codec().Role(m.JSON) == session.RoleAssistant
		if asks && !answering || slices.ContainsFunc(dialect.Spoken(others), isProse) { // otherwise calls in a row are of one answer
			open = nil // a result after it would not directly follow its call
			clear(answered)
		}
		answering = asks
		for _, p := range others {
			if call, ok := p.(session.ToolCall); ok && asks && call.ID != "" {
				s.restored.IDs[name(call.ID)] = call.ID
				open = append(open, call)
			}
		}
		for _, r := range results {
			answered[r.CallID] = true
		}
	}
	s.restored.Open[stretch] = slices.DeleteFunc(open, func(call session.ToolCall) bool { return answered[call.ID] })
	return nil
}

func isProse(p session.Part) bool {
	switch p.(type) {
	case session.Text, session.Image:
		return true
	}
	return false
}

// tipOn returns the last entry of the old session on a restored stretch.
func (s *script) tipOn(path session.Path, part stretch) session.EntryID {
	for k := part.to; k >= part.from; k-- {
		if o := s.origins[path.At(k).Index]; o != nil {
			return o.Tip
		}
	}
	return ""
}

// readRestored reads all that can be restored as a session of the target, once.
func (s *script) readRestored() (err error) {
	if s.restored.tree != nil {
		return nil
	}
	var all []*passage
	var last *origin.Found
	for _, o := range s.origins {
		if o != nil && o != last {
			all = append(all, &passage{restored: true, records: s.copies(o.Spans), at: o.At})
		}
		last = o
	}
	s.restored.tree, err = s.readAs(&s.restored.sheet, all)
	return err
}
