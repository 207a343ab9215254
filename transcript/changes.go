package transcript

import (
	"context"
	"strings"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/session"
)

// FileChange is the change of one file along a path.
type FileChange struct {
	// Edit is the sum of all edits. If they cannot be added up, it has the hunks of each edit, one after the other, and Partial says so.
	Edit
	// Edits is the number of edits; Entries are the entries that request them.
	Edits   int
	Entries []session.EntryID
}

// Weight estimates the memory of changes in bytes.
func Weight(list []FileChange) (n int64) {
	const line, change = 40, 300
	for i := range list {
		n += change
		for _, h := range list[i].Hunks {
			for _, l := range h.Lines {
				n += line + int64(len(l.Text))
			}
		}
	}
	return n
}

// Changes returns all edits of files on the path to leaf (nil means the leaf of the session), one FileChange per file, in the order of
// their first edit. Calls that failed or were not answered are omitted. It reads all answers and results on the path.
func (d *Document) Changes(ctx context.Context, leaf *session.EntryID) ([]FileChange, error) {
	path, err := d.route(leaf)
	if err != nil {
		return nil, err
	}
	type asked struct {
		entry session.EntryID
		edits []fileEdit
	}
	r := d.reader(ctx)
	open := map[string]asked{} // calls without a result so far
	files := changedFiles{byPath: map[string]*changedFile{}}
	for _, i := range path.index {
		if d.k.class[i]&(byModel|byTool|byUser) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // computing an edit of a long text takes a while
		}
		v, err := r.Look(d.k.t.At(int(i)))
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue // the window that shows the entry reports the error
		}
		for _, p := range v.Parts {
			switch p := p.(type) {
			case session.ToolCall:
				if edits := fileEdits(p.Arguments); len(edits) > 0 {
					open[p.ID] = asked{v.ID, edits}
				}
			case session.ToolResult:
				a := open[p.CallID]
				delete(open, p.CallID)
				if p.IsError {
					continue
				}
				for _, e := range a.edits {
					files.add(a.entry, e)
				}
			}
		}
	}
	return files.list(), nil
}

// changedFiles are the files that were changed, in the order of their first edit.
type changedFiles struct {
	byPath map[string]*changedFile
	order  []*changedFile
	grown  int64 // bytes by which replacements everywhere in a text made texts longer
}

// changedFile adds up the edits of a file. It knows either the whole text, or only the pieces that were replaced.
type changedFile struct {
	path, from string
	edits      int
	entries    []session.EntryID
	grown      *int64 // that of changedFiles

	known, new, deleted bool
	text                string // the whole text, if known
	baseUnknown         bool   // the content before the text was written is not known
	pieces              []replacement
	loose               []diff.Hunk // hunks that cannot be added up
	partial             Edit        // collects what is not known
}

func (c *changedFiles) add(entry session.EntryID, e fileEdit) {
	at := e.path
	if e.from != "" {
		at = e.from
	}
	f := c.byPath[at]
	if f == nil {
		f = &changedFile{path: at, grown: &c.grown}
		c.byPath[at] = f
		c.order = append(c.order, f)
	}
	if e.from != "" && e.from != e.path {
		delete(c.byPath, at)
		if f.from == "" {
			f.from = at
		}
		f.path = e.path
		c.byPath[e.path] = f
	}
	f.edits++
	if n := len(f.entries); n == 0 || f.entries[n-1] != entry {
		f.entries = append(f.entries, entry)
	}
	f.apply(e)
}

// apply applies one edit.
func (f *changedFile) apply(e fileEdit) {
	switch {
	case e.deleted:
		f.deleted = true
		for i := range e.replaced {
			f.replace(e.replaced[i])
		}
	case e.whole != nil:
		f.write(*e.whole, e.new)
	default:
		f.deleted = false
		for i := range e.replaced {
			f.replace(e.replaced[i])
		}
	}
	if e.partial != "" {
		f.partial.note(e.partial)
	}
}

// write replaces the whole text.
func (f *changedFile) write(text string, created bool) {
	if !f.known {
		f.new = created
		f.baseUnknown = !created
		// The earlier replacements in the unknown text stay in the list.
		for i := range f.pieces {
			f.loose = append(f.loose, f.pieces[i].hunks()...)
		}
		f.pieces = nil
	}
	f.known, f.deleted, f.text = true, false, text
}

const (
	oneAfterAnother = "the edits overlap, so they are shown one after the other"
	notFound        = "the log does not show the text that an edit replaces"
	tooLong         = "an edit makes the text very long, so it is shown by itself"
)

// mostGrown limits the total growth, in bytes, of all files by replacements everywhere in a text. A few of these, each of which doubles the
// text, would otherwise take all memory. Comparing a text of short lines takes 200 times its length.
const mostGrown = 1 << 20

// replace applies one replacement to the whole text, or to the known pieces.
func (f *changedFile) replace(r replacement) {
	if f.known {
		if r.before != "" && strings.Contains(f.text, r.before) {
			f.change(&f.text, &r)
			return
		}
		f.setAside(&r, notFound)
		return
	}
	if r.before != "" {
		for i := len(f.pieces) - 1; i >= 0; i-- {
			p := &f.pieces[i]
			switch {
			case strings.Contains(p.after, r.before): // it changes what an earlier edit wrote
				if f.change(&p.after, &r) {
					p.hunk = nil
				}
				return
			case p.after != "" && strings.Count(r.before, p.after) == 1 && !r.all: // it changes what an earlier edit wrote, and the text around it
				before := strings.Replace(r.before, p.after, p.before, 1)
				f.pieces[i] = replacement{before: before, after: r.after}
				return
			}
		}
		for i := range f.pieces {
			if overlap(f.pieces[i].after, r.before) {
				f.partial.note(oneAfterAnother)
				break
			}
		}
	}
	f.pieces = append(f.pieces, r)
}

// change applies a replacement to a text that contains r.before, unless the text would become too long.
func (f *changedFile) change(text *string, r *replacement) bool {
	if !r.all {
		*text = strings.Replace(*text, r.before, r.after, 1)
		return true
	}
	grows := int64(strings.Count(*text, r.before)) * int64(len(r.after)-len(r.before))
	if *f.grown+grows > mostGrown {
		f.setAside(r, tooLong)
		return false
	}
	*f.grown += grows
	*text = strings.ReplaceAll(*text, r.before, r.after)
	return true
}

// setAside keeps a replacement that cannot be added up.
func (f *changedFile) setAside(r *replacement, why string) {
	f.loose = append(f.loose, r.hunks()...)
	f.partial.note(why)
}

// overlap reports whether one text ends with the line that the other begins with.
func overlap(a, b string) bool {
	return shares(a, b) || shares(b, a)
}

// shares reports whether a line that is not blank ends a and begins b.
func shares(a, b string) bool {
	a = strings.TrimSuffix(a, "\n")
	last := a[strings.LastIndexByte(a, '\n')+1:]
	first, _, _ := strings.Cut(b, "\n")
	return strings.TrimSpace(last) != "" && last == first
}

// list returns the sums.
func (c *changedFiles) list() (list []FileChange) {
	for _, f := range c.order {
		change := FileChange{Edits: f.edits, Entries: f.entries}
		e := Edit{Path: f.path, From: f.from, New: f.new && !f.deleted, Deleted: f.deleted, Partial: f.partial.Partial}
		if f.from == f.path {
			e.From = ""
		}
		e.Hunks = f.loose
		if f.known {
			e.Hunks = append(e.Hunks, diff.Compare("", f.text, contextLines)...)
			if f.baseUnknown {
				e.note(unknownBefore)
			}
		}
		for i := range f.pieces {
			e.Hunks = append(e.Hunks, f.pieces[i].hunks()...)
		}
		e.finish()
		change.Edit = e
		list = append(list, change)
	}
	return list
}
