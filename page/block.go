package page

import (
	"bytes"
	"html/template"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// How much of a text a page of the server shows. A link leads to the rest. An export shows everything that it is given.
const (
	mostProse  = 24 << 10 // a text of a message
	mostOutput = 4 << 10  // the output or an argument of a tool
	mostLines  = 300      // lines of a diff
	pageRoom   = 96 << 10 // all texts of a page; after that, each one is cut to leastText
	leastText  = 160
	// lineOverhead is roughly the size of the HTML of a diff's line without its text.
	lineOverhead = 70

	// Limits on a page of changes: files, links to edits (few per file), and lines of each file if there are many files.
	mostFiles  = 200
	mostEdits  = 400
	leastLines = 8
)

// sessionView is the data of the templates of a session.
type sessionView struct {
	SessionPage
	site *Site
	room *int            // bytes of text that the page may still show
	own  session.EntryID // the leaf of the session, "" where it is not known
	part bool            // the blocks are added to a page that is already shown
}

func newSessionView(s *Site, p SessionPage) *sessionView {
	room := pageRoom
	v := &sessionView{SessionPage: p, site: s, room: &room}
	if p.Rail != nil {
		for _, row := range p.Rail.Rows {
			if row.Leaf {
				v.own = row.Entry
			}
		}
	}
	return v
}

// fit returns how many bytes of a text are shown, at most most; 0 means all of it.
func (v *sessionView) fit(text string, most int) int {
	if v.site.Export {
		return 0
	}
	if *v.room < most {
		most = max(*v.room, leastText)
	}
	*v.room -= min(len(text), most)
	if len(text) <= most {
		return 0
	}
	return most
}

// cut shortens a text to a number of bytes without splitting a character; 0 means no limit.
func cut(text string, most int) string {
	if most == 0 || len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most]
}

// blockView is a block with the data of its template.
type blockView struct {
	transcript.Block
	v *sessionView
	// before is the time of the last block that has one. newModel is the model if it differs from that of the last answer.
	before   time.Time
	newModel string
	// again means that the block before has the same speaker.
	again bool
	// FirstUnseen marks the first block on the page that the model does not see. Its note stands for all of them.
	FirstUnseen bool
}

// Blocks returns the blocks of the window.
func (v *sessionView) Blocks() []*blockView {
	if v.Window == nil {
		return nil
	}
	return v.blocks(v.Window)
}

func (v *sessionView) blocks(w *transcript.Window) []*blockView {
	list := make([]*blockView, len(w.Blocks))
	var before time.Time
	model, unseen := "", v.part
	for i, b := range w.Blocks {
		list[i] = &blockView{Block: b, v: v, before: before, again: i > 0 && b.Follows(&w.Blocks[i-1])}
		if b.Unseen && b.Kind == transcript.Message {
			list[i].FirstUnseen, unseen = !unseen, true
		}
		if !b.Time.IsZero() {
			before = b.Time
		}
		if b.Model != "" && b.Model != model {
			model = b.Model
			list[i].newModel = model
		}
	}
	return list
}

// Class returns the CSS classes of the element.
func (b *blockView) Class() string {
	class := "msg"
	if b.Role == session.RoleUser && !b.Meta {
		class += " user"
	}
	if b.Unseen {
		class += " unseen"
	}
	if b.again {
		class += " again"
	}
	return class
}

// Who returns the name of the speaker.
func (b *blockView) Who() string { return b.Block.Who(b.v.IsTask) }

// When returns the time of the block.
func (b *blockView) When() template.HTML { return b.v.site.Clock(b.Time, b.before) }

// Word returns the type of the entry in words.
func (b *blockView) Word() string {
	return screen.OneLine(strings.ReplaceAll(b.Native, "_", " "), 40)
}

// Preview returns the beginning of a text that the agent or its program wrote itself, if it is long enough to be folded.
func (b *blockView) Preview() string {
	return screen.OneLine(cut(b.Preamble(), 2000), 84)
}

// NewModel returns the model if it differs from that of the last answer.
func (b *blockView) NewModel() string { return screen.OneLine(b.newModel, 60) }

// Spent returns the usage of the answer in full.
func (b *blockView) Spent() string {
	u := b.Usage
	return "input " + wire.Number(u.Input) + ", output " + wire.Number(u.Output) + ", cache read " + wire.Number(u.CacheRead) +
		", cache write " + wire.Number(u.CacheWrite)
}

// Self returns the permanent link to the block. It names the end of the path, so that it shows the same path even if the session goes on
// elsewhere.
func (b *blockView) Self() string {
	if b.v.site.Export || b.v.Window == nil {
		return Anchor(b.ID)
	}
	return b.v.address(param{"leaf", string(b.v.Window.Leaf)}, param{"at", string(b.ID)}) + Anchor(b.ID)
}

// Raw returns the address of the entry as it is in the log.
func (b *blockView) Raw() string { return b.v.site.RawLink(b.v.Key, b.ID) }

// EntryLink returns the address of an entry on the path to a leaf, in the same mode. In an export it is a fragment. The session's own leaf
// is omitted, so that the page is updated as the session grows.
func (v *sessionView) EntryLink(leaf, entry session.EntryID) string {
	if v.site.Export {
		return Anchor(entry)
	}
	if leaf == v.own {
		leaf = ""
	}
	return v.address(param{"leaf", string(leaf)}, param{"at", string(entry)}) + Anchor(entry)
}

// Fork returns the switch between branches before the block.
func (b *blockView) Fork() *forkView { return b.v.fork(b.Block.Fork) }

// forkView is a fork with its links.
type forkView struct {
	*transcript.Fork
	// Label is the label of the current branch. Previous and Next are the addresses of its neighbours, or "".
	Label, Previous, Next string
	Items                 []item
}

func (v *sessionView) fork(f *transcript.Fork) *forkView {
	if f == nil || f.Count < 2 {
		return nil
	}
	view := &forkView{Fork: f}
	for _, b := range f.Branches {
		link := v.EntryLink(b.Tip, b.First)
		switch b.Number {
		case f.Current:
			view.Label = screen.OneLine(b.Label, 80)
		case f.Current - 1:
			view.Previous = link
		case f.Current + 1:
			view.Next = link
		}
		text := screen.OneLine(b.Label, 60)
		if text == "" {
			text = "(no text)"
		}
		view.Items = append(view.Items, item{Text: text, Count: b.Entries, Href: link, On: b.Number == f.Current})
	}
	return view
}

// pieceView is a piece as the template shows it. Kind decides which other fields are set.
type pieceView struct {
	Kind string // text, thinking, image, tools, compacted, raw
	HTML template.HTML
	// Whole is the address of the complete text if it was cut.
	Whole string
	// Long means that thinking is folded.
	Long     bool
	Redacted bool
	Image    imageView
	Group    string // summary of several calls on one line
	Tools    []*toolView
	Type     string
}

type imageView struct {
	Src  template.URL
	Text string
}

// PieceViews returns the pieces of the block.
func (b *blockView) PieceViews() []pieceView {
	list := make([]pieceView, 0, len(b.Pieces))
	for _, p := range b.Pieces {
		switch p := p.(type) {
		case transcript.Text:
			if strings.TrimSpace(p.Text) != "" {
				list = append(list, b.v.prose("text", p, b.ID))
			}
		case transcript.Thinking:
			list = append(list, b.v.thinking(p, b.ID))
		case transcript.Image:
			list = append(list, pieceView{Kind: "image", Image: b.v.image(p)})
		case transcript.Tools:
			list = append(list, b.v.tools(p))
		case transcript.Compacted:
			list = append(list, b.v.prose("compacted", p.Summary, b.ID))
		case transcript.Raw:
			list = append(list, b.v.raw(p, b.ID))
		}
	}
	return list
}

// Compacted returns the compaction of the block.
func (b *blockView) Compacted() transcript.Compacted {
	for _, p := range b.Pieces {
		if c, ok := p.(transcript.Compacted); ok {
			return c
		}
	}
	return transcript.Compacted{}
}

// Kept returns the link to the first entry before the compaction that the model still sees.
func (b *blockView) Kept() string {
	if c := b.Compacted(); c.FirstKept != "" {
		return b.v.EntryLink(b.v.Leaf, c.FirstKept)
	}
	return ""
}

// From returns the link to the end of the branch that a summary is about.
func (b *blockView) From() string {
	if c := b.Compacted(); c.From != "" {
		return b.v.EntryLink(c.From, c.From)
	}
	return ""
}

// prose renders a text in Markdown.
func (v *sessionView) prose(kind string, t transcript.Text, at session.EntryID) pieceView {
	view := pieceView{Kind: kind}
	most := v.fit(t.Text, mostProse)
	view.HTML = v.markdown(t.Text, most)
	if most > 0 || t.Cut > 0 {
		view.Whole = v.site.RawLink(v.Key, firstID(t.Entry, at))
	}
	return view
}

func (v *sessionView) markdown(text string, most int) template.HTML {
	var b bytes.Buffer
	markup.HTML(&b, text, most)
	return template.HTML(b.String())
}

func firstID(a, b session.EntryID) session.EntryID {
	if a != "" {
		return a
	}
	return b
}

// thinking renders thinking, which is folded if it is longer than a few lines.
func (v *sessionView) thinking(t transcript.Thinking, at session.EntryID) pieceView {
	view := v.prose("thinking", transcript.Text{Text: t.Text, Cut: t.Cut, Entry: t.Entry}, at)
	view.Long, view.Redacted = len(t.Text) > 320, t.Redacted && strings.TrimSpace(t.Text) == ""
	return view
}

// raw renders a piece of an unknown type.
func (v *sessionView) raw(p transcript.Raw, at session.EntryID) pieceView {
	text := string(p.JSON)
	most := v.fit(text, mostOutput)
	view := pieceView{Kind: "raw", Type: screen.OneLine(p.Type, 60), HTML: jsonCode(cut(text, most))}
	if most > 0 || p.Cut > 0 {
		view.Whole = v.site.RawLink(v.Key, at)
	}
	return view
}

func jsonCode(source string) template.HTML {
	var b bytes.Buffer
	markup.Code(&b, source, "json")
	return template.HTML(b.String())
}

// image renders a picture or, if it cannot be shown, its description.
func (v *sessionView) image(p transcript.Image) imageView {
	view := imageView{Text: p.String()}
	if v.Image != nil {
		view.Src = imageAddress(v.Image(p))
	}
	return view
}

// imageAddress allows a path of this site, and a data URL of a type that browsers only paint.
func imageAddress(src string) template.URL {
	if data, ok := strings.CutPrefix(src, "data:image/"); ok {
		kind, data, _ := strings.Cut(data, ";base64,")
		switch kind {
		case "png", "jpeg", "gif", "webp":
			if strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == "" {
				return template.URL(src)
			}
		}
		return ""
	}
	if strings.HasPrefix(src, "/") && !strings.HasPrefix(src, "//") {
		return template.URL(src)
	}
	return ""
}
