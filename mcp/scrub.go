package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/redact"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// learned has the secrets of a session that was read. A nil finder replaces nothing.
type learned struct {
	path   string
	log    backend.Log
	finder *redact.Finder
}

// mostLearned is the number of sessions that are remembered: a finder takes a few KB for each secret.
const mostLearned = 8

// scrubber returns the finder that replaces the secrets of a session. It reads the whole session once: a password that a file shows may
// later be typed without context.
func (c *call) scrubber(s *treeline.Session) (*redact.Finder, error) {
	if c.plain == nil {
		return nil, nil
	}
	path, log := s.Path(), s.Log()
	c.mu.Lock()
	i := slices.IndexFunc(c.known, func(l learned) bool { return l.path == path && l.log == log })
	if i >= 0 {
		l := c.known[i]
		c.known = append([]learned{l}, slices.Delete(c.known, i, i+1)...)
		c.mu.Unlock()
		return l.finder, nil
	}
	c.mu.Unlock()
	l, err := learn(c.ctx, c.plain, s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = slices.DeleteFunc(c.known, func(old learned) bool { return old.path == path })
	c.known = append([]learned{{path, log, l}}, c.known...)
	c.known = c.known[:min(len(c.known), mostLearned)]
	return l, nil
}

func learn(ctx context.Context, plain *redact.Finder, s *treeline.Session) (*redact.Finder, error) {
	known := redact.Known{}
	for e := range s.Tree().Entries() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		record, _, err := s.Whole(ctx, e) // its problems are reported where it is shown
		if err != nil {
			return nil, err
		}
		known.Learn(plain, record)
	}
	if len(known) == 0 {
		return plain, nil
	}
	return redact.New(redact.Options{Known: known}), nil
}

// scrubText replaces the secrets in a text.
func scrubText(f *redact.Finder, text string) string {
	if f == nil {
		return text
	}
	text, _ = f.Text(text)
	return text
}

// scrubJSON replaces the secrets in the strings of a JSON value.
func scrubJSON(f *redact.Finder, value json.RawMessage) json.RawMessage {
	if f == nil || value == nil {
		return value
	}
	clean, _ := f.Record(value)
	return clean
}

// scrubParts replaces the secrets in parts, and cuts names that cannot come from an agent. It ignores the bytes of images.
func scrubParts(f *redact.Finder, parts []wire.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Text != nil {
			text := scrubText(f, *p.Text)
			p.Text = &text
		}
		p.Arguments, p.JSON = scrubJSON(f, p.Arguments), scrubJSON(f, p.JSON)
		p.Name, p.URL, p.Data = name(scrubText(f, p.Name)), name(scrubText(f, p.URL)), ""
		p.Type, p.ID, p.CallID, p.Session, p.MIME, p.Blob = name(p.Type), name(p.ID), name(p.CallID), name(p.Session), name(p.MIME), name(p.Blob)
		if p.Parts != nil {
			scrubParts(f, *p.Parts)
		}
	}
}

// plainText replaces what looks like a secret even without context.
func (s *Server) plainText(text string) string { return scrubText(s.plain, text) }

// Widths of texts in a row. Lists keep 600 bytes of a prompt; the end of that, which may be half a secret, is not shown.
const (
	titleWidth  = 160
	promptWidth = 240
	nameBytes   = 600
	modelWidth  = 60
	// columnBytes limits the bytes per column. Combining characters take no columns, so a line of them could be arbitrarily long.
	columnBytes = 4
)

// fit cuts a text that takes more than most bytes in JSON. Texts of rows have no characters that JSON escapes with \u.
func fit(text string, most int) string {
	size := 0
	for i, r := range text {
		if size++; r == '"' || r == '\\' || r == '\n' || r == '\t' {
			size++
		} else {
			size += utf8.RuneLen(r) - 1
		}
		if size > most {
			return text[:i] + screen.Ellipsis
		}
	}
	return text
}

// oneLine returns a text on one line, cut to a width.
func oneLine(text string, width int) string {
	return fit(screen.OneLine(text, width), columnBytes*width)
}

// line returns a text for a row: on one line, without secrets, cut to a width.
func (s *Server) line(text string, width int) string {
	return oneLine(s.plainText(text), width)
}

// name returns a path or an id. It is cut, or cleaned, only if it cannot come from an agent.
func name[T ~string](text T) T {
	if fit(string(text), nameBytes) == string(text) && screen.Clean(string(text)) == string(text) {
		return text
	}
	return T(oneLine(string(text), nameBytes/columnBytes))
}

// where returns the path of a log or of a folder, without secrets. A log whose path contains one is named by its id.
func (s *Server) where(path string) string { return name(s.plainText(path)) }

// maybe is name for an optional text.
func maybe[T ~string](text *T) *T {
	if text == nil {
		return nil
	}
	short := name(*text)
	return &short
}
