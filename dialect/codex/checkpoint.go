package codex

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// base makes the replacement of the newest compaction that has one, in a turn that was not rolled back, the history. It gives the
// position after that compaction.
func (r *replay) base(last int) (int, error) {
	skip := r.extra
	var turn span
	b := r.d.known()
	for i := last; i >= 0; i-- {
		if i = b.next(i, &turn, skip); i < 0 {
			break
		}
		e := r.t.At(i)
		if r.d.isLost(i) || r.passed(i) || e.Type != typeItem && e.Type != typeEvent && e.Type != typeCompacted && e.Type != typeAgents && e.Type != typeTurnContext {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		payload := rawjson.Get(raw, "payload")
		switch {
		case deep(raw):
		case e.Type == typeEvent && rawjson.Str(payload, "type") == typeLeaf:
			skip += numTurns(payload)
		case e.Type == typeEvent && rawjson.Str(payload, "type") == eventStarted:
			if turn.begins(payload) {
				if begin, ok := r.settle(turn, &skip); ok {
					return begin, nil
				}
				turn = span{}
			}
		default:
			turn.add(e, payload)
		}
	}
	begin, _ := r.settle(turn, &skip)
	return begin, nil
}

// span describes a turn, collected from its end to its beginning. A turn reaches from its task_started to the next one.
type span struct {
	some        bool // the turn has a line
	id          string
	prompt      bool // it has a message of the user
	compacted   session.Entry
	replacement []byte // nil without a compaction that has one
}

// begins reports whether a task_started event begins this turn.
func (s *span) begins(event []byte) bool {
	id := rawjson.Get(event, "turn_id")
	return s.some && rawjson.IsString(id) && (s.id == "" || s.id == rawjson.Str(event, "turn_id"))
}

// name notes the turn that a line names. The last line of the turn counts.
func (s *span) name(payload []byte) {
	if s.some = true; s.id == "" {
		s.id = rawjson.Str(payload, "turn_id")
	}
}

// add takes the line before the lines taken so far.
func (s *span) add(e session.Entry, payload []byte) {
	switch e.Type {
	case typeAgents:
		s.some, s.prompt = true, true
	case typeItem:
		it, ok := itemOf(e, payload)
		s.some, s.prompt = true, s.prompt || ok && it.turn
	case typeCompacted:
		list, ok := replacementOf(payload)
		if s.some = s.some || ok; ok && list != nil && s.replacement == nil {
			s.compacted, s.replacement = e, list
		}
	case typeTurnContext:
		s.name(payload)
	case typeEvent:
		switch rawjson.Str(payload, "type") {
		case "user_message":
			s.some, s.prompt = true, true
		case eventComplete:
			s.name(payload)
		case eventAborted:
			if s.some || rawjson.Str(payload, "turn_id") != "" {
				s.name(payload)
			}
		}
	}
}

// settle ends a turn on the way back. A turn that was rolled back takes its compaction with it, and so do the turns
// without a message of the user between such turns.
func (r *replay) settle(s span, skip *int) (begin int, ok bool) {
	switch {
	case *skip > 0:
		if s.prompt {
			*skip--
		}
		return 0, false
	case s.replacement == nil:
		return 0, false
	}
	r.replace(s.compacted, s.replacement)
	return s.compacted.Index + 1, true
}

// replace makes the items of a compaction's replacement the history.
func (r *replay) replace(e session.Entry, list []byte) {
	r.set(nil)
	for part := range rawjson.Elements(list) {
		it, ok := itemOf(e, part)
		switch {
		case ok:
		case it.kind == ghost:
			continue
		case it.kind == "message": // of the role system, which is not allowed outside a compaction
		default:
			it.json = []byte(`{"type":"other"}`)
		}
		it.unseen = ""
		r.add(it)
	}
}

// replacementOf returns the history in a compaction, nil if it has none. ok is false for a line that the program
// cannot read.
func replacementOf(payload []byte) (list []byte, ok bool) {
	if badCompaction(payload) != "" {
		return nil, false
	}
	if list = rawjson.Get(payload, "replacement_history"); rawjson.IsNull(list) {
		return nil, true
	}
	return list, true
}

// badCompaction returns why the program does not read a compaction, or "".
func badCompaction(payload []byte) string {
	list, meta := rawjson.Get(payload, "replacement_history"), rawjson.Get(payload, "replacement_history_metadata")
	switch {
	case !rawjson.IsString(rawjson.Get(payload, "message")):
		return "a compaction without a message"
	case !rawjson.IsNull(list) && !rawjson.IsArray(list):
		return "a compaction whose replacement is not a list"
	case !rawjson.IsNull(meta) && (!rawjson.IsArray(meta) || !rawjson.IsArray(list) || count(meta) != count(list)):
		return "a compaction whose replacement_history_metadata does not fit its replacement"
	}
	if name := lacks(payload, []need{{"window_number", 'n'}, {"first_window_id", '?'}, {"previous_window_id", '?'}}); name != "" {
		return "a compaction whose " + name + " is not valid"
	}
	if retained := rawjson.Get(payload, "retained_context"); !rawjson.IsNull(retained) && rawjson.Get(retained, "verified_answers") == nil {
		return "a compaction whose retained_context is not valid"
	}
	for m := range rawjson.Elements(meta) {
		if !rawjson.IsObject(m) {
			return "a compaction whose replacement_history_metadata is not valid"
		}
	}
	for part := range rawjson.Elements(list) {
		if kind := rawjson.Str(part, "type"); itemNeeds[kind] != nil {
			if why := missing(kind, part); why != "" {
				return "a compaction with " + why
			}
		}
	}
	return ""
}

func count(list []byte) (n int) {
	for range rawjson.Elements(list) {
		n++
	}
	return n
}
