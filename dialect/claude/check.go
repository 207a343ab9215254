package claude

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/dialect/claude/files"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Ruler = (*Dialect)(nil)

// nilUUID names no entry: the program writes it to revoke an explicit leaf.
const nilUUID = "00000000-0000-0000-0000-000000000000"

// Check reports the rules of the program that a log breaks on any branch. Omits reports what the model misses at the leaf.
func (d *Dialect) Check(t *session.Tree, log dialect.LogInfo) []session.Problem {
	r, ok := t.Codec().EntryCodec.(*reader)
	if !ok || t.Len() == 0 {
		return nil
	}
	c := checker{shape: newShape(r, t, true)}
	c.name(log.Name)
	c.prompt()
	c.skippedParents()
	c.calls()
	sorting.By(c.list, func(a, b session.Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Message, b.Message))
	})
	return c.list
}

// checker collects problems.
type checker struct {
	*shape
	list []session.Problem
}

func (c *checker) add(i int32, kind session.ProblemKind, message, advice string) {
	e := c.t.At(int(i))
	c.list = append(c.list, session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: kind, Message: message, Advice: advice})
}

// name checks that the program finds the session by its file name. Outside of the program's folders any name is valid.
func (c *checker) name(file string) {
	file = filepath.ToSlash(file)
	l := files.Layout{}
	if path.Base(path.Dir(path.Dir(file))) != "projects" || !l.Main(file) {
		return
	}
	if id, _ := l.Named(file); !dialect.IsUUID(string(id)) {
		c.list = append(c.list, session.Problem{Kind: session.ProblemField,
			Message: fmt.Sprintf("the file is named %q: the program resumes only sessions that are named by a UUID", path.Base(file)),
			Advice:  "the file was not changed; under another name the program finds it"})
	}
}

// prompt checks the last line that names the leaf. The lines before it never count.
func (c *checker) prompt() {
	p := c.r.prompt
	if !p.set || p.target == "" || p.target == nilUUID {
		return
	}
	if _, ok := c.t.Lookup(p.target); !ok {
		c.add(p.at, session.ProblemLeafTarget, fmt.Sprintf("the last-prompt line names entry %q, which does not exist", p.target),
			"the program goes on from the last entry; the line is kept")
	}
}

// skippedParents reports branches that begin before the last compaction of a large file.
func (c *checker) skippedParents() {
	if !c.skipped {
		return
	}
	for i := c.r.kept.boundary + 1; i < int32(len(c.marks)); i++ {
		if !c.live(i) || c.parent[i] != missing {
			continue
		}
		if parent, ok := c.t.Lookup(c.t.At(int(i)).Parent); ok && c.marks[parent.Index].flags&isEntry != 0 {
			c.add(i, session.ProblemUnseen,
				fmt.Sprintf("the file is larger than %d MiB: the program does not load entry %q before the last compaction, which this one follows", skipsFrom>>20, parent.ID),
				"the log keeps all entries; a copy of this branch in a session of its own has what is missing")
		}
	}
}

// calls reports results without their calls, and calls without results in a conversation that went on.
func (c *checker) calls() {
	calls, results := map[string]int32{}, map[string]int32{}
	for i := range int32(len(c.marks)) {
		m := c.marks[i]
		if !c.live(i) || m.flags&(isAssistant|isResult) == 0 {
			continue
		}
		raw, err := c.t.At(int(i)).Raw()
		if err != nil {
			return // reading the entries reports the error
		}
		message := rawjson.Get(raw, "message")
		if m.flags&isAssistant != 0 {
			for _, id := range dialect.BlockIDs(message, "content", blocks.TypeCall) {
				if _, again := calls[id]; !again {
					calls[id] = i
				}
			}
			continue
		}
		for _, id := range Claude.ToolResults(message) {
			if _, again := results[id]; !again {
				results[id] = i
			}
		}
	}
	for id, i := range results {
		if _, ok := calls[id]; !ok {
			c.add(i, session.ProblemUnseen, fmt.Sprintf("no entry has the call %q that this result answers: the program does not send the result", id), adviceKept)
		}
	}
	on := map[int32]bool{} // by answer, or by the complement of the line's position if it has none: a line or an answer may have very many calls
	wentOn := func(i int32) bool {
		of := c.marks[i].message
		if of < 0 {
			of = ^i
		}
		known, again := on[of]
		if !again {
			known = c.wentOn(i)
			on[of] = known
		}
		return known
	}
	for id, i := range calls {
		if _, ok := results[id]; !ok && wentOn(i) {
			c.add(i, session.ProblemUnseen, fmt.Sprintf("the call %q has no result, and the conversation went on: the program does not send the line, or makes up a result", id), adviceKept)
		}
	}
}

// wentOn reports whether a message follows the answer that a line is a piece of.
func (c *checker) wentOn(i int32) bool {
	answer := c.marks[i].message
	stack := []int32{i}
	if answer >= 0 {
		stack = slices.Clone(c.pieces.of(answer))
	}
	for n := 0; len(stack) > 0 && n < len(c.marks); n++ {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for k := c.first[top]; k >= 0; k = c.next[k] {
			switch m := c.marks[k]; {
			case m.flags&isNote != 0 || m.flags&isResult != 0:
				stack = append(stack, k)
			case m.message < 0 || m.message != answer:
				return true
			}
		}
	}
	return false
}
