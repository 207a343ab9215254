package codex

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// summaryPrefix begins the summaries of the program, which are not turns of the user.
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

// replay returns the items that the program makes of the lines up to the end of the path, including those that it drops.
func (d *reader) replay(p session.Path) ([]item, error) {
	t, last := p.Tree(), -1
	var end session.EntryID
	if p.Len() > 0 {
		last, end = p.At(p.Len()-1).Index, p.At(p.Len()-1).ID
	}
	// If the last line that moved the leaf is a rollback to this path, the program reads it, too.
	if k := lastMover(t); k > last && t.At(k).Kind == session.KindLeaf && d.leafAt(k) == end {
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
	d       *reader
	history []item
	turns   []turn // the turns in history
	lead    int    // the first message of the program that would belong to a turn that begins next, or -1
	own     int    // the first position after the base file's entries
	from    int    // the first own position that the program reads
	extra   int    // turns to roll back at the end
	begin   int    // the position after the compaction whose replacement is the base

	ordinal int64 // the greatest ordinal so far
}

func newReplay(t *session.Tree, d *reader) replay {
	return replay{t: t, d: d, lead: -1, own: d.own, from: d.from}
}

// read replays the lines from the base on.
func (r *replay) read(last int) error {
	begin, err := r.base(last)
	if err != nil {
		return err
	}
	r.begin = begin
	for i := r.resume(last); i <= last; i++ {
		if r.passed(i) {
			continue
		}
		if err := r.line(r.t.At(i)); err != nil {
			return err
		}
	}
	r.rollBack(r.extra)
	return nil
}

// passed reports whether the program does not read a line because a later line is a header, too.
func (r *replay) passed(i int) bool { return r.own <= i && i < r.from }

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
	if r.d.isLost(e.Index) || deep(raw) {
		if e.Type != typeEvent {
			r.add(item{entry: e, unseen: "a line that Codex skips: " + skipped(raw)})
		}
		return nil
	}
	before := len(r.history)
	switch e.Type {
	case typeItem:
		it, ok := itemOf(e, payload)
		if it.own = true; ok || it.unseen != "" {
			r.add(it)
		}
	case typeAgents:
		it := agentItem(e, payload)
		it.own = true
		r.add(it)
	case typeCompacted:
		switch list, ok := replacementOf(payload); {
		case !ok:
			r.add(item{entry: e, unseen: badCompaction(payload)})
		case list == nil:
			r.compact(e, rawjson.Str(payload, "message"))
		}
		return nil
	case typeEvent:
		if rawjson.Str(payload, "type") == typeLeaf {
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
		// A message with a summary in another place than at its beginning stays.
		other := !i.turn && !(i.summary && !strings.HasPrefix(contentText(i.json), summaryPrefix+"\n"))
		return other || !i.user || i.unseen != ""
	})
	r.set(keepNewest(r.history))
	if summary == "" {
		summary = noSummary
	}
	r.add(item{entry: e, kind: "message", turn: true, user: true, json: said("user", dialect.Array([][]byte{inputText(summary)}))})
	r.d.keep(r, e.Index+1)
}

// turn is the index in the history where a turn of the user begins, and that of the first of the program's messages right before it, or -1.
type turn struct{ at, lead int }

// add appends an item to the history.
func (r *replay) add(i item) {
	at := len(r.history)
	r.history = append(r.history, i)
	switch {
	case i.turn && i.unseen == "":
		r.turns = append(r.turns, turn{at, r.lead})
		r.lead = -1
	case i.lead && r.lead < 0:
		r.lead = at
	case !i.lead && i.unseen == "":
		r.lead = -1
	}
}

// set makes a list the history.
func (r *replay) set(list []item) {
	r.history, r.turns, r.lead = make([]item, 0, len(list)+1), nil, -1
	for _, i := range list {
		r.add(i)
	}
}

// rollBack cuts the history before its n-th last turn and the messages of the program right before that turn. What stands before
// the first turn stays.
func (r *replay) rollBack(n int) {
	k := max(len(r.turns)-n, 0)
	if k == len(r.turns) {
		return
	}
	cut := r.turns[k]
	if r.turns, r.lead = r.turns[:k], -1; k == 0 {
		r.lead = cut.lead
	} else if cut.lead >= 0 {
		cut.at = cut.lead
	}
	r.history = r.history[:cut.at]
}

// contentText joins the texts of a message.
func contentText(m []byte) string {
	var b strings.Builder
	for part := range rawjson.Elements(rawjson.Get(m, "content")) {
		b.WriteString(rawjson.Str(part, "text"))
	}
	return b.String()
}
