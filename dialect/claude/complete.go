package claude

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Framer = (*Dialect)(nil)

// Frame adapts new lines to those of the log, as the program would have written them:
//
//   - They have the version, the git branch and the slug of the last entry.
//   - No line is older than one before it: some versions of the program choose the leaf by time.
//   - A tool result is a child of the line with its call, even if another call or result follows that line.
//   - A compaction names the messages that it keeps.
//   - If the log has last-prompt lines, another one with the new leaf follows. Otherwise the program would go back to the branch
//     that the last of them names.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return func(yield func(dialect.Framed, error) bool) {
		r, ok := t.Codec().EntryCodec.(*reader)
		if !ok {
			yield(dialect.Framed{}, errors.New("the tree is not one of this format"))
			return
		}
		c := completion{r: r, t: t, marked: r.prompt.set}
		var last dialect.Framed // held back, because the line after the last record names the leaf
		for n := range batch {
			if last.Record != nil && !yield(last, nil) {
				return
			}
			at := n.Parent
			if leaf, ok := n.Body.(session.Leaf); ok {
				at = leaf.Target
			}
			if r.forgets(t, at) {
				yield(dialect.Framed{}, fmt.Errorf("going on from entry %q is %w: it stands before the last compaction, and the program does not load it; a copy of that branch can go on", at, dialect.ErrUnsupported))
				return
			}
			last.Record = c.line(n.Record)
			c.note(last.Record)
		}
		if c.marked && c.leaf != "" {
			last.After = [][]byte{lastPrompt(new(t.Header()), c.leaf, false)}
		}
		if last.Record != nil {
			yield(last, nil)
		}
	}
}

// forgets reports whether the program does not have an entry because it stands before the last compaction.
func (r *reader) forgets(t *session.Tree, id session.EntryID) bool {
	e, ok := t.Lookup(id)
	if !ok || !r.kept.set || int32(e.Index) >= r.kept.boundary || r.marks[e.Index].flags&isEntry == 0 {
		return false
	}
	s := r.shape
	if s == nil || s.t != t || len(s.marks) != t.Len() {
		s, _, _ = r.lead(t)
	}
	return s.skipped && s.dead[e.Index]
}

// completion is the state of one Frame.
type completion struct {
	r *reader
	t *session.Tree
	// These describe the earlier lines of the same write. prompt is the id of the last prompt, nil if there is none. calls has the uuids
	// of the lines with calls since then, by call id. Without a prompt, below has the entry of the log above each line, by uuid.
	prompt []byte
	calls  map[string][]byte
	below  map[string]string
	marked bool // a last-prompt line is in effect
	leaf   session.EntryID
	latest int64 // time of the newest line
	last   []byte
	looked bool
}

// line completes one line.
func (c *completion) line(record []byte) []byte {
	typ := rawjson.Str(record, "type")
	if typ == typeLastPrompt {
		c.marked, c.leaf = true, ""
	}
	if !entryType(typ) {
		return record
	}
	c.look()
	for _, m := range []struct{ key, made string }{{"version", programVersion}, {"gitBranch", noBranch}, {"entrypoint", "cli"}, {"slug", ""}} {
		if rawjson.Str(record, m.key) != m.made {
			continue
		}
		if v := rawjson.Get(c.last, m.key); rawjson.IsString(v) && !bytes.Equal(v, rawjson.Get(record, m.key)) {
			record = rawjson.Set(record, m.key, v)
		}
	}
	at, ok := c.r.Time(record).Millis()
	if ok && at < c.latest {
		record = rawjson.Set(record, "timestamp", dialect.ISO(time.UnixMilli(c.latest)))
	}
	c.latest = max(c.latest, at)
	switch {
	case rawjson.Str(record, "subtype") == subtypeBoundary:
		record = c.kept(record)
		c.marked = false // a compaction voids the last-prompt lines before it
	case typ == typeUser && hasResult(rawjson.Get(rawjson.Get(record, "message"), "content")):
		record = c.result(record)
	}
	c.leaf = session.EntryID(rawjson.Str(record, "uuid"))
	return record
}

// look finds the last entry of the log and the time of the newest entry.
func (c *completion) look() {
	if c.looked {
		return
	}
	c.looked = true
	r := c.r
	for ; r.timed < len(r.marks); r.timed++ {
		r.newestAt = max(r.newestAt, r.marks[r.timed].at)
	}
	c.latest = r.newestAt
	for i := len(r.marks) - 1; i >= 0; i-- {
		if m := r.marks[i]; m.flags&isEntry != 0 && m.flags&isSide == 0 {
			c.last, _ = c.t.At(i).Raw() // on an error the line only has fewer members
			break
		}
	}
}

// result makes a tool result a child of the line with its call.
func (c *completion) result(record []byte) []byte {
	ids := slices.DeleteFunc(Claude.ToolResults(rawjson.Get(record, "message")), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return record
	}
	call, prompt := c.call(ids[0], rawjson.Str(record, "parentUuid"))
	if call != nil {
		record = rawjson.Set(record, "parentUuid", call)
		record = rawjson.Set(record, "sourceToolAssistantUUID", call)
	}
	if prompt != nil && rawjson.Get(record, "promptId") == nil {
		record = rawjson.Set(record, "promptId", prompt)
	}
	return record
}

// note keeps what later results of the same write need to know about a line.
func (c *completion) note(record []byte) {
	typ := rawjson.Str(record, "type")
	if !entryType(typ) {
		return
	}
	message := rawjson.Get(record, "message")
	if id := rawjson.Get(record, "promptId"); id != nil && !hasResult(rawjson.Get(message, "content")) {
		c.prompt, c.calls, c.below = bytes.Clone(id), nil, nil // results need nothing from before a prompt
		return
	}
	if typ == typeAssistant {
		uuid := bytes.Clone(rawjson.Get(record, "uuid"))
		for _, id := range dialect.BlockIDs(message, "content", blocks.TypeCall) {
			if c.calls == nil {
				c.calls = map[string][]byte{}
			}
			c.calls[id] = uuid
		}
	}
	if c.prompt == nil {
		if c.below == nil {
			c.below = map[string]string{}
		}
		c.below[rawjson.Str(record, "uuid")] = c.inLog(rawjson.Str(record, "parentUuid"))
	}
}

// inLog returns the entry of the log above a line of the same write, and any other id unchanged.
func (c *completion) inLog(id string) string {
	if above, ok := c.below[id]; ok {
		return above
	}
	return id
}

// call returns the uuid of the line with a call, and the id of the prompt that it belongs to. It looks back from the end of
// the log to that prompt, and only at lines of answers on the branch of after.
func (c *completion) call(id, after string) (uuid, prompt []byte) {
	uuid = c.calls[id]
	if c.prompt != nil {
		return uuid, c.prompt
	}
	after = c.inLog(after)
	r := c.r
	answers := map[int32]bool{}
	from, ok := c.t.Lookup(session.EntryID(after))
	top := len(r.marks)
	for steps := 0; ok && steps < len(r.marks); steps++ {
		top = from.Index
		if m := r.marks[top]; m.message >= 0 {
			answers[m.message] = true
		} else if m.flags&isUser != 0 && m.flags&isResult == 0 {
			break
		}
		from, ok = c.t.Lookup(from.Parent)
	}
	for i := len(r.marks) - 1; i >= top && uuid == nil; i-- {
		if m := r.marks[i]; m.message < 0 || !answers[m.message] {
			continue
		}
		raw, err := c.t.At(i).Raw()
		if err != nil {
			return nil, nil
		}
		if slices.Contains(dialect.BlockIDs(rawjson.Get(raw, "message"), "content", blocks.TypeCall), id) {
			uuid = rawjson.Get(raw, "uuid")
		}
	}
	if top < len(r.marks) {
		raw, _ := c.t.At(top).Raw() // on an error the line only has fewer members
		prompt = rawjson.Get(raw, "promptId")
	}
	return uuid, prompt
}

// kept lists the messages that a compaction keeps. The segment from the first to the last would miss results beside the path.
func (c *completion) kept(record []byte) []byte {
	metadata := rawjson.Get(record, "compactMetadata")
	segment := rawjson.Get(metadata, "preservedSegment")
	if !rawjson.IsObject(segment) || rawjson.Get(metadata, "preservedMessages") != nil {
		return record
	}
	tail, ok := c.t.Lookup(session.EntryID(rawjson.Str(segment, "tailUuid")))
	if !ok {
		return record
	}
	head := session.EntryID(rawjson.Str(segment, "headUuid"))
	var ids [][]byte
	kept := false
	for _, i := range c.r.Path(c.t, tail.Index) {
		e := c.t.At(i)
		kept = kept || e.ID == head
		if kept && c.r.marks[i].flags&isEntry != 0 {
			ids = append(ids, rawjson.Quote(string(e.ID)))
		}
	}
	if ids == nil {
		return record
	}
	var w dialect.Object
	w.Copy(segment, "anchorUuid")
	w.Add("uuids", dialect.Array(ids))
	w.Add("allUuids", dialect.Array(ids))
	return rawjson.Set(record, "compactMetadata", rawjson.Set(metadata, "preservedMessages", w.End()))
}
