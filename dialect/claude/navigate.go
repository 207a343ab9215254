package claude

import (
	"sync/atomic"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// reader is the codec of one log: it knows leaf and path.
type reader struct {
	entries
	marks   []mark // as many as entries
	begun   bool   // an entry was seen
	agent   bool   // all entries so far belong to a sub-agent
	prompt  prompt
	kept    segment
	shape   *shape        // computed for the entries that Leaf saw
	refused atomic.Uint32 // a refusal: why the program finds no conversation at the leaf
	// newestAt is the greatest time among the first timed entries, of which timed is the number.
	newestAt int64
	timed    int
	tip      tip
}

// refusal says why the program finds no conversation at the leaf.
type refusal uint32

const (
	resumes     refusal = iota
	namesAgent          // the last-prompt line names an entry of a sub-agent
	endsInAgent         // the conversation ends with entries of a sub-agent
)

// mark is what is needed of an entry to find leaf and path.
type mark struct {
	at      int64 // milliseconds since 1970, or noTime
	message int32 // position of the first line of the answer that the line is a piece of, or -1
	flags   flags
}

type flags uint16

const (
	isEntry     flags = 1 << iota // the program reads it as an entry
	isUser                        // type "user"
	isAssistant                   // type "assistant"
	isNote                        // type "system" or "attachment"
	isResult                      // a user line with a tool result
	isSide                        // of a sub-agent
	isBoundary                    // a compaction
	isProgress                    // a progress line
	isNameless                    // without a uuid, or with an empty one
	isOdd                         // a message whose content is neither a text nor a list: no bridge leads to it
	isSecond                      // after another record on its line
	isUnnamed                     // without a uuid
)

// prompt is a last-prompt line.
type prompt struct {
	target   session.EntryID
	explicit bool
	anew     bool  // it explicitly names no entry: the conversation starts afresh
	at       int32 // position of the line
	set      bool
}

// segment is what the last compaction keeps of the messages before it.
type segment struct {
	boundary   int32 // position of the compaction, if set
	set        bool
	again      bool // an earlier compaction keeps messages
	anchor     session.EntryID
	uuids      []session.EntryID // in order; if present, head and tail are ignored
	head, tail session.EntryID
}

// keep notes a compaction and what it keeps. A compaction voids the last-prompt lines before it.
func (r *reader) keep(at int32, metadata []byte) {
	r.prompt = prompt{}
	before := r.kept
	r.kept = segment{boundary: at, set: true, again: before.again || len(before.uuids) > 0 || before.head != ""}
	if list := rawjson.Get(metadata, "preservedMessages"); rawjson.IsArray(rawjson.Get(list, "uuids")) {
		r.kept.anchor = session.EntryID(rawjson.Str(list, "anchorUuid"))
		for id := range rawjson.Elements(rawjson.Get(list, "uuids")) {
			if s, ok := rawjson.Unquote(id); ok {
				r.kept.uuids = append(r.kept.uuids, session.EntryID(s))
			}
		}
		return
	}
	s := rawjson.Get(metadata, "preservedSegment")
	r.kept.anchor = session.EntryID(rawjson.Str(s, "anchorUuid"))
	r.kept.head, r.kept.tail = session.EntryID(rawjson.Str(s, "headUuid")), session.EntryID(rawjson.Str(s, "tailUuid"))
}

// Leaf implements session.Navigator.
//
// The leaf is the newest entry below the last line of the conversation, unless the last last-prompt line names another branch,
// or explicitly names an entry and no entry follows that line.
func (r *reader) Leaf(t *session.Tree, _ int) int {
	if leaf, ok := r.grown(t); ok {
		return int(leaf)
	}
	s, leaf, refused := r.lead(t)
	r.shape = s
	r.refused.Store(uint32(refused))
	r.note(s, leaf)
	return int(leaf)
}

// lead finds the leaf; it is -1 if there is none. refused says why the program finds no conversation at the leaf.
func (r *reader) lead(t *session.Tree) (s *shape, leaf int32, refused refusal) {
	s = newShape(r, t, true)
	last := s.lastEntry(isSide)
	if last < 0 {
		return s, -1, resumes
	}
	leaf = s.newest(last)
	if !s.talks(leaf) {
		if said := s.latest(); said >= 0 {
			leaf = s.newest(said)
		}
	}
	s.unnamed = leaf
	if s.anew(last) {
		return s, -1, resumes
	}
	named := s.named(leaf)
	switch {
	case named >= 0 && s.marks[named].flags&isSide != 0:
		return s, leaf, namesAgent
	case named >= 0:
		leaf, s.byPrompt = named, true
	case s.again && s.becameAgents(last) || len(s.kept) > 0 && !s.ends():
		return s, leaf, endsInAgent
	}
	return s, leaf, resumes
}

// becameAgents reports whether the last line of the conversation was written again as one of a sub-agent. last is the last
// line that is still the conversation's.
func (s *shape) becameAgents(last int32) bool {
	for i := int32(len(s.marks)) - 1; i > last; i-- {
		if m := s.marks[i].flags; m&isEntry == 0 || m&(isSide|isNameless) != 0 {
			continue
		}
		now, ok := s.t.Lookup(s.t.At(int(i)).ID)
		return ok && s.marks[now.Index].flags&isSide != 0
	}
	return false
}

// ends reports whether the conversation has a message without a message below it. The program looks for such a message if a
// compaction keeps messages.
func (s *shape) ends() bool {
	for i := range int32(len(s.marks)) {
		if !s.speaks(i) || s.marks[i].flags&(isSide|isNameless) != 0 {
			continue
		}
		c := s.first[i]
		for c >= 0 && s.marks[c].flags&(isUser|isAssistant) == 0 {
			c = s.next[c]
		}
		if c < 0 {
			return true
		}
	}
	return false
}

// anew reports whether the last-prompt line makes the conversation start afresh. last is the last entry.
func (s *shape) anew(last int32) bool { return s.r.prompt.anew && last < s.r.prompt.at }

// named returns the entry that the last last-prompt line makes the leaf, or -1. leaf is the leaf without that line.
func (s *shape) named(leaf int32) int32 {
	p := s.r.prompt
	if !p.set {
		return -1
	}
	e, ok := s.t.Lookup(p.target)
	if !ok || !s.live(int32(e.Index)) || !s.talks(int32(e.Index)) {
		return -1
	}
	at := int32(e.Index)
	path := s.written(leaf)
	on := path[at]
	switch {
	case on:
		if !p.explicit || s.lastEntry(isSide) > p.at {
			return -1
		}
	case !p.explicit && (s.answered(at, path) || len(s.kept) > 0 && s.first[at] >= 0):
		// If a compaction keeps messages, the line only counts if it names the end of a branch.
		return -1
	}
	// The leaf moves on to notes below the named entry.
	for next := at; next >= 0; {
		at = next
		next = -1
		for c := s.first[at]; c >= 0; c = s.next[c] {
			if s.marks[c].flags&isNote != 0 {
				next = c
			}
		}
	}
	return at
}

// answered reports whether an entry is a piece or a result of an answer on the path, and a descendant of that answer.
func (s *shape) answered(at int32, path []bool) bool {
	answer := s.marks[at].message
	if s.marks[at].flags&isResult != 0 && s.parent[at] >= 0 {
		answer = s.marks[s.parent[at]].message
	}
	if answer < 0 {
		return false
	}
	for range s.parent { // limits a cycle of parents
		if at < 0 || path[at] {
			break
		}
		at = s.parent[at]
	}
	return at >= 0 && s.marks[at].message == answer
}
