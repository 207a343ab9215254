package codex

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// summaryPrefix begins the summaries of the program, which are no turns of the user.
const summaryPrefix = "Another language model started to solve this problem and produced a summary of its thinking process. " +
	"You also have access to the state of the tools that were used by that language model. " +
	"Use this to build on the work that has already been done and avoid duplicating work. " +
	"Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:"

// noSummary is the text of a compaction without one.
const noSummary = "(no summary available)"

// Replay implements session.Replayer: the lines up to the end of the path are replayed in file order, as the program does.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refused != "" {
			return
		}
		history, err := d.replay(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, i := range history {
			if i.unseen == "" && !yield(session.ContextMessage{Entry: i.entry, JSON: i.json}, nil) {
				return
			}
		}
	}
}

// replay gives what the program makes of the lines up to the end of the path, with what it leaves out.
func (d *reader) replay(p session.Path) ([]item, error) {
	t, last := p.Tree(), -1
	var end session.EntryID
	if p.Len() > 0 {
		last, end = p.At(p.Len()-1).Index, p.At(p.Len()-1).ID
	}
	// Where a rollback is the last that moved the leaf, the program reads it, too.
	if k := lastMover(t); k > last && t.At(k).Kind == session.KindLeaf && d.leaves[k] == end {
		last = k
	}
	r := newReplay(t, d)
	if err := r.read(last); err != nil {
		return nil, err
	}
	history := heal(r.history)
	most := limitOf(t, last)
	for k := range history {
		if history[k].unseen == "" {
			history[k].send(most)
		}
	}
	return history, nil
}

// replay is the state of one replay.
type replay struct {
	t       *session.Tree
	lost    map[int]bool
	history []item
	// based: the file goes on from another one.
	based bool
	from  int // the first position that the program reads
	extra int // turns to roll back at the end

	ordinal int64 // the greatest so far
}

func newReplay(t *session.Tree, d *reader) replay {
	return replay{t: t, lost: d.lost, based: d.based, from: d.from}
}

// read replays the lines from the base on.
func (r *replay) read(last int) error {
	begin, err := r.base(last)
	if err != nil {
		return err
	}
	for i := max(begin, r.from); i <= last; i++ {
		if err := r.line(r.t.At(i)); err != nil {
			return err
		}
	}
	r.rollBack(r.extra)
	return nil
}

// base finds the newest compaction with a replacement in a turn that was not rolled back, makes it the history, and gives the
// position after it.
func (r *replay) base(last int) (int, error) {
	if r.based {
		return r.page(last)
	}
	skip := r.extra
	var turn span
	for i := last; i >= r.from; i-- {
		e := r.t.At(i)
		if r.lost[i] || e.Type != typeItem && e.Type != typeEvent && e.Type != typeCompacted && e.Type != typeAgents && e.Type != typeTurnContext {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		payload := rawjson.Get(raw, "payload")
		switch {
		case e.Type == typeEvent && rawjson.Str(payload, "type") == "thread_rolled_back":
			skip += numTurns(payload)
		case e.Type == typeEvent && rawjson.Str(payload, "type") == "task_started":
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

// page gives the position of the last compaction with a replacement. The program reads a file that goes on from another one
// from its end, up to that line.
func (r *replay) page(last int) (int, error) {
	for i := last; i >= r.from; i-- {
		e := r.t.At(i)
		if e.Type != typeCompacted || r.lost[i] {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		if list, ok := replacementOf(rawjson.Get(raw, "payload")); ok && list != nil {
			return i, nil
		}
	}
	return 0, nil
}

// span is what a turn has, collected from its end to its begin. A turn reaches from its task_started to the next one.
type span struct {
	some        bool // it has a line
	id          string
	prompt      bool // a message of the user
	compacted   session.Entry
	replacement []byte // nil without a compaction
}

// begins reports whether a task_started is the one of this turn.
func (s *span) begins(event []byte) bool {
	id := rawjson.Get(event, "turn_id")
	return s.some && rawjson.IsString(id) && (s.id == "" || s.id == rawjson.Str(event, "turn_id"))
}

// name notes the turn that a line belongs to. The last line counts.
func (s *span) name(payload []byte) {
	if s.some = true; s.id == "" {
		s.id = rawjson.Str(payload, "turn_id")
	}
}

// add takes the line before those that it has.
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
		case "task_complete":
			s.name(payload)
		case "turn_aborted":
			if s.some || rawjson.Str(payload, "turn_id") != "" {
				s.name(payload)
			}
		}
	}
}

// settle ends a turn on the way back. Turns that were rolled back take their compactions with them, and so do turns without
// a message of the user between them.
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

// replace makes the items that a compaction leaves the history.
func (r *replay) replace(e session.Entry, list []byte) {
	r.history = nil
	for part := range rawjson.Elements(list) {
		it, ok := itemOf(e, part)
		switch {
		case ok:
		case it.kind == ghost:
			continue
		case it.kind == "message": // of the role system, which lines may not have
		default:
			it.json = []byte(`{"type":"other"}`)
		}
		it.unseen = ""
		r.history = append(r.history, it)
	}
}

// replacementOf gives the history that a compaction leaves; nil where it has none. ok is false for a line that the program
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

// badCompaction says why the program does not read a compaction, or "".
func badCompaction(payload []byte) string {
	list, meta := rawjson.Get(payload, "replacement_history"), rawjson.Get(payload, "replacement_history_metadata")
	switch {
	case !rawjson.IsString(rawjson.Get(payload, "message")):
		return "a compaction without a message"
	case !rawjson.IsNull(list) && !rawjson.IsArray(list):
		return "a compaction whose replacement is not a list"
	case !rawjson.IsNull(meta) && (!rawjson.IsArray(meta) || count(meta) != count(list)):
		return "a compaction whose replacement_history_metadata does not fit its replacement"
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

// line replays one line.
func (r *replay) line(e session.Entry) error {
	switch e.Type {
	case typeItem, typeAgents, typeCompacted, typeEvent:
	default:
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	payload := rawjson.Get(raw, "payload")
	if r.lost[e.Index] {
		if e.Type != typeEvent {
			r.history = append(r.history, item{entry: e, unseen: "a line that Codex skips: " + skipped(raw)})
		}
		return nil
	}
	before := len(r.history)
	switch e.Type {
	case typeItem:
		it, ok := itemOf(e, payload)
		if it.own = true; ok || it.unseen != "" {
			r.history = append(r.history, it)
		}
	case typeAgents:
		r.history = append(r.history, agentItem(e, payload))
	case typeCompacted:
		switch list, ok := replacementOf(payload); {
		case !ok:
			r.history = append(r.history, item{entry: e, unseen: badCompaction(payload)})
		case list == nil:
			r.compact(e, rawjson.Str(payload, "message"))
		case r.based:
			r.replace(e, list)
		}
		return nil
	case typeEvent:
		if rawjson.Str(payload, "type") == "thread_rolled_back" {
			r.rollBack(numTurns(payload))
		}
		return nil
	}
	if n := rawjson.Get(raw, "ordinal"); dialect.IsNumber(n) && len(r.history) > before {
		if at := dialect.Integer(n); at < r.ordinal {
			r.history[before].swapped = true
		} else {
			r.ordinal = at
		}
	}
	return nil
}

// compact leaves the newest messages of the user and a summary.
func (r *replay) compact(e session.Entry, summary string) {
	r.history = slices.DeleteFunc(r.history, func(i item) bool {
		return !i.turn || !i.user || i.unseen != ""
	})
	r.history = keepNewest(r.history)
	if summary == "" {
		summary = noSummary
	}
	r.history = append(r.history, item{entry: e, kind: "message", turn: true, user: true, json: message("user", "input_text", summary)})
}

// rollBack cuts the history before its n-th last turn, with the messages of the program right before it. What stands before
// the first turn stays.
func (r *replay) rollBack(n int) {
	first := slices.IndexFunc(r.history, func(i item) bool { return i.turn && i.unseen == "" })
	cut := len(r.history)
	for k := len(r.history) - 1; k >= 0 && n > 0; k-- {
		if r.history[k].turn && r.history[k].unseen == "" {
			cut = k
			n--
		}
	}
	if cut == len(r.history) {
		return
	}
	for k := cut; k > first && (r.history[k-1].lead || r.history[k-1].unseen != ""); k-- {
		if r.history[k-1].lead {
			cut = k - 1
		}
	}
	r.history = r.history[:cut]
}

// isPrompt reports whether a line is a message of the user.
func isPrompt(record []byte, f *fields) bool {
	if string(f.inner) == "agent_message" {
		return true
	}
	if string(f.inner) != "message" || string(f.role) != "user" {
		return false
	}
	i, ok := itemOf(session.Entry{}, rawjson.Get(record, "payload"))
	return ok && i.turn
}

// contentText joins the texts of a message.
func contentText(m []byte) string {
	var b strings.Builder
	for part := range rawjson.Elements(rawjson.Get(m, "content")) {
		b.WriteString(rawjson.Str(part, "text"))
	}
	return b.String()
}
