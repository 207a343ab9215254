package find

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/query/querytest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// library is a folder of sessions that a test changes at random, as agents and people do.
type library struct {
	t    *testing.T
	r    *rand.Rand
	dir  string
	made int
	logs map[string][]string // the lines of each log, by its name
	seen map[string]oracleLine
	time time.Time
}

// entryLine makes a random entry, in one of the possible forms.
func (l *library) entryLine(parent string) (line, id string) {
	l.made++
	id = fmt.Sprintf("%08x", l.made)
	text := func() string { return l.spell(querytest.RandomText(l.r, 6)) }
	head := fmt.Sprintf(`"id":%q,"parentId":%s,"timestamp":"2026-02-16T10:00:00.000Z"`, id, parent)
	message := func(m string) string { return `{"type":"message",` + head + `,"message":` + m + `}` }
	switch l.r.IntN(11) {
	case 0:
		return message(`{"role":"user","content":` + text() + `}`), id
	case 1:
		return message(`{"role":"user","content":[{"type":"text","text":` + text() + `},{"type":"image","data":"d29yZHN3b3JkZm9v","mimeType":"image/png"}]}`), id
	case 2:
		return message(`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":` + text() +
			`,"thinkingSignature":"foo"},{"type":"text","text":` + text() + `}]}`), id
	case 3:
		return message(`{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"edit","arguments":{"path":` + text() +
			`,"edits":[{"old":` + text() + `,"line":42}],` + text() + `:true}}]}`), id
	case 4:
		return message(`{"role":"toolResult","toolCallId":"c1","toolName":"words","content":[{"type":"text","text":` + text() + `}],"isError":false}`), id
	case 5:
		return `{"type":"compaction",` + head + `,"summary":` + text() + `,"shortSummary":` + text() + `,"firstKeptEntryId":"00000001","tokensBefore":10}`, id
	case 6:
		return `{"type":"branch_summary",` + head + `,"fromId":"00000001","summary":` + text() + `}`, id
	case 7:
		return `{"type":"label",` + head + `,"targetId":"00000001","label":` + text() + `}`, id
	case 8:
		return `{"type":"session_info",` + head + `,"name":` + text() + `}`, id
	case 9: // of a newer program; its own id and its parent are not texts, but the id of the entry before that is
		return `{"type":"parse",` + head + `,"of":["parse",` + parent + `,"` + fmt.Sprintf("%08x", l.made-2) + `"],"body":{"text":` + text() + `}}`, id
	}
	return `{"type":"custom_message",` + head + `,"customType":"x","content":` + text() + `,"display":true}`, id
}

// spell writes a JSON string in one of the ways that programs use.
func (l *library) spell(s string) string {
	if l.r.IntN(2) == 0 {
		b, _ := json.Marshal(s) // with <, > and & escaped
		return string(b)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	out := strings.TrimSpace(b.String())
	if l.r.IntN(4) == 0 { // everything beyond ASCII, and some letters, as escapes
		var e strings.Builder
		for _, r := range out {
			if r > 126 && r < 0x10000 || r >= 'a' && r <= 'f' && l.r.IntN(20) == 0 && !strings.Contains(out, `\`) {
				fmt.Fprintf(&e, `\u%04x`, r)
			} else {
				e.WriteRune(r)
			}
		}
		return e.String()
	}
	return out
}

// change does one thing to the library.
func (l *library) change() {
	names := slices.Sorted(maps.Keys(l.logs))
	one := func() string { return names[l.r.IntN(len(names))] }
	switch n := l.r.IntN(10); {
	case len(names) == 0 || n < 2:
		l.made++
		id := fmt.Sprintf("session-%04d", l.made)
		name := "--garden--/2026-02-16T10-00-00-000Z_" + id + ".jsonl"
		title := ""
		if l.r.IntN(2) == 0 {
			title = `,"title":` + l.spell(querytest.RandomText(l.r, 3))
		}
		lines := []string{fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"%s}`, id, title)}
		l.logs[name] = l.grow(lines, 1+l.r.IntN(20))
		l.write(name)
	case n < 6: // appended
		name := one()
		l.logs[name] = l.grow(l.logs[name], 1+l.r.IntN(3))
		l.write(name)
	case n < 7: // forked
		l.made++
		id := fmt.Sprintf("session-%04d", l.made)
		from := l.logs[one()]
		lines := append([]string{fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}`, id)}, from[1:]...)
		name := "--garden--/2026-02-16T10-00-00-000Z_" + id + ".jsonl"
		l.logs[name] = lines
		l.write(name)
	case n < 8: // removed
		name := one()
		delete(l.logs, name)
		if err := os.Remove(filepath.Join(l.dir, name)); err != nil {
			l.t.Fatal(err)
		}
	default: // rewritten: an entry is replaced, or the end is cut off
		name := one()
		lines := slices.Clone(l.logs[name])
		if i := 1 + l.r.IntN(len(lines)); i < len(lines) && l.r.IntN(2) == 0 {
			lines[i], _ = l.entryLine("null")
		} else {
			lines = lines[:i]
		}
		l.logs[name] = lines
		l.write(name)
	}
}

// grow adds entries, sometimes on another branch.
func (l *library) grow(lines []string, n int) []string {
	parent := "null"
	if len(lines) > 1 {
		parent = fmt.Sprintf("%q", idOf(lines[len(lines)-1-l.r.IntN(min(2, len(lines)-1))]))
	}
	lines = slices.Clone(lines)
	for range n {
		line, id := l.entryLine(parent)
		parent = fmt.Sprintf("%q", id)
		lines = append(lines, line)
	}
	return lines
}

func (l *library) write(name string) {
	path := filepath.Join(l.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	// Each change has a new time.
	l.time = l.time.Add(time.Second)
	if err := os.WriteFile(path, []byte(strings.Join(l.logs[name], "\n")+"\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Chtimes(path, l.time, l.time); err != nil {
		l.t.Fatal(err)
	}
}

// oracleRecord has all members that a record may have.
type oracleRecord struct {
	Type, ID, ParentID, Title, Summary, ShortSummary, Label, Name string

	Of      []string
	Body    struct{ Text string }
	Content json.RawMessage
	Message struct {
		Role    string
		Content json.RawMessage
	}
}

func idOf(line string) string {
	var r oracleRecord
	_ = json.Unmarshal([]byte(line), &r)
	return r.ID
}

// oracleLine is the id and the texts of a line.
type oracleLine struct {
	id    string
	texts []query.Text
}

func (l *library) texts(line string) oracleLine {
	o, ok := l.seen[line]
	if !ok {
		o.id, o.texts = oracleTexts(l.t, line)
		l.seen[line] = o
	}
	return o
}

// oracleTexts returns the texts of a line, using only encoding/json.
func oracleTexts(t *testing.T, line string) (id string, texts []query.Text) {
	var r oracleRecord
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	add := func(f query.Field, text string) {
		if text != "" {
			texts = append(texts, query.Text{Field: f, Text: text})
		}
	}
	for _, s := range []string{r.Title, r.Summary, r.ShortSummary, r.Label, strings.TrimSpace(r.Name)} {
		add(query.FieldOther, s)
	}
	own := map[string]query.Field{"user": query.FieldUser, "assistant": query.FieldAssistant, "toolResult": query.FieldTool}[r.Message.Role]
	content := r.Message.Content
	if r.Type == "custom_message" {
		own, content = query.FieldOther, r.Content
	}
	switch r.Type {
	case "session":
		r.ID = ""
	case "parse":
		for _, s := range append(r.Of, r.Body.Text) {
			if s != r.ID && s != r.ParentID && s != r.Type {
				add(query.FieldOther, s)
			}
		}
	}
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		add(own, plain)
		return r.ID, texts
	}
	var parts []struct {
		Type, Text, Thinking, Name string
		Arguments                  json.RawMessage
	}
	_ = json.Unmarshal(content, &parts)
	for _, p := range parts {
		switch p.Type {
		case "text":
			add(own, p.Text)
		case "thinking":
			add(query.FieldThinking, p.Thinking)
		case "toolCall":
			add(query.FieldTool, p.Name)
			dec := json.NewDecoder(bytes.NewReader(p.Arguments))
			dec.UseNumber()
			for token, err := dec.Token(); err == nil; token, err = dec.Token() {
				if _, delim := token.(json.Delim); !delim {
					add(query.FieldTool, fmt.Sprint(token))
				}
			}
		}
	}
	return r.ID, texts
}

// expected returns the entries that the oracle finds, as "session#entry", and whether they are substring matches.
func (l *library) expected(q querytest.Query) (found []string, substring bool) {
	find := func(q querytest.Query) (found []string) {
		for name, lines := range l.logs {
			id := strings.TrimSuffix(name[strings.LastIndexByte(name, '_')+1:], ".jsonl")
			for _, line := range lines {
				if o := l.texts(line); q.Matches(o.texts) {
					found = append(found, id+"#"+o.id)
				}
			}
		}
		slices.Sort(found)
		return found
	}
	if found = find(q); len(found) > 0 {
		return found, false
	}
	if sub, ok := q.Substrings(); ok {
		found = find(sub)
	}
	return found, len(found) > 0
}

// TestSearchFindsWhatAScanFinds compares random queries with the oracle while sessions are made, appended to, forked, removed
// and rewritten.
func TestSearchFindsWhatAScanFinds(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	for round := range c.Rounds(1, 1) {
		seed := c.Seed(uint64(round))
		d := newDesk(t)
		f := d.finder(nil)
		l := &library{t: t, r: rand.New(rand.NewPCG(seed, 11)), dir: d.At(".omp/agent/sessions"),
			logs: map[string][]string{}, seen: map[string]oracleLine{}, time: time.Date(2026, 2, 16, 11, 0, 0, 0, time.UTC)}
		found := 0
		for range soaktest.Part(30, 15) {
			for range 1 + l.r.IntN(3) {
				l.change()
			}
			for range 10 {
				found += l.compare(f)
			}
		}
		if found < soaktest.Part(100, 40) {
			t.Errorf("only %d hits: the test is too weak", found)
		}
	}
}

// minus returns the elements of a that are not in b.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// compare runs one random query and returns the number of hits.
func (l *library) compare(s *Finder) int {
	l.t.Helper()
	var texts []query.Text
	for _, name := range slices.Sorted(maps.Keys(l.logs)) {
		lines := l.logs[name]
		texts = l.texts(lines[l.r.IntN(len(lines))]).texts
		if len(texts) > 0 && l.r.IntN(4) == 0 {
			break
		}
	}
	q := querytest.Random(l.r, texts)
	if len(q.Terms) > 0 && l.r.IntN(8) == 0 {
		// Opaque entries have ids as texts, but not their own.
		q.Terms = append(q.Terms, querytest.Term{Body: fmt.Sprintf("%08x", 1+l.r.IntN(l.made)), Left: true, Right: true, Not: l.r.IntN(2) == 0})
	}
	if q.Regexp == nil && (len(q.Terms) == 0 || q.Terms[0].Not) {
		return 0
	}
	opt, text := Options{Case: q.Case, Fields: q.Fields}, q.Text()
	if q.Regexp != nil {
		opt.Regexp, opt.Case, text = true, true, q.Regexp.String()
	}
	opt.Problem = func(err error) { l.t.Error(err) }
	res, err := s.Search(l.t.Context(), text, opt)
	if err != nil {
		l.t.Fatalf("%q: %v", text, err)
	}
	var got, order []string
	for _, h := range res.Hits {
		order = append(order, string(h.Session.ID)+"#"+string(h.Entry))
	}
	got = slices.Sorted(slices.Values(order))
	want, substring := l.expected(q)
	if !slices.Equal(want, got) {
		l.t.Fatalf("%q (case %v, fields %b): only a scan finds %q, only search %q", text, q.Case, q.Fields, minus(want, got), minus(got, want))
	}
	if res.Substring != substring {
		l.t.Fatalf("%q: as substrings %v, want %v", text, res.Substring, substring)
	}
	if len(order) > 1 { // with a limit the result is the first of them
		opt.Limit = 1 + l.r.IntN(len(order))
		part, err := s.Search(l.t.Context(), text, opt)
		if err != nil {
			l.t.Fatal(err)
		}
		var first []string
		for _, h := range part.Hits {
			first = append(first, string(h.Session.ID)+"#"+string(h.Entry))
		}
		if !slices.Equal(order[:opt.Limit], first) || part.More != (opt.Limit < len(order)) {
			l.t.Fatalf("%q with limit %d: %q, more %v; want the first of %q", text, opt.Limit, first, part.More, order)
		}
	}
	return len(order)
}
