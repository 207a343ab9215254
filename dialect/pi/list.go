package pi

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Lister = (*Dialect)(nil)

// listing is what one pass over the entries finds. The two programs use different parts of it.
type listing struct {
	messages int
	first    string   // the first prompt
	texts    []string // the texts of messages
	name     string   // the last session_info
	short    []byte   // the short summary of the last compaction
	active   float64  // time of the last message, in milliseconds
}

// Shows reports whether the program lists a log. pi lists what is directly in the folder of a working directory. omp lists everything
// below the folder of sessions, including subagents, except hidden files.
func (d *Dialect) Shows(name string, all bool) bool {
	if d.omp {
		return (all || !strings.Contains(name, "/")) && name[0] != '.' && !strings.Contains(name, "/.")
	}
	return all == strings.Contains(name, "/") && strings.Count(name, "/") <= 1
}

// List returns a session's row like the programs' listSessions, with their members in their order. omp names a session by its
// title and orders it by the time of the file; pi uses the name that the user gave and the time of the last message.
func (d *Dialect) List(t *session.Tree, path string, changed time.Time) (dialect.Listing, error) {
	var l listing
	for e := range t.Entries() {
		switch e.Kind {
		case session.KindMessage, session.KindSessionInfo, session.KindCompaction:
		default:
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return dialect.Listing{}, err
		}
		l.take(d, e.Kind, raw)
	}
	h := t.Header()
	if d.omp && h.ID == "" {
		return dialect.Listing{}, dialect.ErrNotShown
	}
	// File times have a fraction of a millisecond; omp cuts it, pi rounds it.
	modified, known := changed.UTC().Truncate(time.Millisecond), true
	if !d.omp {
		modified, known = l.modified(h, changed.UTC().Round(time.Millisecond))
	}
	var w dialect.Object
	w.Str("path", path)
	w.Str("id", string(h.ID))
	w.Str("cwd", h.CWD)
	if d.omp {
		if title := l.title(h); title != nil {
			w.Add("title", title)
		}
	} else {
		w.Optional("name", l.name)
	}
	if parent := rawjson.Get(h.Raw, "parentSession"); parent != nil {
		w.Add("parentSessionPath", parent)
	}
	created, ok := jsMillis(rawjson.Get(h.Raw, "timestamp"))
	w.Add("created", isoOrNull(time.UnixMilli(created), ok))
	w.Add("modified", isoOrNull(modified, known))
	w.Add("messageCount", strconv.AppendInt(nil, int64(l.messages), 10))
	if l.first == "" {
		l.first = "(no messages)"
	}
	w.Str("firstMessage", l.first)
	plain := slices.Clone(w)
	w.Str("allMessagesText", strings.Join(l.texts, " "))
	return dialect.Listing{JSON: w.End(), Plain: plain.End(), CWD: h.CWD, Modified: modified}, nil
}

func isoOrNull(t time.Time, ok bool) []byte {
	if !ok {
		return []byte("null")
	}
	return dialect.ISO(t)
}

// take reads one entry. pi also counts a message without text; omp leaves out sessions without messages.
func (l *listing) take(d *Dialect, kind session.Kind, raw []byte) {
	switch kind {
	case session.KindSessionInfo:
		l.name = jsTrim(rawjson.Str(raw, "name"))
		return
	case session.KindCompaction:
		if short := rawjson.Get(raw, "shortSummary"); rawjson.IsString(short) {
			l.short = short
		}
		return
	}
	message := rawjson.Get(raw, "message")
	if !d.omp || rawjson.Truthy(message) {
		l.messages++
	}
	role, content := rawjson.Str(message, "role"), rawjson.Get(message, "content")
	// Tool calls and results do not make a session recent.
	if role != "user" && role != "assistant" || content == nil {
		return
	}
	if at, ok := number(rawjson.Get(message, "timestamp")); ok {
		l.active = max(l.active, at)
	} else if ms, ok := jsMillis(rawjson.Get(raw, "timestamp")); ok {
		l.active = max(l.active, float64(ms))
	}
	text := blockTexts(content)
	if text == "" {
		return
	}
	l.texts = append(l.texts, text)
	if l.first == "" && role == "user" {
		l.first = text
	}
}

// blockTexts joins the text blocks of a content with spaces, including empty ones, like the programs' search text. Other
// blocks are ignored.
func blockTexts(content []byte) string {
	if s, ok := rawjson.Unquote(content); ok {
		return s
	}
	var texts []string
	for block := range rawjson.Elements(content) {
		if rawjson.Str(block, "type") == "text" {
			texts = append(texts, rawjson.Str(block, "text"))
		}
	}
	return strings.Join(texts, " ")
}

// title is omp's name for a session: the title in the header, even an empty one, or else the last short summary. A title slot
// takes precedence over the header: then h.Title differs from the title in h.Raw.
func (l *listing) title(h session.Header) []byte {
	title := rawjson.Get(h.Raw, "title")
	if h.Title != rawjson.Str(h.Raw, "title") {
		title = nil
		if h.Title != "" {
			title = rawjson.Quote(h.Title)
		}
	}
	if rawjson.IsNull(title) {
		return l.short
	}
	return title
}

// modified is the time at which pi considers a session last used. It is the latest time, not the last one, because entries of an
// older branch may follow.
func (l *listing) modified(h session.Header, changed time.Time) (time.Time, bool) {
	if l.active > 0 {
		if math.IsInf(l.active, 0) || l.active > 8.64e15 {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(l.active)).UTC(), true
	}
	at := rawjson.Get(h.Raw, "timestamp")
	if ms, ok := jsMillis(at); ok && rawjson.IsString(at) {
		return time.UnixMilli(ms).UTC(), true
	}
	return changed, true
}

// Recent names a session by its title, its first prompt, its id or its file, whichever is found first in its first 4096
// bytes.
func (d *Dialect) Recent(head []byte, path string) (dialect.Recent, bool) {
	head = dialect.TrimBOM(head[:min(len(head), dialect.RecentHead)])
	var header []byte
	var title, prompt string
	slot, prompted := false, false
	for line := range bytes.SplitSeq(head, []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if !rawjson.IsObject(line) || !rawjson.Valid(line) {
			continue
		}
		switch kind := rawjson.Str(line, "type"); {
		case header == nil && kind == "title":
			slot, title = true, rawjson.Str(line, "title")
		case header == nil:
			if kind != "session" || !rawjson.IsString(rawjson.Get(line, "id")) {
				return dialect.Recent{}, false
			}
			header = line
			if !slot {
				title = rawjson.Str(line, "title")
			}
		// only while a prompt is needed, because parsing messages is expensive
		case kind == "message" && !prompted && title == "":
			prompt, prompted = firstText(rawjson.Get(line, "message"))
		}
	}
	if header == nil {
		return dialect.Recent{}, false
	}
	name := strings.Replace(filepath.Base(path), ".jsonl", "", 1)
	for _, candidate := range []string{title, prompt, rawjson.Str(header, "id")} {
		if s := firstLine(candidate); s != "" {
			name = s
			break
		}
	}
	r := dialect.Recent{Name: name, FullName: name}
	// JavaScript cuts at 39 units, even inside a surrogate pair; Decode turns a half into U+FFFD.
	if units := utf16.Encode([]rune(name)); len(units) > 40 {
		r.Name = string(utf16.Decode(units[:39])) + "…"
	}
	return r, true
}

// firstText returns the first text of a user's message, even an empty one; ok is false for any other message.
func firstText(message []byte) (text string, ok bool) {
	if rawjson.Str(message, "role") != "user" {
		return "", false
	}
	content := rawjson.Get(message, "content")
	if s, ok := rawjson.Unquote(content); ok {
		return s, true
	}
	for block := range rawjson.Elements(content) {
		if s, ok := rawjson.Unquote(rawjson.Get(block, "text")); ok {
			return s, true
		}
	}
	return "", false
}

// firstLine removes the control characters from the first line of a text.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return jsTrim(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s))
}
