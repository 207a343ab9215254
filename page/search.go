package page

import (
	"io"

	"github.com/treeline-dev/treeline/wire"
)

// SearchPage is what a search found.
type SearchPage struct {
	Query string
	// Error says why the query cannot be answered, such as a quote that is not closed; "" where it can.
	Error string
	// Matched and More are those of wire.SearchResult.
	Matched string
	More    bool
	Hits    []Hit
	// Limit is the number of hits that were wanted.
	Limit int
}

// Hit is one hit.
type Hit struct {
	wire.Hit
	// Key addresses the session; "" for a run.
	Key string
}

// hitGroup is the hits of one session or run, which follow each other.
type hitGroup struct {
	Hit  // the first one, for the title
	Hits []Hit
}

// Search writes a page of results.
func (s *Site) Search(w io.Writer, p SearchPage) error {
	title := "Search"
	if p.Query != "" {
		title = p.Query + " · Search"
	}
	return s.write(w, "search.html", view{Title: title, Query: p.Query, Page: p})
}

// SearchHits writes the list of a page of results alone, for searching while typing.
func (s *Site) SearchHits(w io.Writer, p SearchPage) error {
	return s.write(w, "hits", view{Query: p.Query, Page: p})
}

// Groups gives the hits by session, in the order of the best hit of each.
func (p SearchPage) Groups() []hitGroup {
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
