package claude

import (
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Advice for each kind of loss.
const (
	adviceKept   = "the log keeps it, and it can be read at its own entry"
	adviceLeaf   = "the log keeps them; a last-prompt line that names the newest of them, written to the end of the log, brings them back"
	adviceParent = "the log keeps all entries; a repair that links the entry to its parent again brings back what is missing"
	adviceSplit  = "a repair puts each record on a line of its own, so that the program reads it"
)

// omissions collects what the program does not show the model at the end of a path.
type omissions struct {
	*shape
	list []session.Problem
	path session.Path
	at   []int32 // entry → its place on the path, from 1; 0 for an entry beside the path
	// begin is the first place that the model sees, after the last compaction.
	begin int32
	leaf  bool // the path leads to the leaf of the log
	steps int  // steps that right and unread took; limited, so that a log of many lost lines takes no quadratic time
}

// Omits implements session.Omitter. A branch that the user left is not a loss.
func (r *reader) Omits(p session.Path) []session.Problem {
	t := p.Tree()
	to, ok := r.end(p)
	if !ok {
		return r.unled(t)
	}
	leaf, ok := t.Leaf()
	o := omissions{shape: r.shapeOf(t, to.Index), path: p, at: make([]int32, t.Len()), leaf: ok && leaf.Index == to.Index}
	if refused, err := r.refuses(p); err != nil || refused {
		o.refused(to)
		return o.list
	}
	for k := range p.Len() {
		e := p.At(k)
		o.at[e.Index] = int32(k) + 1
		if e.Kind == session.KindCompaction {
			o.begin = int32(k) + 2
		}
	}
	if o.leaf {
		o.newer(to)
	}
	o.gaps(int32(to.Index))
	o.rehangs()
	o.seconds(int32(to.Index))
	o.nameless()
	_, dropped, _ := r.turns(p) // reading the messages reports the error
	for _, d := range dropped {
		o.dropped(d)
	}
	sorting.By(o.list, func(a, b session.Problem) int { return int(a.Offset - b.Offset) })
	return slices.CompactFunc(o.list, func(a, b session.Problem) bool { return a.Offset == b.Offset })
}

// unled reports a log that has entries but no leaf.
func (r *reader) unled(t *session.Tree) []session.Problem {
	if _, ok := t.Leaf(); ok || r.shape == nil || r.prompt.anew {
		return nil // the path leads to the place before the first entry
	}
	o := omissions{shape: r.shape}
	for i := range int32(len(o.marks)) {
		if o.live(i) {
			o.add(i, session.ProblemRefused, "the log has no entry of a main conversation: the program finds nothing to resume", adviceKept)
			return o.list
		}
	}
	return nil
}

func (o *omissions) add(i int32, kind session.ProblemKind, message, advice string) {
	e := o.t.At(int(i))
	o.list = append(o.list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: kind, Message: message, Advice: advice})
}

func (o *omissions) unseen(i int32, message, advice string) {
	o.add(i, session.ProblemUnseen, message, advice)
}

// name names an entry for a message.
func (o *omissions) name(i int32) string {
	e := o.t.At(int(i))
	return fmt.Sprintf("entry %q (line %d)", e.ID, e.Line)
}

// refused reports why the program does not resume the session.
func (o *omissions) refused(to session.Entry) {
	switch why := refusal(o.r.refused.Load()); {
	case o.leaf && why == endsInAgent:
		o.add(int32(to.Index), session.ProblemRefused,
			fmt.Sprintf("entries of a sub-agent follow entry %q, where the conversation ends: the program finds no conversation", to.ID),
			"a last-prompt line that names this entry with explicit, written to the end of the log, makes the session usable")
		return
	case o.leaf && why == namesAgent:
		o.add(o.r.prompt.at, session.ProblemRefused,
			fmt.Sprintf("the last-prompt line names entry %q of a sub-agent: the program finds no conversation", o.r.prompt.target),
			"a last-prompt line that names an entry of the main conversation, written to the end of the log, makes the session usable")
		return
	}
	o.add(int32(to.Index), session.ProblemRefused,
		fmt.Sprintf("entry %q, where the conversation ends, has no timestamp that can be read: the program finds no conversation", to.ID),
		"an entry with a timestamp after it makes the session usable")
}

// newer reports messages that the program ignores because its rules choose an earlier leaf.
func (o *omissions) newer(to session.Entry) {
	from, why := int32(-1), ""
	if o.byPrompt {
		from = o.r.prompt.at
		why = fmt.Sprintf("after the last-prompt line (line %d), which names %s", o.t.At(int(from)).Line, o.name(int32(to.Index)))
	}
	below := func(int32) bool { return true }
	if !o.byPrompt {
		why = fmt.Sprintf("below %s, whose timestamp is the newest", o.name(int32(to.Index)))
		below = o.below(int32(to.Index))
	}
	if o.byPrompt && o.passed(int32(to.Index)) {
		return
	}
	first, n := int32(-1), 0
	for i := from + 1; i < int32(len(o.marks)); i++ {
		if o.speaks(i) && o.marks[i].flags&isSide == 0 && o.at[i] == 0 && below(i) {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n > 0 {
		o.unseen(first, fmt.Sprintf("the program ignores this and what follows it, %d %s, %s", n, plural(n, "message"), why), adviceLeaf)
	}
}

// passed reports messages that the program ignores because a parent is missing: only with a bridge is the entry that the
// last-prompt line names on the way to them.
func (o *omissions) passed(named int32) bool {
	if o.written(o.unnamed)[named] {
		return false
	}
	path, _ := o.walk(o.unnamed)
	at := slices.Index(path, named)
	if at < 0 {
		return false
	}
	for k, i := range path[at:] {
		if k > 0 && o.speaks(i) && o.at[i] == 0 {
			o.unseen(i, fmt.Sprintf("the parent of %s is missing, so the program ends with %s, which the last-prompt line names", o.name(i), o.name(named)), adviceParent)
			return true
		}
	}
	return false
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// speaks reports whether the program has an entry and it is a message.
func (s *shape) speaks(i int32) bool { return s.live(i) && s.marks[i].flags&(isUser|isAssistant) != 0 }

// below returns a function that reports whether an entry is a descendant of top.
func (o *omissions) below(top int32) func(int32) bool {
	in := make([]bool, len(o.marks))
	for stack := []int32{top}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for c := o.first[i]; c >= 0; c = o.next[c] {
			if !in[c] && c != top {
				in[c] = true
				stack = append(stack, c)
			}
		}
	}
	return func(i int32) bool { return in[i] }
}

// gaps reports what the model does not see where a parent is missing: the program continues from an entry of nearly the same
// time, or from none.
func (o *omissions) gaps(to int32) {
	_, gaps := o.walk(to)
	for _, g := range gaps {
		if o.at[g.child] < o.begin || slices.Contains(o.kept, g.child) {
			continue // a compaction hides the entry, or keeps it
		}
		right, lost := o.right(g.child)
		unread := o.unread(g.child)
		switch {
		case right < 0 && unread >= 0 && g.to < 0:
			o.unseen(g.child, fmt.Sprintf("the program does not load the parent of %s and forgets what came before it, from %s back", o.name(g.child), o.name(unread)), adviceKept)
		case right < 0 && unread >= 0:
			o.unseen(g.child, fmt.Sprintf("the program does not load the parent of %s and goes on from %s; it should be %s", o.name(g.child), o.name(g.to), o.name(unread)), adviceKept)
		case right == g.to:
		case right >= 0 && g.to < 0:
			o.unseen(g.child, fmt.Sprintf("the program does not find the parent of %s and forgets what came before it, from %s back", o.name(g.child), o.name(right)), adviceParent)
		case right >= 0 && (lost || o.at[right] == 0):
			o.unseen(g.child, fmt.Sprintf("the program does not find the parent of %s and goes on from %s; it should be %s", o.name(g.child), o.name(g.to), o.name(right)), adviceParent)
		}
	}
}

// rehangs reports entries whose parent stands before a compaction. The program shows the messages that it kept instead.
func (o *omissions) rehangs() {
	for _, i := range o.rehung {
		if o.at[i] >= max(o.begin, 1) {
			o.unseen(i, fmt.Sprintf("the parent of %s stands before a compaction that keeps other messages: the program shows these, and not what came before the entry", o.name(i)), adviceKept)
		}
	}
}

// unread returns the nearest ancestor that is a message which the program does not have, or -1. Such a message stands before the last
// compaction of a large file, or after another record on its line.
func (o *omissions) unread(child int32) int32 {
	id := o.t.At(int(child)).Parent
	for most := 100 + 8*o.t.Len(); o.steps < most; o.steps++ {
		e, ok := o.t.Lookup(id)
		if !ok || e.Index == int(child) {
			return -1
		}
		if i := int32(e.Index); o.marks[i].flags&(isUser|isAssistant) != 0 {
			if o.live(i) {
				return -1
			}
			return i
		}
		id = e.Parent
	}
	return -1
}

// right returns the entry that an entry with a missing parent follows, or -1: the nearest ancestor that the program has or, if
// the log lacks the parent, too, the entry before it in the log. lost reports whether the log has the parent.
func (o *omissions) right(child int32) (at int32, lost bool) {
	id := o.t.At(int(child)).Parent
	most := 100 + 8*o.t.Len()
	for ; o.steps < most; o.steps++ {
		e, ok := o.t.Lookup(id)
		if !ok || e.Index == int(child) {
			break
		}
		lost = true
		if i := int32(e.Index); o.live(i) && o.at[i] < o.at[child] {
			return i, true
		}
		if id = e.Parent; id == "" {
			return -1, true
		}
	}
	if lost {
		return -1, true
	}
	for i := child - 1; i >= 0 && o.steps < most; i-- {
		o.steps++
		if o.live(i) && o.marks[i].flags&(isSide|isNameless) == 0 {
			return i, false
		}
	}
	return -1, false
}

// seconds reports messages that stand after another record on their line, if the conversation goes through them or ends
// with them.
func (o *omissions) seconds(to int32) {
	const message = "the program reads only the first record of a line and does not see %s"
	through := map[int32]bool{}
	for k := max(o.begin-1, 0); int(k) < o.path.Len(); k++ {
		for e := o.path.At(int(k)); ; {
			parent, ok := o.t.Lookup(e.Parent)
			if i := int32(parent.Index); !ok || o.marks[i].flags&isSecond == 0 || through[i] {
				break
			}
			through[int32(parent.Index)] = true
			e = parent
		}
	}
	for i := range int32(len(o.marks)) {
		m := o.marks[i].flags
		if m&isSecond == 0 || m&(isUser|isAssistant) == 0 {
			continue
		}
		parent, ok := o.t.Lookup(o.t.At(int(i)).Parent)
		if ok && o.leaf && (int32(parent.Index) == to || through[int32(parent.Index)] && o.marks[parent.Index].flags&isSecond != 0) {
			through[i] = true
		}
		if through[i] {
			o.unseen(i, fmt.Sprintf(message, o.name(i)), adviceSplit)
		}
	}
}

// nameless reports messages without a uuid that follow an entry of the path, which no entry can name as its parent, and those
// that a later message without a uuid replaces.
func (o *omissions) nameless() {
	from := int32(-1) // the position of the compaction
	if o.begin > 1 {
		from = int32(o.path.At(int(o.begin) - 2).Index)
	}
	for i := from + 1; i < int32(len(o.marks)); i++ {
		m, p := o.marks[i].flags, o.parent[i]
		switch {
		case m&isEntry == 0 || m&isNameless == 0 || m&(isUser|isAssistant) == 0 || o.at[i] > 0:
		case !o.live(i):
			o.unseen(i, "the message has no uuid, nor has a later line: the program reads only the last of them", adviceKept)
		case p >= 0 && o.at[p] > 0 && o.at[p]+1 >= o.begin:
			o.unseen(i, "the message has no uuid, and no entry leads to it", adviceKept)
		}
	}
}

// dropped reports a block that the program does not send.
func (o *omissions) dropped(d request.Drop) {
	i := int32(d.At)
	switch d.Why {
	case request.Open:
		o.unseen(i, "no call of the line has a result: the program does not send the line, nor the texts on it", adviceKept)
	case request.Thinking:
		o.unseen(i, "the answer has only thinking: the program does not send it", adviceKept)
	case request.SecondCall:
		o.unseen(i, "an earlier call has the same id: the program does not send this one", adviceKept)
	case request.SecondResult:
		o.unseen(i, "an earlier line, which may belong to an abandoned branch, has a result of the same call: the program sends that one and not this one", adviceKept)
	case request.Server:
		o.unseen(i, "a call of a tool that the provider runs has no result: the program does not send the call", adviceKept)
	case request.Away:
		o.unseen(i, "another answer stands between this result and its call: the program does not send the result, and makes up another one", adviceKept)
	case request.NoCall:
		o.unseen(i, "the model does not see the call that this result answers: the program does not send the result", adviceKept)
	}
}
