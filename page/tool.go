package page

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// toolView is a call and its result as the template shows them.
type toolView struct {
	transcript.Tool
	v *sessionView
	// About is the title, with paths relative to the working directory. Open means that the call is shown unfolded.
	About string
	Open  bool
	// Command is the input if it is a single command; otherwise Args are its members.
	Command template.HTML
	Args    []argument
	Outputs []pieceView
	// RawInput is the input in an export, which cannot link to it.
	RawInput template.HTML
	Diffs    []fileView
	lines    int
}

// argument is a member of a tool's input.
type argument struct {
	Name  string
	Value template.HTML
}

// mostCalls is the largest number of calls that are shown one below the other. More are folded into a group.
const mostCalls = 3

func (v *sessionView) tools(t transcript.Tools) pieceView {
	view := pieceView{Kind: "tools"}
	alone := len(t.Calls) <= mostCalls
	for _, c := range t.Calls {
		view.Tools = append(view.Tools, v.tool(c, alone))
	}
	if !alone {
		view.Group = group(t.Calls)
		view.Long = true
		for _, c := range t.Calls {
			if c.Failed || len(c.Edits) > 0 {
				view.Long = false // shown unfolded, since people look for edits and failures
			}
		}
	}
	return view
}

// group counts calls by name: "4 read, 2 grep".
func group(calls []transcript.Tool) string {
	counts := map[string]int{}
	var names []string
	for _, c := range calls {
		name := screen.OneLine(c.Name, 30)
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
	}
	for i, n := range names {
		names[i] = strconv.Itoa(counts[n]) + " " + n
	}
	return strings.Join(names, ", ")
}

func (v *sessionView) tool(t transcript.Tool, alone bool) *toolView {
	view := &toolView{Tool: t, v: v, About: screen.OneLine(v.relative(t.Title), 160)}
	for i := range t.Edits {
		view.Diffs = append(view.Diffs, v.file(t.Edits[i], firstID(t.Call, t.Result)))
	}
	if t.Input == nil && t.Answered && t.Call == "" && view.About == "" {
		view.About = "result" // a message of its own, after the one with the call
	}
	if len(t.Edits) == 0 {
		view.input()
	}
	if v.site.Export && len(t.Input) > 0 {
		view.RawInput = jsonCode(wire.Indent(t.Input))
	}
	for _, p := range t.Output {
		switch p := p.(type) {
		case transcript.Text:
			view.output(p)
		case transcript.Image:
			view.Outputs = append(view.Outputs, pieceView{Kind: "image", Image: v.image(p)})
		case transcript.Raw:
			view.Outputs = append(view.Outputs, v.raw(p, t.Result))
		}
	}
	changed := 0
	for _, e := range t.Edits {
		changed += e.Added + e.Removed
	}
	view.Open = t.Failed || alone && (changed > 0 && changed <= 60 || t.Child != nil)
	return view
}

// output renders a text of a tool's output. JSON is indented, the text of a sub-agent is Markdown, anything else stays unchanged.
func (t *toolView) output(p transcript.Text) {
	text := strings.Trim(p.Text, "\n")
	if text == "" {
		return
	}
	t.lines += p.Lines()
	if len(t.Edits) > 0 && !t.Failed && len(text) < 300 {
		return // "edited successfully" beside the diff
	}
	if t.Child != nil && !t.Failed {
		t.Outputs = append(t.Outputs, t.v.prose("prose", p, t.Result))
		return
	}
	most := t.v.fit(text, mostOutput)
	view := pieceView{Kind: "text"}
	if most > 0 || p.Cut > 0 {
		view.Whole = t.v.site.RawLink(t.v.Key, firstID(p.Entry, t.Result))
	}
	if c := text[0]; (c == '{' || c == '[') && most == 0 && p.Cut == 0 && json.Valid([]byte(text)) {
		view.HTML = jsonCode(wire.Indent([]byte(text)))
	} else {
		view.HTML = plain(cut(text, most))
	}
	t.Outputs = append(t.Outputs, view)
}

// commands are the members whose value is a whole command or program, with its language.
var commands = map[string]string{"command": "shell", "cmd": "shell", "script": "shell", "code": "", "sql": "sql", "query": ""}

// input renders a command as code, and any other input member by member. It omits what the title already shows.
func (t *toolView) input() {
	if !rawjson.IsObject(t.Input) {
		if len(t.Input) > 0 && string(t.Input) != "null" {
			text := string(t.Input)
			if s, ok := rawjson.Unquote(t.Input); ok {
				text = s
			}
			t.Command = t.value(text, "")
		}
		return
	}
	for name, member := range rawjson.Fields(t.Input) {
		text, isText := rawjson.Unquote(member)
		switch language, isCommand := commands[name]; {
		case isText && isCommand && t.Command == "":
			if strings.TrimSpace(text) != t.Title || strings.Contains(text, "\n") || len(text) > 60 {
				t.Command = t.value(text, language)
			}
			continue
		case isText && text == t.Title:
			continue
		case name == "prompt" && t.Child != nil && t.ChildFragment() != "":
			continue // the sub-agent's conversation begins with it
		case !isText:
			text = string(member)
		}
		if len(t.Args) == 24 {
			t.Args = append(t.Args, argument{Name: screen.Ellipsis})
			break
		}
		t.Args = append(t.Args, argument{Name: screen.OneLine(name, 40), Value: t.value(text, "")})
	}
}

func (t *toolView) value(text, language string) template.HTML {
	most := t.v.fit(text, mostOutput)
	var b bytes.Buffer
	if language != "" && most == 0 {
		markup.Code(&b, text, language)
	} else {
		markup.Plain(&b, cut(text, most))
	}
	if most > 0 {
		b.WriteString(`<span class="cut">… ` + wire.Size(int64(len(text)-most)) + ` more</span>`)
	}
	return template.HTML(b.String())
}

// Outcome says in a few words how the call ended.
func (t *toolView) Outcome() string {
	var words []string
	switch {
	case t.Failed:
		words = append(words, "failed")
	case !t.Answered:
		words = append(words, "no result")
	case t.lines > 0 && len(t.Edits) == 0:
		words = append(words, wire.Count(t.lines, "line", "lines"))
	}
	if t.Took >= leastTook {
		words = append(words, wire.Took(t.Took))
	}
	return strings.Join(words, " · ")
}

// Sums counts the lines that edits add and remove.
func (t *toolView) Sums() (s struct{ Added, Removed int }) {
	for _, e := range t.Edits {
		s.Added += e.Added
		s.Removed += e.Removed
	}
	return s
}

// InputLink returns the address of the entry with the call.
func (t *toolView) InputLink() string { return t.v.site.RawLink(t.v.Key, t.Call) }

// OutputLink returns the address of the entry with the result.
func (t *toolView) OutputLink() string {
	if t.Result == t.Call {
		return ""
	}
	return t.v.site.RawLink(t.v.Key, t.Result)
}

// ChildLink returns the address of the sub-agent's session, or of its entries in this session; "" if there is neither.
func (t *toolView) ChildLink() string {
	if c := t.Child; c.Session == "" {
		return t.v.EntryLink(c.Tip, c.First)
	}
	if key := t.childKey(); key != "" {
		return t.v.site.Link("s", key)
	}
	return ""
}

// ChildFragment returns the address of the beginning of the sub-agent's conversation, which the script loads when it is unfolded; "" in an
// export.
func (t *toolView) ChildFragment() string {
	key, values := t.childKey(), url.Values{"first": {"1"}}
	if t.Child.Session == "" {
		key = t.v.Key
		values.Set("leaf", string(t.Child.Tip))
	}
	if key == "" || t.v.site.Export {
		return ""
	}
	return with(t.v.site.Link("s", key, "fragment"), values)
}

// childKey returns the key of the sub-agent's session, or "" if that is not available.
func (t *toolView) childKey() string {
	if t.Child.Session == "" || t.v.SessionKey == nil {
		return ""
	}
	return t.v.SessionKey(t.Child.Session)
}

// fileView is the change of a file.
type fileView struct {
	transcript.Edit
	Lines []lineView
	// More is the number of lines that are not shown. Whole is the address at which they are.
	More  int
	Whole string
	// Edits and Links belong to a change along a path. Unlinked counts the entries without a link.
	Edits    int
	Links    []string
	Unlinked int
}

// lineView is a line of a diff. Class is "a" for added, "d" for removed, "h" for the head of a hunk.
type lineView struct {
	Class, Sign string
	Old, New    int
	HTML        template.HTML
}

func (v *sessionView) file(e transcript.Edit, at session.EntryID) fileView {
	view := fileView{Edit: e}
	view.Path, view.From = v.relative(e.Path), v.relative(e.From)
	most := v.mostLines()
	for i, h := range e.Hunks {
		if (i > 0 || h.Section != "") && len(view.Lines) < most && (v.site.Export || *v.room > 0) {
			*v.room -= lineOverhead
			view.Lines = append(view.Lines, lineView{Class: "h", HTML: plain(screen.OneLine(h.Section, 120))})
		}
		old, now := h.OldLine, h.NewLine
		for _, l := range h.Lines {
			line := lineView{Sign: " "}
			switch l.Op {
			case diff.Added:
				line.Class, line.Sign = "a", "+"
			case diff.Removed:
				line.Class, line.Sign = "d", "−"
			}
			if h.OldLine > 0 && l.Op != diff.Added {
				line.Old, old = old, old+1
			}
			if h.NewLine > 0 && l.Op != diff.Removed {
				line.New, now = now, now+1
			}
			if len(view.Lines) >= most || !v.site.Export && *v.room <= 0 {
				view.More++
				continue
			}
			*v.room -= lineOverhead
			most := v.fit(l.Text, 2000)
			line.HTML = plain(cut(l.Text, most))
			view.Lines = append(view.Lines, line)
		}
	}
	if view.More > 0 && at != "" {
		view.Whole = v.site.RawLink(v.Key, at)
	}
	return view
}

// mostLines returns the number of lines of each file that are shown. Many files share the space of the page.
func (v *sessionView) mostLines() int {
	switch n := len(v.Files); {
	case v.site.Export || n == 1 && v.File != "":
		return 1 << 30
	case n > 0:
		return min(max(pageRoom/(2*lineOverhead*n), leastLines), mostLines)
	}
	return mostLines
}

// Numbered reports whether the line numbers are known.
func (f fileView) Numbered() bool {
	return len(f.Hunks) > 0 && (f.Hunks[0].OldLine > 0 || f.Hunks[0].NewLine > 0)
}

// relative makes paths below the working directory relative to it. It only replaces text; the raw entry has the full path.
func (v *sessionView) relative(text string) string {
	if len(v.CWD) < 2 {
		return text
	}
	return strings.ReplaceAll(text, v.CWD+"/", "")
}

// FileViews returns the changes of all files, or of as many as fit.
func (v *sessionView) FileViews() []fileView {
	files, most := v.Files, 1<<30
	if !v.site.Export {
		files = files[:min(len(files), mostFiles)]
		most = mostEdits / max(len(files), 1)
	}
	list := make([]fileView, 0, len(files))
	for _, c := range files {
		view := v.file(c.Edit, "")
		if view.More > 0 && v.File == "" {
			view.Whole = v.inMode(Changes, param{"leaf", string(v.Leaf)}, param{"file", c.Path})
		}
		view.Edits = c.Edits
		for _, e := range c.Entries[:min(len(c.Entries), most)] {
			view.Links = append(view.Links, v.transcriptLink(e))
		}
		view.Unlinked = len(c.Entries) - len(view.Links)
		list = append(list, view)
	}
	return list
}

// MoreFiles returns the number of files that do not fit on the page.
func (v *sessionView) MoreFiles() int {
	if v.site.Export {
		return 0
	}
	return max(len(v.Files)-mostFiles, 0)
}

// AllFiles returns the link from one file to all files, or "" if all are shown.
func (v *sessionView) AllFiles() string {
	if v.File == "" {
		return ""
	}
	return v.inMode(Changes, param{"leaf", string(v.Leaf)})
}

// Changed returns the sums over all files.
func (v *sessionView) Changed() (s struct{ Added, Removed int }) {
	for _, c := range v.Files {
		s.Added += c.Added
		s.Removed += c.Removed
	}
	return s
}
