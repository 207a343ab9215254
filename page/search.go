package page

import (
	"bytes"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/wire"
)

// SearchPage is the result of a search.
type SearchPage struct {
	Query string
	// Error says why the query is invalid, such as an unclosed quote; "" means that it is valid.
	Error string
	// Matched and More are those of wire.SearchResult.
	Matched string
	More    bool
	Hits    []Hit
	// Problems are sessions that could not be searched.
	Problems []string
	// Limit is the requested number of hits.
	Limit int
}

// Hit is one hit.
type Hit struct {
	wire.Hit
	// Key identifies the session in addresses; "" for a run.
	Key string
}

// hitGroup is a sequence of hits of one session or run.
type hitGroup struct {
	Hit  // the first hit, for the title
	Hits []Hit
}

// Search writes a page of results.
func (s *Site) Search(w io.Writer, p SearchPage) error {
	title := "Search"
	if p.Query != "" {
		title = p.Query + " · Search"
	}
	return s.write(w, "search.html", view{Title: title, Query: p.Query, Page: &p})
}

// SearchHits writes only the list of a page of results, for searching while typing.
func (s *Site) SearchHits(w io.Writer, p SearchPage) error {
	return s.write(w, "hits", view{Query: p.Query, Page: &p})
}

// Found says how many hits there are.
func (p *SearchPage) Found() string {
	hits := wire.Count(len(p.Hits), "hit", "hits")
	if p.More {
		return "The first " + hits
	}
	groups := p.Groups()
	var in []string
	if n := len(slices.DeleteFunc(slices.Clone(groups), func(g hitGroup) bool { return g.Run != "" })); n > 0 {
		in = append(in, wire.Count(n, "session", "sessions"))
		groups = groups[n:]
	}
	if n := len(groups); n > 0 {
		in = append(in, wire.Count(n, "run", "runs"))
	}
	return hits + " in " + strings.Join(in, " and ")
}

// Groups returns the hits by session, in the order of each session's best hit.
func (p *SearchPage) Groups() []hitGroup {
	var groups []hitGroup
	at := map[string]int{}
	for _, h := range p.Hits {
		of := h.Key + "\x00" + h.Run
		i, ok := at[of]
		if !ok {
			i = len(groups)
			at[of] = i
			groups = append(groups, hitGroup{Hit: h})
		}
		groups[i].Hits = append(groups[i].Hits, h)
	}
	return groups
}

// HitLink returns the address of a hit's entry.
func (s *Site) HitLink(h Hit) string {
	switch {
	case h.Run != "":
		return s.Link("runs", h.Run)
	case h.Entry == nil:
		return s.Link("s", h.Key)
	case h.OnPath:
		return s.EntryLink(h.Key, "", *h.Entry)
	}
	return s.EntryLink(h.Key, *h.Entry, *h.Entry)
}

// HitTime returns the time of a hit.
func (s *Site) HitTime(h Hit) template.HTML {
	if h.Time == nil {
		return ""
	}
	at, err := time.Parse(time.RFC3339, *h.Time)
	if err != nil {
		return ""
	}
	return s.Ago(at)
}

// Marked returns the snippet with its matches marked.
func (h Hit) Marked() template.HTML {
	var b bytes.Buffer
	text := []rune(h.Snippet)
	done := 0
	for _, m := range h.Marks {
		from, to := max(m[0], done), min(m[1], len(text))
		if from >= to {
			continue
		}
		markup.Plain(&b, string(text[done:from]))
		b.WriteString("<mark>")
		markup.Plain(&b, string(text[from:to]))
		b.WriteString("</mark>")
		done = to
	}
	markup.Plain(&b, string(text[done:]))
	return template.HTML(b.String())
}
