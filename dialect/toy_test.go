package dialect_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The toy format has features that only Claude Code and Codex have. A record is an entry with "id", "up" (its
// parent) and "text". "side" marks a side conversation, "msg" names the message that the record is a piece of. A record
// with "base" or "file" names another log, or a file beside this one. "go" names the leaf.
type toyDecoder struct {
	b       *session.Builder
	needs   []dialect.Need
	records [][]byte // the log's own entries, which follow those of the bases
	foreign [][]byte
}

func (d *toyDecoder) Decode(r dialect.Record) {
	if !d.need(r.Data) {
		d.records = append(d.records, bytes.Clone(r.Data))
	}
}

// need notes what a record asks for.
func (d *toyDecoder) need(record []byte) bool {
	if name := rawjson.Str(record, "base"); name != "" {
		d.needs = append(d.needs, dialect.Need{Kind: dialect.NeedLog, Name: name})
		return true
	}
	if name := rawjson.Str(record, "file"); name != "" {
		d.needs = append(d.needs, dialect.Need{Kind: dialect.NeedBeside, Name: name})
		return true
	}
	return false
}

func (d *toyDecoder) Needs() []dialect.Need {
	needs := d.needs
	d.needs = nil
	return needs
}

func (d *toyDecoder) Supply(n dialect.Need, content []byte, err error) {
	if err != nil {
		d.b.Problem(session.Problem{Kind: session.ProblemUnreadable, Message: err.Error()})
		return
	}
	var own [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); !d.need(line) {
			own = append(own, line)
		}
	}
	d.foreign = append(own, d.foreign...)
}

func (d *toyDecoder) Finish() error {
	for _, r := range d.foreign {
		d.add(r, session.Span{Length: int64(len(r))}, true)
	}
	at := int64(0)
	for _, r := range d.records {
		d.add(r, session.Span{Offset: at, Length: int64(len(r))}, false)
		at += int64(len(r)) + 1
	}
	return nil
}

func (d *toyDecoder) add(r []byte, span session.Span, foreign bool) {
	env := session.Envelope{
		ID: []byte(rawjson.Str(r, "id")), Kind: session.KindMessage, Role: session.RoleUser, Type: []byte("toy"),
		Span: span, Record: r, Aside: rawjson.Get(r, "side") != nil, Foreign: foreign,
	}
	if up := rawjson.Str(r, "up"); up != "" {
		env.Parent = []byte(up)
	}
	if m := rawjson.Str(r, "msg"); m != "" {
		env.Message = []byte(m)
	}
	if leaf := rawjson.Str(r, "leaf"); leaf != "" {
		env.Kind, env.Target = session.KindLeaf, []byte(leaf)
	}
	d.b.Add(&env)
}

// toyCodec is a codec without optional interfaces: the text of an entry is its message.
type toyCodec struct{ session.MessageCodec }

func (toyCodec) Body(session.Entry, []byte) (session.Body, error) { return session.Message{}, nil }
func (toyCodec) Time([]byte) session.Time                         { return session.Time{} }
func (toyCodec) Parts(session.Entry, []byte) ([]session.Part, error) {
	return nil, nil
}
func (toyCodec) Messages(_ session.Entry, raw []byte) ([][]byte, error) {
	if text := rawjson.Str(raw, "text"); text != "" {
		return [][]byte{[]byte(text)}, nil
	}
	return nil, nil
}
func (toyCodec) Rules() session.Rules { return session.Rules{} }

// navigating follows "go", where "-" is the place before the first entry, and takes the entry before for a missing parent.
type navigating struct{ toyCodec }

func (navigating) Leaf(t *session.Tree, leaf int) int {
	for e := range t.Entries() {
		raw, err := e.Raw()
		to, ok := t.Lookup(session.EntryID(rawjson.Str(raw, "go")))
		switch {
		case err == nil && ok:
			leaf = to.Index
		case rawjson.Str(raw, "go") == "-":
			leaf = -1
		}
	}
	return leaf
}

func (navigating) Path(t *session.Tree, to int) []int {
	path := []int{to}
	for e := t.At(to); e.Parent != "" && e.Index > 0; {
		parent, ok := t.Lookup(e.Parent)
		if !ok {
			parent = t.At(e.Index - 1)
		}
		path = append(path, parent.Index)
		e = parent
	}
	slices.Reverse(path)
	return append(path, -1, t.Len()) // positions that do not exist are left out
}

// replaying undoes: the text "undo" removes the message before it. It ends with a message that belongs to no entry.
type replaying struct{ toyCodec }

func (replaying) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		var list []session.ContextMessage
		for _, e := range p.Entries() {
			raw, err := e.Raw()
			if err != nil {
				yield(session.ContextMessage{}, err)
				return
			}
			switch text := rawjson.Str(raw, "text"); text {
			case "undo":
				list = list[:max(len(list)-1, 0)]
			case "bad":
				yield(session.ContextMessage{}, errors.New("bad text"))
				return
			default:
				list = append(list, session.ContextMessage{Entry: e, JSON: []byte(text)})
			}
		}
		list = append(list, session.ContextMessage{JSON: []byte("end")})
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
	}
}

type memory []byte

func (m memory) Bytes(s session.Span) ([]byte, error) { return bytes.Clone(m[s.Offset:s.End()]), nil }

// toyTree reads a log of the toy format. files are the other logs and files.
func toyTree(t *testing.T, codec session.EntryCodec, files map[string]string, lines ...string) *session.Tree {
	t.Helper()
	log := strings.Join(lines, "\n")
	var own []string // a line that is not an entry has no span
	for _, l := range lines {
		if !strings.Contains(l, `"base"`) && !strings.Contains(l, `"file"`) {
			own = append(own, l)
		}
	}
	b := session.NewBuilder("toy", memory(strings.Join(own, "\n")))
	b.SetCodec(session.Codec{EntryCodec: codec})
	dec := dialect.Supplies{File: func(n dialect.Need) ([]byte, error) {
		if content, ok := files[n.Name]; ok {
			return []byte(content), nil
		}
		return nil, fmt.Errorf("%s: not there", n.Name)
	}}.Meet(&toyDecoder{b: b})
	if err := dialect.DecodeLog(dec, []byte(log)); err != nil {
		t.Fatal(err)
	}
	return b.Finish()
}

// seen returns the messages of the context at the leaf, and the entries that they come from.
func seen(t *testing.T, tree *session.Tree) (messages, entries string) {
	t.Helper()
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Detach()
	var texts, ids []string
	for m, err := range c.Messages() {
		if err != nil {
			return err.Error(), ""
		}
		texts = append(texts, string(m.JSON))
	}
	for e := range c.Entries() {
		ids = append(ids, string(e.ID))
	}
	return strings.Join(texts, " "), strings.Join(ids, " ")
}

func TestToyContexts(t *testing.T) {
	for _, test := range []struct {
		name                    string
		codec                   session.EntryCodec
		lines                   []string
		leaf, messages, entries string
	}{
		{"side entries do not move the leaf", toyCodec{}, []string{
			`{"id":"a","text":"1"}`, `{"id":"b","up":"a","text":"2"}`, `{"id":"s","up":"a","side":1,"text":"aside"}`,
		}, "b", "1 2", "a b"},
		{"only side entries", toyCodec{}, []string{`{"id":"s","side":1,"text":"aside"}`}, "", "", ""},
		{"a side entry after a durable leaf", toyCodec{}, []string{
			`{"id":"a","text":"1"}`, `{"id":"b","up":"a","text":"2"}`, `{"id":"l","leaf":"a"}`, `{"id":"s","side":1,"text":"aside"}`,
		}, "a", "1", "a"},
		{"a durable leaf without its target", toyCodec{}, []string{
			`{"id":"a","text":"1"}`, `{"id":"s","side":1,"text":"aside"}`, `{"id":"l","leaf":"x"}`,
		}, "a", "1", "a"},
		{"pieces of a message are messages", toyCodec{}, []string{
			`{"id":"a","msg":"m","text":"1"}`, `{"id":"b","up":"a","msg":"m","text":"2"}`,
		}, "b", "1 2", "a b"},
		{"the dialect chooses leaf and path", navigating{}, []string{
			`{"id":"a","text":"1"}`, `{"id":"b","up":"lost","text":"2"}`, `{"id":"c","up":"a","text":"3"}`, `{"id":"x","go":"b"}`,
		}, "b", "1 2", "a b"},
		{"the dialect begins anew", navigating{}, []string{`{"id":"a","text":"1"}`, `{"id":"x","up":"a","go":"-"}`}, "", "", ""},
		{"the dialect replays", replaying{}, []string{
			`{"id":"a","text":"1"}`, `{"id":"b","up":"a","text":"2"}`, `{"id":"c","up":"b","text":"undo"}`, `{"id":"d","up":"c","text":"3"}`,
		}, "d", "1 3 end", "a d"},
		{"the replay fails", replaying{}, []string{`{"id":"a","text":"1"}`, `{"id":"b","up":"a","text":"bad"}`}, "b", "bad text", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := toyTree(t, test.codec, nil, test.lines...)
			messages, entries := seen(t, tree)
			if got := string(tree.LeafID()); got != test.leaf || messages != test.messages || entries != test.entries {
				t.Errorf("leaf %q, messages %q of entries %q, want %q, %q, %q", got, messages, entries, test.leaf, test.messages, test.entries)
			}
		})
	}
}

func TestToyPieces(t *testing.T) {
	tree := toyTree(t, toyCodec{}, nil, `{"id":"a","msg":"m"}`, `{"id":"b"}`, `{"id":"c","msg":"m"}`)
	for i, want := range []int{0, 1, 0} {
		if got := tree.At(i).FirstPiece(); got != want {
			t.Errorf("the message of entry %d begins at %d, want %d", i, got, want)
		}
	}
}

// A leaf that was moved with SetLeaf stays where it is until entries are added.
func TestToyNavigatorAndMovedLeaf(t *testing.T) {
	b := session.NewBuilder("toy", memory(`{"id":"a"}{"id":"b"}`))
	b.SetCodec(session.Codec{EntryCodec: navigating{}})
	for i, id := range []string{"a", "b"} {
		b.Add(&session.Envelope{ID: []byte(id), Type: []byte("toy"), Span: session.Span{Offset: int64(10 * i), Length: 10}})
	}
	b.Finish()
	if err := b.SetLeaf("a"); err != nil {
		t.Fatal(err)
	}
	if got := b.Finish().LeafID(); got != "a" {
		t.Errorf("the leaf is %q, want a", got)
	}
}

func TestToyNeeds(t *testing.T) {
	files := map[string]string{
		"one":  `{"base":"two"}` + "\n" + `{"id":"b","up":"a","text":"base"}`,
		"two":  `{"file":"note"}` + "\n" + `{"id":"a","text":"root"}`,
		"note": `{"id":"n","side":1,"text":"note"}`,
		"loop": `{"base":"loop"}`,
	}
	tree := toyTree(t, toyCodec{}, files, `{"base":"one"}`, `{"id":"c","up":"b","text":"own"}`, `{"base":"none"}`, `{"base":"loop"}`)
	if messages, _ := seen(t, tree); messages != "root base own" {
		t.Errorf("the context is %q", messages)
	}
	var foreign []string
	for e := range tree.Entries() {
		if e.Foreign() {
			foreign = append(foreign, string(e.ID))
		}
	}
	if got := strings.Join(foreign, " "); got != "n a b" {
		t.Errorf("entries of other logs are %q", got)
	}
	var problems []string
	for _, p := range tree.Problems() {
		problems = append(problems, p.Message)
	}
	if got := strings.Join(problems, ", "); got != "none: not there, loop: asked for twice" {
		t.Errorf("problems: %s", got)
	}
}

// obstinate keeps asking for the same.
type obstinate struct{}

func (*obstinate) Needs() []dialect.Need              { return []dialect.Need{{Name: "x"}} }
func (*obstinate) Supply(dialect.Need, []byte, error) {}
func (*obstinate) Finish() error                      { return nil }
func (d *obstinate) Decode(r dialect.Record)          {}

func TestSuppliedEnds(t *testing.T) {
	calls := 0
	dec := dialect.Supplies{File: func(dialect.Need) ([]byte, error) { calls++; return nil, nil }}.Meet(&obstinate{})
	if err := dialect.DecodeLog(dec, []byte("{}\n{}\n")); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
