package transcript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Tools that change files differ from agent to agent, but few forms of arguments occur: a text and its replacement, a list of them, a whole
// file, or a patch. Edits are recognized by these forms, whatever the name of the tool is.

// pathKeys are the members that name a file.
var pathKeys = []string{"path", "file_path", "filePath", "file", "filename", "notebook_path", "target_file", "absolute_path"}

// pairKeys are the members that hold a text and its replacement.
var pairKeys = [][2]string{
	{"old_string", "new_string"}, {"oldString", "newString"}, {"oldText", "newText"}, {"old_text", "new_text"},
	{"old_str", "new_str"}, {"search", "replace"},
}

// wholeKeys are the members that hold the new text of a whole file.
var wholeKeys = []string{"content", "contents", "file_text", "fileText"}

// patchKeys are the members that may hold a patch.
var patchKeys = []string{"input", "patch", "patch_text", "patchText", "diff", "command", "cmd", "script"}

// replacement is a text and its replacement.
type replacement struct {
	before, after string
	all           bool       // everywhere in the file
	hunk          *diff.Hunk // from a patch; otherwise nil
}

// fileEdit is what one call does to one file.
type fileEdit struct {
	path, from   string
	replaced     []replacement
	whole        *string // the new text of the file
	new, deleted bool
	partial      string
}

const (
	unknownBefore = "the file may have had other content before"
	unknownPlace  = "only the place of the change is known, not what was there"
)

// Edits returns the changes of files that the arguments of a call request, or none if the call changes no file.
func Edits(arguments session.Raw) []Edit {
	var list []Edit
	for _, f := range fileEdits(arguments) {
		list = append(list, f.edit())
	}
	return list
}

func fileEdits(arguments session.Raw) []fileEdit {
	if s, ok := rawjson.Unquote(arguments); ok {
		return patched(s)
	}
	if !rawjson.IsObject(arguments) {
		return nil
	}
	if path := firstString(arguments, pathKeys); path != "" {
		if f, ok := edited(path, arguments); ok {
			return []fileEdit{f}
		}
	}
	for _, key := range patchKeys {
		value := rawjson.Get(arguments, key)
		if s, ok := rawjson.Unquote(value); ok {
			if list := patched(s); len(list) > 0 {
				return list
			}
		}
		for _, s := range textList(value) {
			if list := patched(s); len(list) > 0 {
				return list
			}
		}
	}
	return nil
}

// edited parses arguments that name one file.
func edited(path string, arguments []byte) (f fileEdit, ok bool) {
	f.path = path
	for edit := range rawjson.Elements(rawjson.Get(arguments, "edits")) {
		if r, ok := pairOf(edit); ok {
			f.replaced = append(f.replaced, r)
		} else if s, ok := rawjson.Unquote(edit); ok {
			for _, p := range patched(s) {
				f.replaced = append(f.replaced, p.replaced...)
			}
		}
	}
	if len(f.replaced) > 0 {
		return f, true
	}
	if r, ok := pairOf(arguments); ok {
		f.replaced = []replacement{r}
		f.new = r.before == "" && rawjson.Str(arguments, "command") == ""
		if f.new { // in a new file, an empty text is replaced
			f.whole, f.replaced = &r.after, nil
		}
		return f, true
	}
	for _, key := range []string{"diff", "patch"} {
		if s, ok := rawjson.Unquote(rawjson.Get(arguments, key)); ok {
			for _, p := range patched(s) {
				f.replaced, f.new, f.deleted = append(f.replaced, p.replaced...), p.new, p.deleted
				f.whole = p.whole
			}
			if len(f.replaced) > 0 || f.whole != nil || f.deleted {
				return f, true
			}
		}
	}
	if s, ok := rawjson.Unquote(rawjson.Get(arguments, "new_source")); ok { // a cell of a notebook
		f.replaced, f.partial = []replacement{{after: s}}, unknownPlace
		return f, true
	}
	return placed(f, arguments)
}

// placed parses the text of a whole file, or a text that is inserted at a line.
func placed(f fileEdit, arguments []byte) (fileEdit, bool) {
	if line := rawjson.Get(arguments, "insert_line"); line != nil {
		text := firstString(arguments, []string{"insert_text", "new_str", "text"})
		h := diff.Hunk{}
		for _, l := range diff.Compare("", text, 0) {
			h.Lines = l.Lines
		}
		if _, err := fmt.Sscan(string(line), &h.OldLine); err == nil && len(h.Lines) > 0 {
			h.NewLine = h.OldLine + 1
			f.replaced, f.partial = []replacement{{after: text, hunk: &h}}, unknownPlace
			return f, true
		}
	}
	for _, key := range wholeKeys {
		if s, ok := rawjson.Unquote(rawjson.Get(arguments, key)); ok {
			f.whole, f.new = &s, rawjson.Str(arguments, "command") == "create"
			return f, true
		}
	}
	return f, false
}

// pairOf parses a text and its replacement.
func pairOf(value []byte) (r replacement, ok bool) {
	for _, keys := range pairKeys {
		before, after := rawjson.Get(value, keys[0]), rawjson.Get(value, keys[1])
		b, okBefore := rawjson.Unquote(before)
		a, okAfter := rawjson.Unquote(after)
		if okBefore && (okAfter || after == nil) {
			all := rawjson.Truthy(rawjson.Get(value, "replace_all")) || rawjson.Truthy(rawjson.Get(value, "replaceAll"))
			return replacement{before: b, after: a, all: all}, true
		}
	}
	return r, false
}

func firstString(object []byte, keys []string) string {
	for _, key := range keys {
		if s, ok := rawjson.Unquote(rawjson.Get(object, key)); ok && s != "" {
			return s
		}
	}
	return ""
}

// patched parses a text that contains a patch.
func patched(text string) (list []fileEdit) {
	if !strings.Contains(text, "*** Begin Patch") && !strings.Contains(text, "+++ ") {
		return nil
	}
	for _, p := range diff.ParsePatch(text) {
		f := fileEdit{path: p.Path, from: p.From, new: p.New, deleted: p.Deleted}
		if p.New && len(p.Hunks) > 0 {
			_, whole := p.Hunks[0].Texts()
			f.whole = &whole
		}
		for i := range p.Hunks {
			before, after := p.Hunks[i].Texts()
			if !p.New {
				f.replaced = append(f.replaced, replacement{before: before, after: after, hunk: &p.Hunks[i]})
			}
		}
		list = append(list, f)
	}
	return list
}

const contextLines = 3

// edit returns the edit as it is shown.
func (f *fileEdit) edit() Edit {
	e := Edit{Path: f.path, From: f.from, New: f.new, Deleted: f.deleted, Partial: f.partial}
	if f.whole != nil {
		e.Hunks = diff.Compare("", *f.whole, 0)
		if !f.new {
			e.Partial = unknownBefore
		}
	}
	for _, r := range f.replaced {
		e.Hunks = append(e.Hunks, r.hunks()...)
	}
	e.finish()
	return e
}

// hunks compares the two texts. Their position in the file is known only from a patch.
func (r *replacement) hunks() []diff.Hunk {
	if r.hunk != nil {
		return []diff.Hunk{*r.hunk}
	}
	list := diff.Compare(r.before, r.after, contextLines)
	for i := range list {
		list[i].OldLine, list[i].NewLine = 0, 0
		// A replaced text need not end at the end of a line.
		for k := range list[i].Lines {
			list[i].Lines[k].NoNewline = false
		}
	}
	return list
}

// mostLines is the largest number of lines of an edit that are shown.
const mostLines = 2000

// finish counts the lines and omits those beyond mostLines.
func (e *Edit) finish() {
	e.Added, e.Removed = diff.Count(e.Hunks)
	left := mostLines
	for i := range e.Hunks {
		h := &e.Hunks[i]
		if len(h.Lines) <= left {
			left -= len(h.Lines)
			continue
		}
		h.Lines, e.Hunks = slices.Clone(h.Lines[:left]), e.Hunks[:i+1] // the rest may be large
		e.note(fmt.Sprintf("only the first %d lines are shown", mostLines))
		return
	}
}

// note adds something that is not known about an edit.
func (e *Edit) note(s string) {
	if e.Partial != "" && !strings.Contains(e.Partial, s) {
		s = e.Partial + "; " + s
	}
	e.Partial = s
}
